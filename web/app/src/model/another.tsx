import { useSignal } from '@preact/signals';
import { t } from '../texts';
import { bytes } from '../format';
import { address, openAddress, openFiles } from '../page/link';
import { FourFacts } from './facts';
import { Found } from './found';
import { amountOf } from './kept';
import { planInWords } from './memory';
import { Note } from './note';
import { canPick } from './handles';
import { choose } from './return';
import { lookAt, lookAway, looked, type Look } from './probe';
import { closeSheet } from './open';
import { BUNDLED, hostOf, sourceName } from './source';
import { speedOf } from './learn';
import { loading, model, open, problem } from './state';

/** Loads another model: by file picker, by address, or by dropping a file on the page. */
export function AnotherModel() {
  const words = t.value.model.another;
  return (
    <section class="another" aria-labelledby="another-heading">
      <h3 id="another-heading">{t.value.model.sheet.another}</h3>
      <div class="file">
        <input
          id="file"
          type="file"
          accept=".gguf"
          multiple
          onClick={(event) => {
            // The browser's other dialog also gives handles, with which the files can be opened another day.
            if (!canPick) return;
            event.preventDefault();
            closeSheet();
            void choose();
          }}
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            // The same file may be chosen again after a failure.
            event.currentTarget.value = '';
            openFiles(files);
            closeSheet();
          }}
        />
        <label for="file" class="secondary">
          {words.choose}
        </label>
        <span class="hint">{words.orDrop}</span>
      </div>
      <ByAddress />
      {looked.value !== null && <AtAddress {...looked.value} />}
      {loading.value === null && model.value?.source.kind !== 'bundled' && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            void open(BUNDLED);
            closeSheet();
          }}
        >
          {t.value.model.sheet.back}
        </button>
      )}
    </section>
  );
}

function ByAddress() {
  const words = t.value.model.another;
  const wrong = useSignal(false);
  return (
    <form
      class="by-address"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const looks = (event.submitter as HTMLButtonElement | null)?.value !== 'load';
        const good = looks ? lookAt(address.value) : openAddress(address.value);
        wrong.value = !good;
        if (!good)
          problem.value = null; // of an earlier address
        else if (!looks) closeSheet();
      }}
    >
      <label for="address">{words.address}</label>
      <div class="joined">
        <input
          id="address"
          name="address"
          type="url"
          inputMode="url"
          autocomplete="off"
          spellcheck={false}
          placeholder={words.placeholder}
          value={address}
          aria-invalid={wrong}
          aria-describedby={wrong.value ? 'address-wrong' : 'address-hint'}
          onInput={(event) => {
            address.value = event.currentTarget.value;
            wrong.value = false;
            lookAway();
          }}
        />
        {/* The first one is what Enter does. */}
        <button type="submit" class="secondary" value="look" title={words.lookHint}>
          {words.look}
        </button>
        <button type="submit" class="secondary" value="load">
          {words.load}
        </button>
      </div>
      {wrong.value ? (
        <p class="hint wrong" id="address-wrong" role="alert">
          {words.wrong}
        </p>
      ) : (
        <p class="hint" id="address-hint">
          {words.addressHint}
        </p>
      )}
    </form>
  );
}

/** What was found at the address, and the button that loads it. */
function AtAddress({ url, info, failure, part }: Look) {
  const words = t.value.model.another;
  return (
    <section class="found" aria-label={words.found}>
      <p role="status" class={info === null ? 'note' : 'model-name'}>
        {failure !== null && info === null
          ? failure.title
          : info === null
            ? words.asking(hostOf(url))
            : info.name || sourceName({ kind: 'address', url, keep: true }) || words.nameless}
      </p>
      {info !== null && <FourFacts info={info} speed={failure ? null : speedOf(info)} />}
      {failure !== null && (
        <>
          {info !== null && <p class="wrong">{failure.title}.</p>}
          <p class="note">
            <Found {...failure} />
          </p>
          {failure.advice !== '' && <p class="note">{failure.advice}</p>}
        </>
      )}
      {info !== null && failure === null && (
        <>
          {(info.memory?.rereadBytes ?? 0) > 0 && <p class="note">{planInWords(info.memory)}</p>}
          {info.notes.map((note) => (
            <Note key={note.message} of={note} />
          ))}
          {part !== null && <p class="note">{words.part(amountOf(part))}</p>}
          <button
            type="button"
            class="secondary"
            onClick={() => {
              openAddress(url);
              closeSheet();
            }}
          >
            {words.download(bytes(info.bytes - (part?.stored ?? 0)))}
          </button>
        </>
      )}
    </section>
  );
}
