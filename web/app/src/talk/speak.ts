// Finished sentences of an answer are told to screen readers as they come.
import { signal } from '@preact/signals';
import { sentences } from '../markdown/plain';

/** Read out by screen readers (thread.tsx). */
export const spoken = signal('');

/** Says the sentences that are finished since `from`, or all that is left if the text has ended. Returns where to go on. */
export function speak(text: string, from: number, ended: boolean): number {
  const { sentences: said, to } = sentences(text, from, ended);
  if (said.length > 0) spoken.value = said.join(' ');
  return to;
}
