import { offer } from '../model/offer';
import { sheetOpen } from '../model/open';
import { modelParts } from '../model/parts';
import { Problem, problemInCard } from '../model/problem';
import { t } from '../texts';
import { With } from '../ui/later';
import { closeIgnored, ignored } from './start';

/** The messages to the reader. An open sheet shows the problem itself: what is below it can't be reached. */
export function Notices() {
  const later = modelParts.all.value;
  const offered = offer.value !== null && !offer.value.own;
  return (
    <>
      {offered && <With of={modelParts}>{({ OfferNotice }) => <OfferNotice />}</With>}
      {later !== null && <later.ReturnNotice />}
      <div class="problem-place">{!sheetOpen.value && !problemInCard.value && <Problem />}</div>
      <IgnoredNotice />
    </>
  );
}

function IgnoredNotice() {
  if (ignored.value.length === 0) return null;
  const words = t.value.model.notices;
  return (
    <section class="notice" aria-labelledby="ignored-title">
      <h2 id="ignored-title">{words.ignored}</h2>
      <ul>
        {ignored.value.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <div class="buttons">
        <button type="button" class="quiet" onClick={closeIgnored}>
          {words.close}
        </button>
      </div>
    </section>
  );
}
