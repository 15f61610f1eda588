// Every error code in words: what it means to whoever reads the page, and what they can do about it.
import { SluiceError, type ErrorCode } from '@sluice/engine';

export interface Advice {
  title: string;
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
    advice: 'Choose a .gguf file. If it is one, its download may be damaged: fetch it again.',
  },
  unsupported_model: {
    title: 'This kind of model isn’t supported yet',
    advice: 'Take a model of the Llama, Qwen2 or Qwen3 families.',
  },
  unsupported_type: {
    title: 'The weights are kept in a form that isn’t supported yet',
    advice: 'Take the same model as Q8_0, Q4_0 or Q4_K_M.',
  },
  out_of_memory: {
    title: 'The model doesn’t fit into this browser’s memory',
    advice: 'Close other tabs, or take a smaller model or a smaller type, Q4_0 say.',
  },
  budget_too_small: {
    title: 'The model needs more memory than it may take',
    advice: 'Take a smaller model, or the same model in a smaller type.',
  },
  download_failed: {
    title: 'The model couldn’t be fetched',
    advice:
      'The address must lead to the file itself, on a server that lets other pages read it (CORS). You can also open the file from this device.',
  },
  download_corrupt: {
    title: 'What arrived isn’t the file that was promised',
    advice: 'Try again. If it happens twice, the file on the server is damaged.',
  },
  offline: {
    title: 'There is no network',
    advice: 'Connect and try again, or open a file from this device.',
  },
  storage_full: {
    title: 'This browser’s storage is full',
    advice: 'Free some space on this device, then try again.',
  },
  context_full: {
    title: 'The prompt is longer than the model can read',
    advice: 'Shorten the prompt, or open a model with a longer context.',
  },
  invalid_argument: {
    title: 'A setting has a value that can’t be used',
    advice: 'Look through the settings, or put them back to the defaults.',
  },
  busy: {
    title: 'The model is still writing',
    advice: 'Wait for the end of the text, or stop it first.',
  },
  worker_died: {
    title: 'The engine stopped unexpectedly',
    advice: 'Load the model again. If memory is short, close other tabs first.',
  },
  unsupported_browser: {
    title: 'This browser can’t run the engine',
    advice: 'It takes WebAssembly with SIMD: Chrome or Edge 91, Firefox 89, Safari 16.4, or later.',
  },
  aborted: { title: 'Stopped', advice: 'Start again whenever you like.' },
};

/** Any thrown value as something to show. */
export function explain(error: unknown): Failure {
  if (error instanceof SluiceError) {
    return { code: error.code, message: error.message, ...ADVICE[error.code] };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'worker_died', message, ...ADVICE.worker_died };
}
