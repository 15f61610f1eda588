// The offer to load a model that a link names.
import { addressFacts } from '@sluice/engine';
import { bytes, parameters } from '../texts/format';
import { Found } from './found';
import { planInWords } from './memory-words';
import { offers, type Offer } from './offer';
import { headerOf } from './probe';
import { StepButtons } from './step-buttons';
import { modelsTexts } from './models-texts';

/** What is known of the model, and what the reader can do. */
export function OfferNotice() {
  const current = offers.offer.value;
  if (current === null) return null;
  const words = modelsTexts.value.notices;
  const { url, asked, info, own, failure } = current;
  if (own) return null;
  return (
    <section class="notice offer" aria-labelledby="offer-title">
      <h2 id="offer-title">{words.offer(addressFacts(url).host)}</h2>
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
          <button type="button" class="secondary" onClick={offers.accept}>
            {modelsTexts.value.another.download(bytes(info.bytes))}
          </button>
        ) : (
          <button
            type="button"
            class="secondary"
            aria-disabled={asked && failure === null}
            onClick={() => void offers.lookAt(headerOf)}
          >
            {failure === null ? words.look : words.askAgain}
          </button>
        )}
        {failure !== null && <StepButtons of={failure} address={url} />}
        <button type="button" class="quiet" onClick={offers.close}>
          {failure === null ? words.no : words.close}
        </button>
      </div>
    </section>
  );
}

/** What is known of the offered model. */
function stateOf({ asked, info }: Offer): string {
  const words = modelsTexts.value.notices;
  if (!asked) return words.unasked;
  if (info === null) return words.asking;
  const name = info.name || modelsTexts.value.another.nameless;
  const found = words.found(name, parameters(info.parameters), bytes(info.bytes));
  return `${found} ${planInWords(info.memory)}`;
}
