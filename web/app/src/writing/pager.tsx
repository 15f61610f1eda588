import { count } from '../texts/format';
import { busy } from '../model/run';
import { writing } from './state';
import { writingTexts } from './texts';

/** Leads through the texts of this visit; the arrow keys do, too, while it has the focus. */
export function Pager() {
  const { texts: all, at } = writing.texts.value;
  // A text that is being written, or stayed empty, is not among them yet.
  const length = Math.max(all.length, at + 1);
  if (all.length === 0 || length < 2) return null;
  const words = writingTexts.value;
  return (
    <div
      class="pager"
      role="group"
      aria-label={words.pager}
      onKeyDown={(event) => {
        if (event.key === 'ArrowLeft') writing.show(at - 1);
        else if (event.key === 'ArrowRight') writing.show(at + 1);
      }}
    >
      <Turn to={at - 1} label={words.previous} path="M15 5l-7 7 7 7" />
      <p class="number">{words.place(count(at + 1), count(length))}</p>
      <Turn to={at + 1} label={words.next} path="M9 5l7 7-7 7" />
    </div>
  );
}

/** It is never disabled: it would lose the focus at the last text. */
function Turn({ to, label, path }: { to: number; label: string; path: string }) {
  const able = !busy.value && writing.texts.value.texts[to] !== undefined;
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      aria-disabled={!able}
      onClick={() => writing.show(to)}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d={path} />
      </svg>
    </button>
  );
}
