import { t } from '../texts';
import type { Finding } from './advice';
import { detailsInWords, foundInWords } from './found-in-words';
import { modelsTexts } from './models-texts';

/** What was found, in the page's words; where the facts don't tell enough, what to do. */
export function Found({ code, facts, own }: Finding) {
  const about = t.value.model.errors[code];
  const otherwise = 'otherwise' in about ? about.otherwise : '';
  return <>{own || foundInWords(code, facts) || otherwise}</>;
}

/** Folded: what those want to know who report an error, or mend the page. The library's message is English. */
export function TechnicalDetails({ code, facts, said }: Finding) {
  const details = detailsInWords(code, facts);
  return (
    <details class="fold">
      <summary>{modelsTexts.value.notices.technical}</summary>
      {details !== '' && <p class="note">{details}</p>}
      <p class="note">
        <code class="code">{code}</code> {said !== '' && <span lang="en">{said}</span>}
      </p>
    </details>
  );
}
