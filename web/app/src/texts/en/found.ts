// What was found where something failed, of an error's facts. Only rooms that come later have these texts.
import type { ErrorCode } from '@sluice/engine';

export interface Texts {
  /**
   * With the error's facts in braces (model/facts-in-words.ts). The first text holds of which all facts are known; where none
   * does, the error's advice is all that is said.
   */
  codes: Readonly<Partial<Record<ErrorCode, readonly string[]>>>;
  /** The same, of what only those understand who unfold the technical details. */
  details: Readonly<Partial<Record<ErrorCode, readonly string[]>>>;
  /**
   * Why a download failed, by DownloadReason (`missing` and `denied` are kinds of `status`), or what the browser lacks.
   */
  reasons: Readonly<Record<string, string>>;
}

export const found: Texts = {
  codes: {
    out_of_memory: [
      'For {tokens} tokens it needs {neededBytes} more, and {availableBytes} are left.',
      'It needs {leastBytes} at least, and there are {availableBytes} at most.',
      'It needs {neededBytes}, and there are {availableBytes} at most.',
      'There was no memory for {neededBytes} more.',
    ],
    budget_too_small: [
      'It needs {leastBytes} at least, and may take {availableBytes}.',
      'It needs {neededBytes}, and may take {availableBytes}.',
    ],
    offline: ['{host} can’t be reached.'],
    storage_full: [
      'It needs {neededBytes} more, and {availableBytes} are free.',
      'It needs {neededBytes} more.',
    ],
    context_full: ['It has {tokens} tokens or more, and there is room for {room}.'],
  },
  details: {
    unsupported_model: [
      'It has a tensor {tensor} that isn’t known.',
      'Its tokenizer is “{tokenizer}”.',
      'Its {key} is {value}.',
      'Its architecture is “{architecture}”.',
    ],
    unsupported_type: ['{tensor} has the type {type}.', 'A tensor has the type {type}.'],
    download_corrupt: ['Its SHA-256 is {foundSha256}, and {expectedSha256} was expected.'],
    worker_died: ['The browser says: {said}'],
    unsupported_browser: ['It lacks {missing}.'],
  },
  reasons: {
    simd: 'It is too old, or something that Sluice needs is switched off. Use Chrome or Edge 91, Firefox 89, Safari 16.4 or newer.',
    status: '{host} answered {status}. Try again later, or use another address.',
    missing: '{host} answered {status}. There is no such file: check the address.',
    denied:
      '{host} answered {status}: there is no such model, or it needs an account there. Check the address. If it is right, open its page, sign in, accept its terms and download the file there. Then choose the file here.',
    unreachable:
      '{host} did not answer, or doesn’t let other sites read the file. Check your connection and try again, or download the file with your browser and choose the file here.',
    redirect: '{host} leads on to where the file can’t be read. Use the address where it ends.',
    insecure: 'This page may only read addresses with https. Use one of those.',
    stalled: '{host} sent nothing for too long. Try again.',
    broken: 'The connection to {host} broke. Try again.',
    changed: 'The file on {host} changed while it was downloaded. Load it again.',
    answer: '{host} sent something else than was asked for. Use another server.',
  },
};
