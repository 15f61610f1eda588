import { useEffect } from 'preact/hooks';
import { fetchParts, parts } from '../page/parts';
import { t } from '../texts';
import type { Finding } from './advice';

/** What was found, in the page's words, which come with its later parts; where the facts don't tell enough, what to do. */
export function Found({ code, facts, own }: Finding) {
  useEffect(() => void fetchParts(), []);
  const about = t.value.model.errors[code];
  const otherwise = 'otherwise' in about ? about.otherwise : '';
  return <>{own || parts.value?.foundInWords(code, facts) || otherwise}</>;
}

/** Folded: what those want to know who report an error, or mend the page. The library's message is English. */
export function TechnicalDetails({ code, facts, said }: Finding) {
  const details = parts.value?.detailsInWords(code, facts) ?? '';
  return (
    <details class="fold">
      <summary>{t.value.model.notices.technical}</summary>
      {details !== '' && <p class="note">{details}</p>}
      <p class="note">
        <code class="code">{code}</code> {said !== '' && <span lang="en">{said}</span>}
      </p>
    </details>
  );
}
