import { Found, TechnicalDetails } from './found';
import { openSheet } from './open';
import { open, type Problem as About } from './state';
import { addressOf, fromAddress } from './source';
import { settings } from '../settings/settings';
import { Act, StepButtons } from './step-buttons';
import { modelsTexts } from './models-texts';

/** An error with all that is known of it, and what can be done about it. `close`: takes it away. */
export function ProblemText({ about, close }: { about: About; close: () => void }) {
  const { title, advice, code, retry, also, name } = about;
  const words = modelsTexts.value.notices;
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
        <Act label={words.close} kind="quiet" onClick={close} />
      </div>
      <TechnicalDetails {...about} />
    </section>
  );
}
