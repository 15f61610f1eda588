// What screen readers are told when the page changes by itself.
import { signal } from '@preact/signals';

/** Read out by screen readers (shell/app.tsx). */
export const announcement = signal('');
