// By what the text is shaded.
import { signal } from '@preact/signals';
import type { Measure } from './series';

export type Shade = Measure | 'none';

export const SHADES: readonly Shade[] = ['surprise', 'entropy', 'none'];
export const shade = signal<Shade>('surprise');
