// What the card of the first model says of a download.
import { doing, factsOf } from '../model/load';
import { LoadButtons, PausedButtons, usePart } from '../model/load-buttons';
import { nameOf } from '../model/name';
import type { Loading, Paused } from '../model/state';
import { t } from '../texts';
import { bytes, ofWhole } from '../texts/format';
import { focusField } from './field';
import { loadsTexts } from '../model/loads-texts';

/** A download that goes on. */
export function FirstComing(current: Loading) {
  const { first } = t.value.talk;
  const { loaded = 0, total = 0 } = current.progress ?? {};
  const { amount, left, note, waiting } = factsOf(current.progress);
  return (
    <div class="first-coming">
      <p class="first-label">{first.coming}</p>
      <p class="first-name">{nameOf(current.source, current.info)}</p>
      <progress aria-label={doing(current)} {...(total > 0 ? { max: total, value: loaded } : {})} />
      <p class="first-facts">{[amount, left, note, waiting].filter(Boolean).join(' · ')}</p>
      <p>{first.typeMeanwhile}</p>
      {!current.back && <LoadButtons />}
    </div>
  );
}

/** A download that is paused. */
export function FirstPaused({ source, progress }: Paused) {
  const { first } = t.value.talk;
  const words = loadsTexts.value.load;
  const part = usePart(source);
  const { loaded = 0, total = 0 } = progress ?? {};
  const [came, whole] = part == null ? [loaded, total] : [part.stored, part.bytes];
  return (
    <div class="first-coming">
      <p class="first-label">{first.paused}</p>
      <p class="first-name">{nameOf(source)}</p>
      <progress aria-label={words.paused(nameOf(source))} max={whole || 1} value={came} />
      <p class="first-facts">
        {part === null ? words.nothingKept : ofWhole(bytes(came), bytes(whole))}
      </p>
      <p>{words.anotherDay}</p>
      <PausedButtons source={source} then={focusField} />
    </div>
  );
}
