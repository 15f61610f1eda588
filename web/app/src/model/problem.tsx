import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { t } from '../texts';
import { modelParts } from './parts';
import { closeProblem, open, problem, type Problem as About } from './state';

/** The card of the first model says it, where there is one. */
export const problemInCard = signal(false);

export interface Place {
  value: About | null;
}

/** What the page's model has to say. */
const OWN: Place = {
  get value() {
    return problem.value;
  },
  /** Only to null. */
  set value(_) {
    closeProblem();
  },
};

/** The error that the reader should know of, with what can be done about it. */
export function Problem({ of = OWN }: { of?: Place }) {
  return <div role="alert">{of.value !== null && <Shown about={of.value} of={of} />}</div>;
}

/** All that is said of an error comes later. Perhaps it can't be fetched, for the same reason: so the main thing is here. */
function Shown({ about, of }: { about: About; of: Place }) {
  const later = modelParts.all.value;
  useEffect(() => void modelParts.fetch(), []);
  if (later !== null) return <later.ProblemText about={about} close={() => (of.value = null)} />;
  const { title, advice, code, retry } = about;
  return (
    <section class="notice wrong" data-code={code}>
      <h2>{title}</h2>
      {advice !== '' && <p>{advice}</p>}
      {retry !== null && (
        <div class="buttons">
          <button type="button" class="secondary" onClick={() => void open(retry)}>
            {t.value.model.notices.tryAgain}
          </button>
        </div>
      )}
    </section>
  );
}
