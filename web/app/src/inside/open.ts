// Whether the page shows a trace from a file.
import { signal } from '@preact/signals';

/** A trace from a file is shown in the place of the page's views. */
export const fileOpen = signal(false);
