import { useId } from 'preact/hooks';
import { t } from '../texts';
import { FourFacts } from './facts';
import { doing, factsOf, keptOf } from './load';
import { LoadButtons, PausedButtons, usePart } from './load-buttons';
import { Note } from './note';
import { sourceName } from './source';
import { speedOf } from './learn';
import { loading, model, modelName, paused, type Loading, type Paused } from './state';

/** The present load, or the one that is paused, with all that is known of it. */
export function ComingModel() {
  const current = loading.value;
  if (current !== null) return <Current {...current} />;
  return paused.value === null ? null : <Rest {...paused.value} />;
}

function Current(current: Loading) {
  const id = useId();
  const words = t.value.model.load;
  const { progress, info, notes, back, shown } = current;
  const { loaded = 0, total = 0 } = progress ?? {};
  const { amount, rate, left, note, waiting } = factsOf(progress);
  // The one that is shown is another one, and can be used.
  const stays = model.value !== null && !shown ? modelName(model.value) : null;
  return (
    <section class="coming" aria-labelledby={id}>
      <h3 id={id}>{doing(current)}</h3>
      <progress aria-labelledby={id} {...(total > 0 ? { max: total, value: loaded } : {})} />
      <p class="coming-facts">
        {[amount, rate, left, note].filter(Boolean).join(' · ')}
        {waiting !== '' && (
          <span lang="en">
            {amount === '' ? '' : ' · '}
            {waiting}
          </span>
        )}
      </p>
      {stays !== null && <p class="note">{words.stays(stays)}</p>}
      {stays !== null && info !== null && <FourFacts info={info} speed={speedOf(info)} />}
      {stays !== null && notes.map((each) => <Note key={each.message} of={each} />)}
      {!back && <LoadButtons />}
    </section>
  );
}

function Rest({ source }: Paused) {
  const id = useId();
  const words = t.value.model.load;
  const part = usePart(source);
  return (
    <section class="coming" aria-labelledby={id}>
      <h3 id={id}>{words.paused(sourceName(source))}</h3>
      <p class="note">
        {keptOf(part)} {part == null ? '' : words.anotherDay}
      </p>
      <PausedButtons source={source} />
    </section>
  );
}
