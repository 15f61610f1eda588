// Explains each error code to the reader of the page: what it means, and what to do about it.
import { SluiceError, type ErrorCode } from '@sluice/engine';
import { t } from '../texts';
import { hostOf } from './source';

export interface Failure {
  code: ErrorCode;
  title: string;
  /** The library's own words, in English: what was found and what was expected. */
  message: string;
  /** What to do; '' if the library's message says it well enough. */
  advice: string;
}

/** Explains any thrown value, in the page's language of now. `url`: what was being fetched. */
export function explain(error: unknown, url?: string): Failure {
  const code = error instanceof SluiceError ? error.code : 'worker_died';
  const text = error instanceof Error ? error.message : String(error);
  const { title, advice } = t.peek().model.errors[code];
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
