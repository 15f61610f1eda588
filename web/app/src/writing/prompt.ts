// The prompt of the writing view. It is in the address, so the page has it before that view's script.
import { signal } from '@preact/signals';
import { DEFAULT_PROMPT } from '../page/fragment';

export const prompt = signal(DEFAULT_PROMPT);
