// The prompt of the writing view. It is in the address, so the page has it before that view's script.
import { signal } from '@preact/signals';

export const DEFAULT_PROMPT = 'Once upon a time';
/** Characters at most. */
export const MAX_PROMPT = 20_000;

export const prompt = signal(DEFAULT_PROMPT);
