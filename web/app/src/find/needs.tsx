import { useEffect } from 'preact/hooks';
import { does } from '../model/makes';
import { Terms, OpenButton, factsInWords } from '../model/offered';
import { openSheet } from '../model/open';
import { fetchShelf, offerOf, shelf, thisDevice, type Offered } from '../model/shelf';
import { goodForInWords } from '../model/shelf-words';
import { loading, model, shownName } from '../model/state';
import { findTexts } from './texts';

/** That the model in use finds nothing, and the models of the shelf that do. */
export function Needs() {
  const words = findTexts.value;
  useEffect(() => void fetchShelf(), []);
  // What comes may be one: the line above says what it is.
  if (loading.value !== null && model.value === null) return null;
  const current = model.value;
  const device = thisDevice();
  const offers = (shelf.value ?? [])
    .filter(({ finds }) => finds)
    .map((one) => offerOf(one, device));
  const says = does.value === 'fills' ? words.needsFills : words.needs;
  return (
    <section class="needs">
      <p>{current === null ? words.noModel : says(shownName(current))}</p>
      {offers.length > 0 ? (
        <ul>
          {offers.map((of) => (
            <Offer key={of.model.id} {...of} />
          ))}
        </ul>
      ) : (
        <button type="button" class="secondary" onClick={() => openSheet()}>
          {words.openModel}
        </button>
      )}
    </section>
  );
}

function Offer(of: Offered) {
  return (
    <li>
      <div>
        <p class="shelf-name">{of.model.name}</p>
        <p class="good-for">{goodForInWords(of.model)}</p>
        <p class="shelf-facts">{factsInWords(of)}</p>
        <Terms {...of} />
      </div>
      <OpenButton of={of} />
    </li>
  );
}
