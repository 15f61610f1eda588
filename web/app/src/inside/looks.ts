// Whether somebody looks, and into what. The script that draws it comes when it is opened.
import { signal } from '@preact/signals';
import type { GenerateOptions } from '@sluice/engine';
import { MOST_KEPT } from './trace';

/** What is looked into: the text of the writing view, or the answer with this id; null: nothing. */
export const opened = signal<'text' | { answer: string } | null>(null);

/** Pixels of the window's lower edge that the view covers, where it is a sheet. */
export const covered = signal(0);

export type Looks = Pick<GenerateOptions, 'trace'>;

/** For generate() and answer(): what each token was chosen from comes with it while somebody looks. */
export function traceWhileOpen(of: 'text' | 'answer'): Looks {
  const now = opened.peek();
  const looks = of === 'text' ? now === 'text' : now !== null && now !== 'text';
  return looks ? { trace: MOST_KEPT } : {};
}
