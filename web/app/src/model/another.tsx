import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { readAddress, type AddressProblem } from '@sluice/engine';
import { anotherTexts } from './another-texts';
import { address, openAddress, openFiles } from './offer';
import { AtRepository } from './files';
import { canPick } from './handles';
import { lookAt, lookAway, looked } from './probe';
import { choose } from './return';
import { HUB, searchPage, searchedFor } from './hub';
import { Away } from './step-buttons';
import { closeSheet } from './open';
import { BUNDLED } from './source';
import { closeProblem, loading, model, open } from './state';
import { sheetTexts } from './sheet-texts';

/** Loads another model: by file picker, by address, or by dropping a file on the page. */
export function AnotherModel() {
  const words = anotherTexts.value;
  return (
    <section class="another" aria-labelledby="another-heading">
      <h3 id="another-heading">{sheetTexts.value.another}</h3>
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
      {looked.value !== null && <AtRepository {...looked.value} />}
      {loading.value === null && model.value?.source.kind !== 'bundled' && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            void open(BUNDLED);
            closeSheet();
          }}
        >
          {sheetTexts.value.back}
        </button>
      )}
    </section>
  );
}

function isRepository(read: ReturnType<typeof readAddress>): boolean {
  return 'kind' in read && read.kind === 'repository';
}

/** What isn't an address may be a model's name. */
const SEARCHED: readonly AddressProblem[] = ['no_address', 'no_model'];

function ByAddress() {
  const words = anotherTexts.value;
  /** Anew at each refusal. */
  const wrong = useSignal<{ problem: AddressProblem; sought: string } | null>(null);
  const several = isRepository(readAddress(address.value));
  // At the sheet's lower edge the refusal would be out of sight.
  useEffect(() => {
    document.getElementById('address-wrong')?.scrollIntoView({ block: 'nearest' });
  }, [wrong.value]);
  return (
    <form
      class="by-address"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        // What is there now: it may have been typed since the page was drawn.
        const read = readAddress(address.value);
        wrong.value = null;
        if ('problem' in read) {
          const sought = SEARCHED.includes(read.problem) ? searchedFor(address.value) : '';
          wrong.value = { problem: read.problem, sought };
          closeProblem(); // of an earlier address
          document.getElementById('address')?.focus();
        } else if (isRepository(read)) lookAt(read.address);
        else if (openAddress(address.value)) closeSheet();
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
          aria-invalid={wrong.value !== null}
          aria-describedby={wrong.value !== null ? 'address-wrong' : 'address-hint'}
          onInput={(event) => {
            address.value = event.currentTarget.value;
            wrong.value = null;
            lookAway();
          }}
        />
        <button type="submit" class="secondary">
          {several ? words.list : words.load}
        </button>
      </div>
      {wrong.value !== null ? (
        <p class="hint wrong" id="address-wrong" role="alert">
          {words.wrong[wrong.value.problem]}{' '}
          {wrong.value.sought !== '' && (
            <Away to={searchPage(wrong.value.sought)} kind="">
              {words.search(HUB, wrong.value.sought)}
            </Away>
          )}
        </p>
      ) : (
        <p class="hint" id="address-hint">
          {words.addressHint}
        </p>
      )}
    </form>
  );
}
