// What an error's facts tell, in the page's words.
import type { ErrorCode, Facts } from '@sluice/engine';
import { found as english } from '../texts/en/found';
import { inLanguage } from '../texts/language';
import { withFacts } from './facts-in-words';

const found = inLanguage('found', english);

const BY_REASON: readonly ErrorCode[] = ['download_failed', 'unsupported_browser'];

/** The first of the texts of which all facts are known; '' if there is none. */
function first(texts: readonly (string | undefined)[] | undefined, facts: Facts): string {
  return (texts ?? []).map((text = '') => withFacts(text, facts)).find((text) => text !== '') ?? '';
}

/** '' if the facts don't tell enough. */
export function foundInWords(code: ErrorCode, facts: Facts): string {
  const { codes, reasons } = found.value;
  return first(BY_REASON.includes(code) ? [reasons[reasonOf(facts)]] : codes[code], facts);
}

/** What only those understand who unfold the technical details; '' if there is nothing. */
export function detailsInWords(code: ErrorCode, facts: Facts): string {
  return first(found.value.details[code], facts);
}

/** What the browser lacks, or a DownloadReason, finer for a status. */
function reasonOf({ reason, missing, status }: Facts): string {
  if (reason !== 'status') return reason ?? missing ?? '';
  if (status === 401 || status === 403) return 'denied';
  return status === 404 || status === 410 ? 'missing' : 'status';
}
