// What an error's facts tell, in the page's words.
import type { ErrorCode, Facts } from '@sluice/engine';
import { language } from '../texts/language';
import { found } from '../texts/found';
import { withFacts } from './facts-in-words';

const BY_REASON: readonly ErrorCode[] = ['download_failed', 'unsupported_browser'];

/** '' if the facts don't tell enough, or if only the author of the page can mend it. Then the library's message is shown. */
export function foundInWords(code: ErrorCode, facts: Facts): string {
  const { codes, reasons } = found[language.value];
  const texts = BY_REASON.includes(code) ? [reasons[reasonOf(facts)]] : (codes[code] ?? []);
  return texts.map((text = '') => withFacts(text, facts)).find((text) => text !== '') ?? '';
}

/** What the browser lacks, or a DownloadReason, finer for a status. */
function reasonOf({ reason, missing, status }: Facts): string {
  if (reason !== 'status') return reason ?? missing ?? '';
  if (status === 401 || status === 403) return 'denied';
  return status === 404 || status === 410 ? 'missing' : 'status';
}
