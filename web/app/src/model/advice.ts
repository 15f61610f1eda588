// Explains each error code to the reader of the page: what it means, and what to do about it.
import { SluiceError, type ErrorCode, type Facts } from '@sluice/engine';
import { t } from '../texts';

/** What was found. The page makes its sentence of the code and the facts (found-in-words.ts) when it shows it. */
export interface Finding {
  code: ErrorCode;
  facts: Facts;
  /** What the page itself found, in its words; '' if the library found it. */
  own: string;
  /** The library's message, which is English; it is shown folded. */
  said: string;
}

export interface Failure extends Finding {
  title: string;
  /** What to do; '' if what was found tells it. */
  advice: string;
}

/** Explains any thrown value, in the page's language of now. */
export function explain(error: unknown): Failure {
  const known = error instanceof SluiceError;
  const code = known ? error.code : 'worker_died';
  const facts = known ? error.facts : {};
  const { errors, notices } = t.peek().model;
  const sure = code === 'offline' && globalThis.navigator?.onLine === false;
  const said = error instanceof Error ? error.message : String(error);
  return { code, facts, own: '', said, ...errors[code], ...(sure && { title: notices.offline }) };
}

/** What the page itself found. */
export function ownFinding(code: ErrorCode, own: string): Finding {
  return { code, facts: {}, own, said: '' };
}
