// The figures and names that messages tell, in fields, for programs. core/base/result.h has the same names.

/** Why a download failed (`download_failed`). */
export type DownloadReason =
  /** The server answered, but not with a file: `status`. */
  | 'status'
  /** It did not answer, or does not let this page read the file (CORS). Browsers don't tell which. */
  | 'unreachable'
  /** It redirects to where the file can't be read. */
  | 'redirect'
  /** A page with https may not read http addresses. */
  | 'insecure'
  /** A Content-Security-Policy forbids it. */
  | 'policy'
  /** A blob: address that is no longer valid, or a data: address that can't be decoded. */
  | 'address'
  /** The function given as `fetch` failed. */
  | 'fetch'
  /** No byte arrived within `stallTimeout`. */
  | 'stalled'
  /** The connection broke or ended before all bytes had arrived. */
  | 'broken'
  /** The file has changed on the server. */
  | 'changed'
  /** The server sent other bytes than were requested, or a list that can't be parsed. */
  | 'answer'
  /** It is a file of the library itself that is missing or wrong. */
  | 'library';

/** Why a model or the state of a conversation is not kept on this device. */
export type NotKeptReason =
  /** The page is not served with https, so browsers let it keep no files. */
  | 'insecure'
  /** This browser has no private file system or no locks for pages. */
  | 'unsupported'
  /** The browser refuses: a private window, or storage is blocked for this site. */
  | 'refused'
  /** There is no room: `neededBytes`, `availableBytes`. */
  | 'storage_full'
  /** Another tab uses it. */
  | 'in_use'
  /** A newer version of Sluice keeps it. */
  | 'newer'
  /** The server named another size than the file has. */
  | 'size'
  /** Writing the state was aborted, because an answer needed the memory. */
  | 'out_of_memory'
  /** Its file can't be opened, read or written. */
  | 'unreadable';

/** Fields of an error or a note. Each may be absent. */
export interface Facts {
  /** Bytes that are needed (`out_of_memory`, `budget_too_small`, `storage_full`; the note `weights_reread`). */
  neededBytes?: number;
  /** Available bytes: the budget, what the browser gives, or what is free. */
  availableBytes?: number;
  /** The least `memoryBudget` that suffices. Absent if none does, because all weights must be in memory. */
  leastBytes?: number;
  /** Who chose the budget: the caller, or the library (half of the device's memory, or all that the browser gives a page). */
  limit?: 'given' | 'device' | 'browser';
  /** Bytes of weights that are read again for each token (`weights_reread`). */
  rereadBytes?: number;
  /**
   * Tokens of the input, at least or about (`context_full`), of the text for which there is too little memory (`out_of_memory`), or of
   * the vocabulary (`token_not_in_vocabulary`).
   */
  tokens?: number;
  /** The most tokens that fit (`context_full`). */
  room?: number;
  /** What is not supported (`unsupported_model`): one of these, or a key of the metadata with its value. */
  architecture?: string;
  tokenizer?: string;
  tensor?: string;
  key?: string;
  value?: string;
  /** The type of a tensor (`unsupported_type`). */
  type?: string;
  /** What this browser or page lacks (`unsupported_browser`, `unsupported_environment`). 'policy': a Content-Security-Policy forbids it. */
  missing?: 'simd' | 'relaxed_simd' | 'threads' | 'policy';
  /** Where the file is, without credentials and query (`download_failed`, `download_corrupt`, `offline`; of the program also `bad_file`). */
  url?: string;
  /** The HTTP status, if the server answered. */
  status?: number;
  /** Of `download_failed`; of the notes `model_not_kept` and `state_not_kept`. */
  reason?: DownloadReason | NotKeptReason;
  expectedSha256?: string;
  foundSha256?: string;
  /** The browser's own text for the failure (`worker_died`). */
  said?: string;
  /** A smaller context with which the model fits (`out_of_memory`, `budget_too_small`); of the core's notes, the one that is taken. */
  contextSize?: number;
  // Of the core's notes, see core/base/result.h
  id?: number;
  name?: string;
  merges?: number;
  trained?: number;
  threads?: number;
  asked?: number;
  family?: string;
  role?: string;
  token?: string;
}

/** An address as a fact: without credentials, query and fragment, which may hold secrets. */
export function plainUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return /^https?:$/.test(protocol) ? `${protocol}//${host}${pathname}` : protocol;
}

/** The facts of a download that failed. `url`: '' if it isn't known. */
export function failedAt(url: string, reason: DownloadReason): Facts {
  return url === '' ? { reason } : { url: plainUrl(url), reason };
}
