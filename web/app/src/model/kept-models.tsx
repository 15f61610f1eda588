import type { CachedModel } from '@sluice/engine';
import { useEffect } from 'preact/hooks';
import { bytes, daysAgo } from '../texts/format';
import { kept } from './kept';
import {
  amountOf,
  inUseHere,
  keptName,
  pin,
  refused,
  removable,
  remove,
  removeAll,
  room,
} from './kept-list';
import { FilesRow, keptFiles, lookAtFiles } from '../find/kept-files';
import { closeOffer } from './offer';
import { BUNDLED, fromAddress } from './source';
import { canKeep } from '../ui/device';
import { copies, removeCopy } from './copies';
import { CopyRow } from './copy-of-file';
import { Found } from './found';
import { outlookOf } from './learn';
import { closeSheet } from './open';
import { usePart } from './load-buttons';
import { Removal } from './removal';
import { speedShort } from './speed';
import { loading, model as currentModel, open, paused } from './state';
import { keptTexts } from './kept-texts';
import { modelsTexts } from './models-texts';

/** What is kept on this device: the models that were fetched, and the files of Find, with what can be done with them. */
export function KeptModels() {
  const all = kept.value ?? [];
  // What is paused stands above, with its buttons.
  const put = usePart(paused.value?.source ?? BUNDLED);
  const models = all.filter(({ source }) => paused.value === null || source !== put?.source);
  const own = copies.value;
  const { files, bytes: ofFiles } = keptFiles.value;
  useEffect(() => void lookAtFiles(), []);
  const total =
    all.reduce((sum, { stored, packed }) => sum + stored + packed, 0) +
    own.reduce((sum, copy) => sum + copy.bytes, 0) +
    ofFiles;
  const count = all.length + own.length;
  const trouble = refused.value;
  const words = keptTexts.value;
  const left = room.value === null ? '' : words.room(bytes(room.value));
  return (
    <section class="kept" aria-labelledby="kept-heading">
      <h3 id="kept-heading" tabIndex={-1}>
        {words.title}
      </h3>
      <p class="note">
        {count + files > 0
          ? `${words.total(bytes(total))} ${left}`
          : canKeep
            ? words.none
            : words.never}
      </p>
      {models.length + own.length + files > 0 && (
        <ul>
          {models.map((model) => (
            <Model key={model.source} model={model} />
          ))}
          {own.map((copy) => (
            <CopyRow key={copy.ref} copy={copy} />
          ))}
          <FilesRow />
        </ul>
      )}
      {count > 1 && (
        <Removal
          label={words.removeAll}
          question={words.removeAllQuestion}
          remove={() => removeAll(removeCopies)}
        />
      )}
      {trouble?.source === '' && (
        <p class="hint wrong" role="alert">
          <Found {...trouble} />
        </p>
      )}
    </section>
  );
}

/** Returns the bytes that are free then. */
async function removeCopies(): Promise<number> {
  let freed = 0;
  for (const copy of copies.peek()) freed += await removeCopy(copy);
  return freed;
}

function Model({ model }: { model: CachedModel }) {
  const { source, complete, pinned, unreadable, inUse } = model;
  const words = keptTexts.value;
  const name = keptName(model);
  // Another tab fetches it, or this one.
  const coming = inUse && !complete;
  const trouble = refused.value;
  const shown = isShown(model);
  return (
    <li>
      <p class="kept-name">{name}</p>
      {unreadable === undefined ? (
        <p class="note">{[...factsOf(model), prospects(model)].filter(Boolean).join(' · ')}</p>
      ) : (
        <p class="note">
          {bytes(model.stored)} · {words.newer}
        </p>
      )}
      <Removal
        label={words.remove}
        of={name}
        question={(pinned ? words.removePinned : words.removeQuestion)(name)}
        may={() => removable(model)}
        remove={() => remove(model)}
        others={
          unreadable === undefined && (
            <>
              {!coming && !shown && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={complete ? words.what(words.open, name) : words.goOnWith(name)}
                  disabled={loading.value !== null}
                  onClick={() => {
                    closeOffer();
                    void open(fromAddress(source));
                    closeSheet();
                  }}
                >
                  {complete ? words.open : words.goOn}
                </button>
              )}
              <button
                type="button"
                class="quiet"
                aria-label={words.what(pinned ? words.unpin : words.pin, name)}
                title={words.pinHint}
                onClick={() => void pin(model, !pinned)}
              >
                {pinned ? words.unpin : words.pin}
              </button>
            </>
          )
        }
      />
      {trouble?.source === source && (
        <p class="hint wrong" role="alert">
          <Found {...trouble} />
        </p>
      )}
    </li>
  );
}

/** Whether it is the model in use. */
function isShown({ source }: CachedModel): boolean {
  const current = currentModel.value?.source;
  return current?.kind === 'address' && [current.url, inUseHere.value].includes(source);
}

function factsOf(model: CachedModel): string[] {
  const { packed, complete, verified, pinned, used, parts, inUse } = model;
  const words = keptTexts.value;
  const amount = amountOf(model);
  return [
    parts > 1 ? words.parts(amount, parts) : amount,
    packed > 0 ? words.packed(bytes(packed)) : '',
    inUse ? (complete ? words.inUse : words.coming) : words.used(daysAgo(used, Date.now())),
    pinned ? words.pinned : '',
    verified ? words.verified : '',
  ].filter(Boolean);
}

/** Whether it fits, and about how fast it is. */
function prospects(model: CachedModel): string {
  const words = modelsTexts.value.speed;
  const about = outlookOf(model);
  if (about === null) return '';
  const speed = speedShort(about.speed);
  return [about.fits ? words.fits : words.fitsPartly, speed].filter(Boolean).join(' · ');
}
