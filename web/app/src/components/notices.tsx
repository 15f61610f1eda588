import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { bytes, parameters } from '../format';
import { acceptOffer, ignored, offer, open, problem } from '../state';

/** What wants the reader's attention, above everything else. */
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
  const asked = offer.value;
  if (asked === null) return null;
  const { url, info, failure } = asked;
  const { host } = new URL(url);
  return (
    <section class="notice" aria-labelledby="offer-title">
      <h2 id="offer-title">
        This link asks for a model from <span class="host">{host}</span>
      </h2>
      {failure !== null ? (
        <p>
          {failure.title}. {failure.message} {failure.advice}
        </p>
      ) : info === null ? (
        <p>Asking the server about it…</p>
      ) : (
        <p>
          {info.name || 'A model without a name'}: {parameters(info.parameters)} parameters,{' '}
          <strong>{bytes(info.bytes)}</strong> to download.
        </p>
      )}
      <p class="address">{url}</p>
      <div class="buttons">
        {failure === null && (
          <button type="button" class="secondary" disabled={info === null} onClick={acceptOffer}>
            Download {info === null ? '' : bytes(info.bytes)}
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() => {
            offer.value = null;
          }}
        >
          {failure === null ? 'No, keep the model I have' : 'Close'}
        </button>
      </div>
    </section>
  );
}

function ProblemNotice() {
  const current = problem.value;
  const notice = useRef<HTMLElement>(null);
  useEffect(() => {
    // What failed may have been started far below. Only the view moves: an alert is read out anyway.
    const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    notice.current?.scrollIntoView({ block: 'nearest', behavior: still ? 'instant' : 'smooth' });
  }, [current]);
  if (current === null) return <div role="alert" />;
  const { title, message, advice, code, retry } = current;
  return (
    <div role="alert">
      <section class="notice wrong" data-code={code} ref={notice}>
        <h2>{title}</h2>
        <p>{message}</p>
        {advice !== '' && <p>{advice}</p>}
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
