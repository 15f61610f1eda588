import { t } from '../texts';
import { nameByRef, nameOf } from './name';
import { openSheet } from './open';
import { arriving, loading, model, paused, shownName, sought, type Loading } from './state';

/** The name of the model that is coming, or is looked for; null: there is none. */
export function nextName(): string | null {
  const [coming, last] = [loading.value, sought.value];
  if (coming !== null) return nameOf(coming.source, coming.info);
  return last === null ? null : nameByRef(last.ref, last.name);
}

/** The model's name above the field, and of the one that is coming; it opens the sheet. One line, always as tall. */
export function ModelChip() {
  const words = t.value.model.chip;
  const current = model.value;
  const coming = loading.value;
  const inUse = current === null ? null : shownName(current);
  const next = nextName();
  const showsNext = next !== null && (arriving.value || sought.value !== null);
  const put = paused.value === null ? null : nameOf(paused.value.source);
  return (
    <button
      type="button"
      class="chip"
      data-state={coming !== null ? 'coming' : current === null ? 'none' : 'ready'}
      aria-haspopup="dialog"
      onClick={() => openSheet()}
    >
      <span class="chip-mark" aria-hidden="true" />
      {inUse === null && <span class="sr-only">{words.label} </span>}
      {inUse === null && !showsNext && <span class="chip-name">{words.none}</span>}
      {inUse !== null && <Named by={words.inUse} name={inUse} class="chip-name" />}
      {(showsNext || put !== null) && <span class="sr-only">; </span>}
      {showsNext && <Named by={words.coming} name={next} class="chip-next" />}
      {!showsNext && put !== null && <span class="sr-only">{words.paused(put)}</span>}
      <svg class="chip-more" viewBox="0 0 12 8" aria-hidden="true">
        <path d="m1.5 1.5 4.5 4.5 4.5-4.5" />
      </svg>
      {coming !== null && <Bar {...coming} />}
    </button>
  );
}

/** A name as it is seen, and around it what a screen reader says besides. */
function Named({
  by,
  name,
  ...rest
}: {
  by: (name: string) => string;
  name: string;
  class: string;
}) {
  const [before, after] = by('\0').split('\0');
  return (
    <>
      <span class="sr-only">{before}</span>
      <span class={rest.class}>{name}</span>
      <span class="sr-only">{after}</span>
    </>
  );
}

/** A thin progress along the chip's lower edge. The load's line says it in words. */
function Bar({ progress }: Loading) {
  const { loaded = 0, total = 0 } = progress ?? {};
  return (
    <progress
      class="chip-bar"
      aria-hidden="true"
      {...(total > 0 ? { max: total, value: loaded } : {})}
    />
  );
}
