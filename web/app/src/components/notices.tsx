import type { ComponentChildren } from 'preact';
import { bytes, parameters } from '../format';
import { acceptOffer, closeOffer, ignored, lookAtOffer, offer, open, problem } from '../state';

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
  const { url, asked, info, failure } = current;
  const { host } = new URL(url);
  return (
    <section class="notice offer" aria-labelledby="offer-title">
      <h2 id="offer-title">
        This link asks for a model from <span class="host">{host}</span>
      </h2>
      <p role="status">
        {failure !== null
          ? `${failure.title}. ${failure.message} ${failure.advice}`
          : !asked
            ? 'Nothing has been asked of that server yet. It learns your address when you look.'
            : info === null
              ? 'Asking the server about it…'
              : `${info.name || 'A model without a name'}: ${parameters(info.parameters)} parameters, ${bytes(info.bytes)} to download.`}
      </p>
      <p class="address">{url}</p>
      <div class="buttons">
        {failure === null &&
          (info === null ? (
            <button
              type="button"
              class="secondary"
              aria-disabled={asked}
              onClick={() => void lookAtOffer()}
            >
              Look at the model
            </button>
          ) : (
            <button type="button" class="secondary" onClick={acceptOffer}>
              Download {bytes(info.bytes)}
            </button>
          ))}
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
          <Dismiss>
            <code>{code}</code>
          </Dismiss>
        </div>
      </section>
    </div>
  );
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
