import { useId, useRef } from 'preact/hooks';
import type { Note as Told } from '@sluice/engine';
import { FourFacts } from './facts';
import { doing, factsOf, keptOf } from './load';
import { LoadButtons, PausedButtons, usePart } from './load-buttons';
import { Note, isTechnical } from './note';
import { nameOf } from './name';
import { sourceName } from './source';
import { speedOf } from './learn';
import { arriving, loading, model, paused, shownName, type Loading, type Paused } from './state';
import { modelsTexts } from './models-texts';
import { loadsTexts } from './loads-texts';

/** The present load, or the one that is paused, with all that is known of it. */
export function ComingModel() {
  const current = loading.value;
  if (current !== null) return <Current key={sourceName(current.source)} {...current} />;
  return paused.value === null ? null : <Rest {...paused.value} />;
}

function Current(current: Loading) {
  const id = useId();
  const words = loadsTexts.value.load;
  const { progress, info, notes, back } = current;
  const { loaded = 0, total = 0 } = progress ?? {};
  const { amount, rate, left, note, waiting } = factsOf(progress);
  // The one that is shown is another one, and can be used.
  const stays = model.value !== null && arriving.value ? shownName(model.value) : null;
  const told = stays === null ? [] : notes;
  const [plain, technical] = [told.filter((of) => !isTechnical(of)), told.filter(isTechnical)];
  return (
    <section class="coming" aria-labelledby={id}>
      <h3 id={id}>{doing(current)}</h3>
      <progress aria-labelledby={id} {...(total > 0 ? { max: total, value: loaded } : {})} />
      <p class="coming-facts">{[amount, rate, left, note, waiting].filter(Boolean).join(' · ')}</p>
      {stays !== null && <p class="note">{words.stays(stays)}</p>}
      {stays !== null && info !== null && <FourFacts info={info} speed={speedOf(info)} />}
      {plain.map((each) => (
        <Note key={each.message} of={each} />
      ))}
      {!back && <LoadButtons />}
      <Technical notes={technical} waiting={progress?.waiting ?? ''} />
    </section>
  );
}

/** Folded: notes on how the file is made, and what the load waited for last, in the library's words. */
function Technical({ notes, waiting }: { notes: readonly Told[]; waiting: string }) {
  // It stays when the load goes on: it may be open.
  const said = useRef('');
  if (waiting !== '') said.current = waiting;
  if (said.current === '' && notes.length === 0) return null;
  return (
    <details class="fold">
      <summary>{modelsTexts.value.notices.technical}</summary>
      {notes.map((each) => (
        <Note key={each.message} of={each} />
      ))}
      {said.current !== '' && (
        <p class="note" lang="en">
          {said.current}
        </p>
      )}
    </details>
  );
}

function Rest({ source }: Paused) {
  const id = useId();
  const words = loadsTexts.value.load;
  const part = usePart(source);
  return (
    <section class="coming" aria-labelledby={id}>
      <h3 id={id}>{words.paused(nameOf(source))}</h3>
      <p class="note">
        {keptOf(part)} {part == null ? '' : words.anotherDay}
      </p>
      <PausedButtons source={source} />
    </section>
  );
}
