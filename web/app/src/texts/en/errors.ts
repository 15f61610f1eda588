// What the reader is told of errors.
import type { ErrorCode } from '@sluice/engine';

/**
 * What an error means, and what to do about it; '' if what was found tells that (found.ts). `otherwise`: what to do where
 * nothing of it was found.
 */
export type Advice = Readonly<
  Record<
    ErrorCode,
    { title: string; advice: string } | { title: string; advice: ''; otherwise: string }
  >
>;

export const errors: Advice = {
  bad_file: {
    title: 'This file can’t be read as a model',
    advice: 'Choose a file whose name ends in .gguf. If it does, it is damaged: get a fresh copy.',
  },
  unsupported_model: {
    title: 'This kind of model isn’t supported yet',
    advice: 'Take a model of a common family, like Llama, Qwen3 or Gemma 3.',
  },
  unsupported_type: {
    title: 'This file of the model can’t be computed here yet',
    advice: 'Take another file of the same model: one with Q4_K_M, Q4_0 or Q8_0 in its name.',
  },
  out_of_memory: {
    title: 'The model doesn’t fit into this browser’s memory',
    advice: 'Close other tabs, or take a smaller model.',
  },
  budget_too_small: {
    title: 'The model needs more memory than it may take',
    advice: 'Let it take more under Settings, Memory, or take a smaller model.',
  },
  download_failed: {
    title: 'The model couldn’t be fetched',
    advice: '',
    otherwise: 'Try again, or take another model.',
  },
  download_corrupt: {
    title: 'What arrived isn’t the file that was promised',
    advice:
      'Nothing of it was kept. Try again; if it happens twice, the file on the server is damaged.',
  },
  offline: {
    title: 'You may be offline',
    advice:
      'Connect this device and try again: what has come is kept. Without a network you can go on with your conversations, with the models on this device, and with a model file of yours.',
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
    otherwise: 'Change what you entered last, or set the settings back.',
  },
  not_found: {
    title: 'It isn’t on this device any more',
    advice: '',
    otherwise: 'Load it again from where it came.',
  },
  closed: { title: 'The model was closed', advice: 'Load it again.' },
  busy: {
    title: 'The model is still writing',
    advice: '',
    otherwise: 'Wait until it has finished, or stop it.',
  },
  worker_died: {
    title: 'The engine stopped unexpectedly',
    advice: 'Load the model again; if memory is short, close other tabs first.',
  },
  unsupported_browser: {
    title: 'This browser can’t run the engine',
    advice: '',
    otherwise: 'Use a current Chrome, Edge, Firefox or Safari.',
  },
  unsupported_environment: {
    title: 'The engine can’t run in this page',
    advice: '',
    otherwise: 'The owner of this page has to mend it; the technical details tell how.',
  },
  aborted: { title: 'Stopped', advice: '', otherwise: 'Try again.' },
};
