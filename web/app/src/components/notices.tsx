import type { ComponentChildren } from 'preact';
import { bytes, parameters } from '../format';
import { amountOf } from '../kept';
import { planInWords } from '../memory';
import { acceptOffer, closeOffer, ignored, lookAtOffer, offer } from '../link';
import { fromAddress, hostOf } from '../source';
import { open, problem, settings } from '../state';

/** The messages to the reader. */
export function Notices() {
  return (
    <>
      <OfferNotice />
      <ProblemNotice />
      <IgnoredNotice />
    </>
  );
}

function OfferNotice() {
  const current = offer.value;
  if (current === null) return null;
  const { url, asked, info, part, failure } = current;
  return (
    <section class="notice offer" aria-labelledby="offer-title">
      <h2 id="offer-title">
        This link asks for a model from <span class="host">{hostOf(url)}</span>
      </h2>
      <p role="status">
        {failure !== null
          ? `${failure.title}. ${failure.message} ${failure.advice}`
          : !asked
            ? part === null
              ? 'Nothing has been asked of that server yet. It learns your address when you look.'
              : `${amountOf(part)} are on this device already. Going on asks ${hostOf(url)} for the rest.`
            : info === null
              ? 'Asking the server about it…'
              : `${info.name || 'A model without a name'}: ${parameters(info.parameters)} parameters, ${bytes(info.bytes)} to download. ${planInWords(info.memory)}`}
      </p>
      <p class="address">{url}</p>
      <div class="buttons">
        {info !== null && failure === null ? (
          <button type="button" class="secondary" onClick={acceptOffer}>
            Download {bytes(info.bytes)}
          </button>
        ) : part !== null && !asked ? (
          <button type="button" class="secondary" onClick={acceptOffer}>
            Go on
          </button>
        ) : (
          <button
            type="button"
            class="secondary"
            aria-disabled={asked && failure === null}
            onClick={() => void lookAtOffer()}
          >
            {failure === null ? 'Look at the model' : 'Look again'}
          </button>
        )}
        <button type="button" class="quiet" onClick={closeOffer}>
          {failure === null ? 'No, keep the model I have' : 'Close'}
        </button>
      </div>
    </section>
  );
}

/** An error, at the window's lower edge: there it is seen wherever the reader is, and nothing moves. */
function ProblemNotice() {
  const current = problem.value;
  if (current === null) return <div role="alert" />;
  const { title, message, advice, code, retry, also } = current;
  return (
    <div role="alert">
      <section class="notice wrong" data-code={code}>
        <h2>{title}</h2>
        <p>{message}</p>
        {advice !== '' && <p>{advice}</p>}
        {also !== '' && <p>{also}</p>}
        <div class="buttons">
          {retry !== null && (
            <button type="button" class="secondary" onClick={() => void open(retry)}>
              Try again
            </button>
          )}
          {code === 'budget_too_small' && retry !== null && settings.value.memory !== null && (
            <button
              type="button"
              class="secondary"
              onClick={() => {
                settings.value = { ...settings.value, memory: null };
                void open(retry);
              }}
            >
              Load without the limit
            </button>
          )}
          {code === 'storage_full' && retry?.kind === 'address' && (
            <>
              <button
                type="button"
                class="secondary"
                onClick={() => void open(fromAddress(retry.url, false))}
              >
                Load without keeping
              </button>
              <button type="button" class="quiet" onClick={toTheKept}>
                Remove models
              </button>
            </>
          )}
          <Dismiss>
            <code>{code}</code>
          </Dismiss>
        </div>
      </section>
    </div>
  );
}

/** Moves to the list of models that are kept. The message stays, for its buttons. */
function toTheKept(): void {
  document.getElementById('kept-heading')?.focus();
}

function Dismiss({ children }: { children: ComponentChildren }) {
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          problem.value = null;
        }}
      >
        Close
      </button>
      <span class="code">{children}</span>
    </>
  );
}

function IgnoredNotice() {
  if (ignored.value.length === 0) return null;
  return (
    <section class="notice" aria-labelledby="ignored-title">
      <h2 id="ignored-title">Parts of this link were left out</h2>
      <ul>
        {ignored.value.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <div class="buttons">
        <button
          type="button"
          class="quiet"
          onClick={() => {
            ignored.value = [];
          }}
        >
          Close
        </button>
      </div>
    </section>
  );
}
