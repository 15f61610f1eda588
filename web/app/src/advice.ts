// Explains each error code to the reader of the page: what it means, and what to do about it.
import { SluiceError, type ErrorCode } from '@sluice/engine';
import { hostOf } from './source';

interface Advice {
  title: string;
  /** What to do; '' if the library's message says it well enough. */
  advice: string;
}

export interface Failure extends Advice {
  code: ErrorCode;
  /** The library's own words: what was found and what was expected. */
  message: string;
}

const ADVICE: Readonly<Record<ErrorCode, Advice>> = {
  bad_file: {
    title: 'This file can’t be read as a model',
    advice: '',
  },
  unsupported_model: {
    title: 'This kind of model isn’t supported yet',
    advice: 'Take a model of the Llama, Qwen2, Qwen3, Gemma 3 or GPT-2 families.',
  },
  unsupported_type: {
    title: 'The weights are kept in a form that isn’t supported yet',
    advice: 'Take the same model as Q8_0, Q4_0 or Q4_K_M.',
  },
  out_of_memory: {
    title: 'The model doesn’t fit into this browser’s memory',
    advice: 'Close other tabs, or take a smaller model or a smaller type, such as Q4_0.',
  },
  budget_too_small: {
    title: 'The model needs more memory than it may take',
    advice:
      'Let it take more under Settings, Memory, or take a smaller model or a smaller type, such as Q4_0.',
  },
  download_failed: {
    title: 'The model couldn’t be fetched',
    advice: '',
  },
  download_corrupt: {
    title: 'What arrived isn’t the file that was promised',
    advice:
      'Nothing of it was kept. Try again; if it happens twice, the file on the server is damaged.',
  },
  offline: {
    title: 'There is no network',
    advice:
      'Connect this device and try again: what has come is kept. Models on this device open without a network.',
  },
  storage_full: {
    title: 'There is no room to keep the model on this device',
    advice:
      'Remove models that you don’t need, or load this one without keeping it: then it has to be fetched again at the next visit.',
  },
  context_full: {
    title: 'The prompt is longer than the model can read',
    advice: 'Shorten the prompt, or open a model with a longer context.',
  },
  invalid_argument: {
    title: 'This can’t be used as it is',
    advice: '',
  },
  busy: {
    title: 'The model is still writing',
    advice: '',
  },
  worker_died: {
    title: 'The engine stopped unexpectedly',
    advice: 'Load the model again; if memory is short, close other tabs first.',
  },
  unsupported_browser: {
    title: 'This browser can’t run the engine',
    advice: '',
  },
  aborted: { title: 'Stopped', advice: '' },
};

/** Explains any thrown value. `url`: what was being fetched. */
export function explain(error: unknown, url?: string): Failure {
  const code = error instanceof SluiceError ? error.code : 'worker_died';
  const text = error instanceof Error ? error.message : String(error);
  const { title, advice } = ADVICE[code];
  return { code, title, message: sentence(advice === '' ? text : finding(text), url), advice };
}

/** What was found, without what to do: library messages put that after the last semicolon. */
function finding(text: string): string {
  const end = text.lastIndexOf('; ');
  return end < 0 ? text : text.slice(0, end);
}

/** Makes a sentence of a library message, which has no capital and no full stop. A host's name stays as it is. */
function sentence(text: string, url?: string): string {
  const named = url !== undefined && text.startsWith(hostOf(url));
  const first = named ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
