import { signal } from '@preact/signals';
import { Found, TechnicalDetails } from '../model/found';
import { openSheet } from '../model/open';
import { open, problem, type Problem as About } from '../model/state';
import { fromAddress, hostOf, pageOf } from '../model/source';
import { settings } from '../settings/settings';
import { t } from '../texts';
import { focusSoon, touch } from './focus';
import { parts } from './parts';

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
  const { title, advice, code, facts, retry, also } = about;
  const words = t.value.model.notices;
  // A model that needs an account has a page where one signs in.
  const denied = facts.status === 401 || facts.status === 403;
  const page =
    denied && retry?.kind === 'address' && hostOf(retry.url) === 'huggingface.co'
      ? pageOf(retry.url)
      : null;
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
        {page !== null && (
          <a href={page} target="_blank" rel="noopener noreferrer">
            {words.openPage}
          </a>
        )}
        {code === 'bad_file' && retry === null && (
          <Act label={words.chooseFile} onClick={() => void parts.peek()?.choose()} />
        )}
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
        <Act label={words.close} kind="quiet" onClick={() => (of.value = null)} />
      </div>
      <TechnicalDetails {...about} />
    </section>
  );
}

interface ActProps {
  label: string;
  kind?: 'secondary' | 'quiet';
  /** The message is there afterwards. */
  stays?: boolean;
  onClick(): void;
}

function Act({ label, kind = 'secondary', stays = false, onClick }: ActProps) {
  return (
    <button
      type="button"
      class={kind}
      onClick={() => {
        // The button goes away.
        if (!stays && !touch.matches)
          focusSoon('dialog[open] .dialog-head button', '#draft', '.composer textarea');
        onClick();
      }}
    >
      {label}
    </button>
  );
}
