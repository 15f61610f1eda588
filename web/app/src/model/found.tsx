import { useEffect } from 'preact/hooks';
import { fetchParts, parts } from '../page/parts';
import { t } from '../texts';
import type { Finding } from './advice';

/**
 * What was found: in the page's words, which come with its later parts. Until these are there, and where the facts don't tell
 * enough, in the library's.
 */
export function Found({ code, facts, own, said }: Finding) {
  useEffect(() => void fetchParts(), []);
  const words = own || parts.value?.foundInWords(code, facts) || '';
  if (words !== '') return <>{words}</>;
  return (
    <>
      {t.value.model.notices.says} <span lang="en">{said}</span>
    </>
  );
}
