import { signal } from '@preact/signals';
import { Found, TechnicalDetails } from '../model/found';
import { openSheet } from '../model/open';
import { open, problem, type Problem as About } from '../model/state';
import { addressOf, fromAddress } from '../model/source';
import { settings } from '../settings/settings';
import { t } from '../texts';
import { Act, StepButtons } from './steps';

/** The card of the first model says it, where there is one. */
export const problemInCard = signal(false);

interface Place {
  value: About | null;
}

/** The error that the reader should know of, with what can be done about it. */
export function Problem({ of = problem }: { of?: Place }) {
  return <div role="alert">{of.value !== null && <Shown about={of.value} of={of} />}</div>;
}

function Shown({ about, of }: { about: About; of: Place }) {
  const { title, advice, code, retry, also, name } = about;
  const words = t.value.model.notices;
  return (
    <section class="notice wrong" data-code={code}>
      <h2>{title}</h2>
      {name !== '' && <bdi class="path">{name}</bdi>}
      <p>
        <Found {...about} />
      </p>
      {advice !== '' && <p>{advice}</p>}
      {also !== null && (
        <p>
          {words.alsoFailed(also.name)} <Found {...also.why} />
        </p>
      )}
      <div class="buttons">
        {retry !== null && <Act label={words.tryAgain} onClick={() => void open(retry)} />}
        {code === 'budget_too_small' && retry !== null && settings.value.memory !== null && (
          <Act
            label={words.withoutLimit}
            onClick={() => {
              settings.value = { ...settings.value, memory: null };
              void open(retry);
            }}
          />
        )}
        {code === 'storage_full' && retry?.kind === 'address' && (
          <>
            <Act
              label={words.withoutKeeping}
              onClick={() => void open(fromAddress(retry.url, false))}
            />
            {/* The message stays, for its buttons. */}
            <Act
              label={words.removeModels}
              kind="quiet"
              stays
              onClick={() => openSheet('kept-heading')}
            />
          </>
        )}
        <StepButtons of={about} address={(retry && addressOf(retry)) ?? null} />
        <Act label={words.close} kind="quiet" onClick={() => (of.value = null)} />
      </div>
      <TechnicalDetails {...about} />
    </section>
  );
}
