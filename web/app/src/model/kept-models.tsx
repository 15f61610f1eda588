import { useSignal } from '@preact/signals';
import type { CachedModel } from '@sluice/engine';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { bytes, daysAgo } from '../format';
import { t } from '../texts';
import { amountOf, kept, keptName, pin, refused, removable, remove, removeAll, room } from './kept';
import { closeOffer } from '../page/link';
import { fromAddress } from './source';
import { canKeep } from '../device';
import { Found } from './found';
import { outlookOf } from './learn';
import { closeSheet } from './open';
import { speedShort } from './speed';
import { loading, model as currentModel, open } from './state';

/** What is kept on this device: the models that were fetched, with what can be done with them. */
export function KeptModels() {
  const models = kept.value ?? [];
  const total = models.reduce((sum, { stored, packed }) => sum + stored + packed, 0);
  const trouble = refused.value;
  const words = t.value.model.kept;
  const left = room.value === null ? '' : words.room(bytes(room.value));
  return (
    <section class="kept" aria-labelledby="kept-heading">
      <h3 id="kept-heading" tabIndex={-1}>
        {words.title}
      </h3>
      <p class="note">
        {models.length > 0
          ? `${words.total(bytes(total))} ${left}`
          : canKeep
            ? words.none
            : words.never}
      </p>
      {models.length > 0 && (
        <ul>
          {models.map((model) => (
            <Model key={model.source} model={model} />
          ))}
        </ul>
      )}
      {models.length > 1 && (
        <Removal label={words.removeAll} question={words.removeAllQuestion} remove={removeAll} />
      )}
      {trouble?.source === '' && (
        <p class="hint wrong" role="alert">
          <Found {...trouble} />
        </p>
      )}
    </section>
  );
}

function Model({ model }: { model: CachedModel }) {
  const { source, complete, pinned, unreadable, inUse } = model;
  const words = t.value.model.kept;
  const name = keptName(model);
  // Another tab fetches it, or this one.
  const coming = inUse && !complete;
  const trouble = refused.value;
  const current = currentModel.value?.source;
  const shown = current?.kind === 'address' && current.url === source;
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

function factsOf(model: CachedModel): string[] {
  const { packed, complete, verified, pinned, used, parts, inUse } = model;
  const words = t.value.model.kept;
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
  const words = t.value.model.speed;
  const about = outlookOf(model);
  if (about === null) return '';
  const speed = speedShort(about.speed);
  return [about.fits ? words.fits : words.fitsPartly, speed].filter(Boolean).join(' · ');
}

interface RemovalProps {
  label: string;
  /** The model's name, for screen readers. */
  of?: string;
  question: string;
  /** Whether to ask at all. */
  may?: () => Promise<boolean>;
  remove(): Promise<boolean>;
  /** The buttons in front of this one. */
  others?: ComponentChildren;
}

/** A button that removes, and asks first. */
function Removal({ label, of, question, may, remove, others }: RemovalProps) {
  const asking = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  const shown = useRef(false);
  const words = t.value.model.kept;
  // The button that was pressed has gone: the focus goes to the one that does no harm, and back.
  useLayoutEffect(() => {
    if (asking.value) no.current?.focus({ preventScroll: true });
    else if (shown.current) button.current?.focus({ preventScroll: true });
    shown.current = asking.value;
  }, [asking.value]);
  if (!asking.value) {
    return (
      <div class="kept-buttons">
        {others}
        <button
          type="button"
          class="quiet"
          ref={button}
          aria-label={of === undefined ? undefined : words.what(label, of)}
          onClick={async () => {
            asking.value = (await may?.()) ?? true;
          }}
        >
          {label}
        </button>
      </div>
    );
  }
  return (
    <div class="kept-buttons" role="group" aria-label={question}>
      <p class="kept-question">{question}</p>
      <button
        type="button"
        class="quiet"
        onClick={async () => {
          const removed = await remove();
          asking.value = false;
          if (removed) document.getElementById('kept-heading')?.focus({ preventScroll: true });
        }}
      >
        {label}
      </button>
      <button
        type="button"
        class="quiet"
        ref={no}
        onClick={() => {
          asking.value = false;
        }}
      >
        {of === undefined ? words.keepThem : words.keepIt}
      </button>
    </div>
  );
}
