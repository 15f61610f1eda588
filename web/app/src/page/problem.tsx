import { Found, TechnicalDetails } from '../model/found';
import { openSheet } from '../model/open';
import { fromAddress } from '../model/source';
import { open, problem, type Problem as About } from '../model/state';
import { settings } from '../settings/settings';
import { t } from '../texts';

interface Place {
  value: About | null;
}

/** The error that the reader should know of, with what can be done about it. */
export function Problem({ of = problem }: { of?: Place }) {
  return <div role="alert">{of.value !== null && <Shown about={of.value} of={of} />}</div>;
}

function Shown({ about, of }: { about: About; of: Place }) {
  const { title, advice, code, retry, also } = about;
  const words = t.value.model.notices;
  return (
    <section class="notice wrong" data-code={code}>
      <h2>{title}</h2>
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
              onClick={() => openSheet('kept-heading')}
            />
          </>
        )}
        <Act label={words.close} kind="quiet" onClick={() => (of.value = null)} />
      </div>
      <TechnicalDetails {...about} />
    </section>
  );
}

function Act({
  label,
  kind = 'secondary',
  onClick,
}: {
  label: string;
  kind?: 'secondary' | 'quiet';
  onClick(): void;
}) {
  return (
    <button type="button" class={kind} onClick={onClick}>
      {label}
    </button>
  );
}
