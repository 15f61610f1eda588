import { useSignal } from '@preact/signals';
import type { CachedModel } from '@sluice/engine';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { bytes, daysAgo } from '../format';
import { amountOf, kept, keptName, pin, refused, remove, removeAll, room } from '../kept';
import { closeOffer } from '../link';
import { fromAddress } from '../source';
import { canKeep, loading, open } from '../state';

/** What is kept on this device: the models that were fetched, with what can be done with them. */
export function KeptModels() {
  const models = kept.value ?? [];
  const total = models.reduce((sum, { stored }) => sum + stored, 0);
  const trouble = refused.value;
  const left = room.value === null ? '' : ` There is room for ${bytes(room.value)} more.`;
  return (
    <section class="kept" aria-labelledby="kept-heading">
      <h3 id="kept-heading" tabIndex={-1}>
        On this device
      </h3>
      <p class="note">
        {models.length > 0
          ? `${bytes(total)} are kept.${left}`
          : canKeep
            ? 'Models from an address are kept here, so that they come only once and work without a network.'
            : 'This browser lets the page keep no models.'}
      </p>
      {models.length > 0 && (
        <ul>
          {models.map((model) => (
            <Model key={model.source} model={model} />
          ))}
        </ul>
      )}
      {models.length > 1 && (
        <Removal
          label="Remove all"
          question="Remove all that are neither pinned nor in use?"
          remove={removeAll}
        />
      )}
      {trouble?.source === '' && (
        <p class="hint wrong" role="alert">
          {trouble.why}
        </p>
      )}
    </section>
  );
}

function Model({ model }: { model: CachedModel }) {
  const { source, complete, pinned, unreadable, inUse } = model;
  const name = keptName(model);
  // Another tab fetches it, or this one.
  const coming = inUse && !complete;
  const trouble = refused.value;
  return (
    <li>
      <p class="kept-name">{name}</p>
      <p class="note">{factsOf(model).join(' · ')}</p>
      <Removal
        label="Remove"
        of={name}
        question={pinned ? `${name} is pinned. Remove it?` : `Remove ${name}?`}
        remove={() => remove(model)}
        others={
          unreadable === undefined && (
            <>
              {!coming && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`${complete ? 'Open' : 'Go on with'} ${name}`}
                  disabled={loading.value !== null}
                  onClick={() => {
                    closeOffer();
                    void open(fromAddress(source), 'panel');
                  }}
                >
                  {complete ? 'Open' : 'Go on'}
                </button>
              )}
              <button
                type="button"
                class="quiet"
                aria-label={`${pinned ? 'Unpin' : 'Pin'} ${name}`}
                title="When room is needed, pinned models stay"
                onClick={() => void pin(model, !pinned)}
              >
                {pinned ? 'Unpin' : 'Pin'}
              </button>
            </>
          )
        }
      />
      {trouble?.source === source && (
        <p class="hint wrong" role="alert">
          {trouble.why}
        </p>
      )}
    </li>
  );
}

function factsOf(model: CachedModel): string[] {
  const { stored, complete, verified, pinned, used, parts, inUse } = model;
  if (model.unreadable !== undefined) return [bytes(stored), model.unreadable];
  const amount = amountOf(model);
  return [
    parts > 1 ? `${amount} in ${parts} parts` : amount,
    inUse ? (complete ? 'in use' : 'on its way') : `used ${daysAgo(used, Date.now())}`,
    pinned ? 'pinned' : '',
    verified ? 'verified' : '',
  ].filter(Boolean);
}

interface RemovalProps {
  label: string;
  /** The model's name, for screen readers. */
  of?: string;
  question: string;
  remove(): Promise<boolean>;
  /** The buttons in front of this one. */
  others?: ComponentChildren;
}

/** A button that removes, and asks first. */
function Removal({ label, of, question, remove, others }: RemovalProps) {
  const asking = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  const shown = useRef(false);
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
          aria-label={of === undefined ? undefined : `${label} ${of}`}
          onClick={() => {
            asking.value = true;
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
        Keep {of === undefined ? 'them' : 'it'}
      </button>
    </div>
  );
}
