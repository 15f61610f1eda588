import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { t } from '../texts';
import { OpenButton, Terms, factsInWords } from './offered';
import { closeSheet } from './open';
import { fetchShelf, front, offerOf, shelf, thisDevice, type Offered } from './shelf';
import { goodForInWords } from './shelf-words';
import { model } from './state';
import { sheetTexts } from './sheet-texts';

/** The models to choose from: the short list, and the others after "More". */
export function ShelfList() {
  const words = sheetTexts.value.shelf;
  const all = useSignal(false);
  useEffect(() => void fetchShelf(), []);
  const models = shelf.value ?? [];
  if (models.length === 0) return null;
  const device = thisDevice();
  const short = models.filter(({ first }) => first);
  const shown = all.value || short.length === 0 ? models : short;
  return (
    <section class="shelf" aria-labelledby="shelf-heading">
      <h3 id="shelf-heading" tabIndex={-1}>
        {words.heading}
      </h3>
      <ul>
        {shown.map((each) => (
          <OnShelf key={each.id} {...offerOf(each, device)} />
        ))}
      </ul>
      <p class="hint">{words.token}</p>
      {shown.length < models.length && (
        <button type="button" class="quiet" onClick={() => (all.value = true)}>
          {words.more}
        </button>
      )}
    </section>
  );
}

function OnShelf(of: Offered) {
  const { source } = model.value ?? {};
  const inUse = source?.kind === 'address' && source.url === of.file.address;
  return (
    <li>
      <div>
        {front.value?.model.id === of.model.id && (
          <p class="shelf-suits">{t.value.talk.first.label}</p>
        )}
        <p class="shelf-name">{of.model.name}</p>
        <p class="good-for">{goodForInWords(of.model)}</p>
        <p class="shelf-facts">{factsInWords(of)}</p>
        <Terms {...of} />
      </div>
      {inUse ? (
        <p class="shelf-facts">{sheetTexts.value.shelf.inUse}</p>
      ) : (
        <OpenButton of={of} then={closeSheet} />
      )}
    </li>
  );
}
