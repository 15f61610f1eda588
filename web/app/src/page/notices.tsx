import { bytes, parameters } from '../format';
import { Found } from '../model/found';
import { planInWords } from '../model/memory';
import { sheetOpen } from '../model/open';
import { hostOf } from '../model/source';
import { t } from '../texts';
import {
  acceptOffer,
  closeIgnored,
  closeOffer,
  ignored,
  lookAtOffer,
  offer,
  type Offer,
} from './link';
import { parts } from './parts';
import { Problem, problemInCard } from './problem';
import { StepButtons } from './steps';

/** The messages to the reader. An open sheet shows the problem itself: what is below it can't be reached. */
export function Notices() {
  return (
    <>
      <OfferNotice />
      {parts.value !== null && <parts.value.ReturnNotice />}
      <div class="problem-place">{!sheetOpen.value && !problemInCard.value && <Problem />}</div>
      <IgnoredNotice />
    </>
  );
}

function OfferNotice() {
  const current = offer.value;
  if (current === null) return null;
  const words = t.value.model.notices;
  const { url, asked, info, own, failure } = current;
  if (own) return null;
  return (
    <section class="notice offer" aria-labelledby="offer-title">
      <h2 id="offer-title">{words.offer(hostOf(url))}</h2>
      <p role="status">
        {failure === null ? (
          stateOf(current)
        ) : (
          <>
            {failure.title}. <Found {...failure} /> {failure.advice}
          </>
        )}
      </p>
      <p class="address">{url}</p>
      <div class="buttons">
        {info !== null && failure === null ? (
          <button type="button" class="secondary" onClick={acceptOffer}>
            {t.value.model.another.download(bytes(info.bytes))}
          </button>
        ) : (
          <button
            type="button"
            class="secondary"
            aria-disabled={asked && failure === null}
            onClick={() => void lookAtOffer()}
          >
            {failure === null ? words.look : words.askAgain}
          </button>
        )}
        {failure !== null && <StepButtons of={failure} address={url} />}
        <button type="button" class="quiet" onClick={closeOffer}>
          {failure === null ? words.no : words.close}
        </button>
      </div>
    </section>
  );
}

/** What is known of the offered model. */
function stateOf({ asked, info }: Offer): string {
  const words = t.value.model.notices;
  if (!asked) return words.unasked;
  if (info === null) return words.asking;
  const name = info.name || t.value.model.another.nameless;
  const found = words.found(name, parameters(info.parameters), bytes(info.bytes));
  return `${found} ${planInWords(info.memory)}`;
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
