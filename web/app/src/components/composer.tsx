import type { Finish } from '@sluice/engine';
import { MAX_PROMPT } from '../fragment';
import { bytes, count, milliseconds, seconds } from '../format';
import {
  busy,
  cancelLoading,
  loading,
  model,
  modelName,
  prompt,
  run,
  settings,
  sourceName,
  stop,
  write,
  written,
  type Loading,
  type Written,
} from '../state';
import { SettingsPanel } from './settings-panel';

const command = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl';

export function Composer() {
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy.value) stop();
        else write();
      }}
    >
      <label class="label" for="prompt">
        Prompt
      </label>
      <textarea
        id="prompt"
        rows={2}
        maxLength={MAX_PROMPT}
        spellcheck={false}
        value={prompt}
        onInput={(event) => {
          prompt.value = event.currentTarget.value;
        }}
      />
      <div class="actions">
        <button type="submit" class="primary" disabled={run.value === 'stopping'}>
          {busy.value ? 'Stop' : 'Write'}
        </button>
        {loading.value === null ? <Status /> : <LoadProgress {...loading.value} />}
      </div>
      <SettingsPanel />
    </form>
  );
}

/** One line beside the button that says how things stand. */
function Status() {
  switch (run.value) {
    case 'waiting':
      return <p class="state">Waiting for the model</p>;
    case 'reading':
      return <p class="state">Reading the prompt</p>;
    case 'writing':
    case 'stopping':
      return <p class="state">{count(written.value?.tokens ?? 0)} tokens</p>;
    case 'idle':
      break;
  }
  if (model.value === null) return <p class="state">No model is loaded. Choose one below.</p>;
  if (written.value?.finish) return <Ending {...written.value} finish={written.value.finish} />;
  return (
    <p class="state">
      <span class="keys">
        <kbd>{command}</kbd> <kbd>Enter</kbd> writes, <kbd>Esc</kbd> stops
      </span>
      <span class="keys-touch">Ready</span>
    </p>
  );
}

const ENDINGS = {
  eos: 'The text came to its end',
  length: 'Stopped at the length that is set',
  stop: 'Stopped at a stop text',
  aborted: 'Stopped',
  context: 'The context is full',
} as const;

function Ending({ finish, tokens, seed, by }: Written & { finish: Finish }) {
  return (
    <p class="state">
      <span>
        {ENDINGS[finish]}: {count(tokens)} tokens
        {seed !== null && (
          <>
            , seed <span class="number">{seed}</span>
          </>
        )}
        {by !== null && by !== model.value && <>, written by {modelName(by)}</>}
      </span>
      {seed !== null && settings.value.seed === null && (
        <button
          type="button"
          class="link"
          onClick={() => {
            settings.value = { ...settings.value, seed };
            // This button goes away: on to where the seed is now.
            document.querySelector<HTMLElement>('.settings summary')?.focus();
          }}
        >
          Keep this seed
        </button>
      )}
    </p>
  );
}

function LoadProgress({ source, progress }: Loading) {
  const name = sourceName(source);
  const { loaded = 0, total = 0, bytesPerSecond = 0 } = progress ?? {};
  const known = total > 0;
  const left = bytesPerSecond > 0 ? Math.max(0, total - loaded) / bytesPerSecond : 0;
  const facts = [
    known ? `${bytes(loaded)} of ${bytes(total)}` : 'Reading the header',
    bytesPerSecond > 0 ? `${bytes(bytesPerSecond)}/s` : '',
    known && bytesPerSecond > 0 && loaded < total
      ? left < 1
        ? `${milliseconds(left * 1000)} left`
        : `${seconds(left)} left`
      : '',
  ].filter(Boolean);
  return (
    <div class="loading">
      <div class="loading-text">
        <label for="load-progress" class="loading-name">
          Loading {name}
        </label>
        <span class="loading-facts">{facts.join(' · ')}</span>
      </div>
      {known ? (
        <progress id="load-progress" max={total} value={loaded}>
          {facts.join(', ')}
        </progress>
      ) : (
        <progress id="load-progress">{facts.join(', ')}</progress>
      )}
      <button type="button" class="quiet" onClick={cancelLoading}>
        Cancel
      </button>
    </div>
  );
}
