import type { Finish } from '@sluice/engine';
import { MAX_PROMPT } from '../fragment';
import { tokens as countTokens } from '../format';
import {
  busy,
  loading,
  model,
  modelName,
  paused,
  prompt,
  run,
  settings,
  stop,
  writable,
  write,
  written,
  type Written,
} from '../state';
import { sourceName } from '../source';
import { Layers } from './layers';
import { LoadProgress } from './load-progress';
import { SettingsPanel } from './settings-panel';

const touch = window.matchMedia('(pointer: coarse)');
const command = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl';

export function Composer() {
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy.value) {
          stop();
          return;
        }
        // A keyboard on the screen would cover the text.
        if (touch.matches) document.getElementById('prompt')?.blur();
        write();
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
        <button
          type="submit"
          class={busy.value ? 'primary stop' : 'primary'}
          disabled={run.value === 'stopping' || (!busy.value && !writable.value)}
        >
          {busy.value ? 'Stop' : 'Write'}
        </button>
        {(loading.value ?? paused.value)?.place === 'composer' ? (
          <LoadProgress place="composer" />
        ) : (
          <Status />
        )}
      </div>
      <Layers />
      <SettingsPanel />
    </form>
  );
}

/** The present state, in one line beside the button. */
function Status() {
  switch (run.value) {
    case 'waiting':
      return <p class="state">Waiting for the model</p>;
    case 'reading':
      return <p class="state">Reading the prompt</p>;
    case 'writing':
    case 'stopping':
      return <p class="state">{countTokens(written.value?.tokens ?? 0)}</p>;
    case 'idle':
      break;
  }
  if (loading.value !== null) {
    return <p class="state">Loading {sourceName(loading.value.source)}</p>;
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
        {ENDINGS[finish]}: {countTokens(tokens)}
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
            // This button goes away: move the focus to where the seed is now.
            document.querySelector<HTMLElement>('.settings summary')?.focus();
          }}
        >
          Keep this seed
        </button>
      )}
    </p>
  );
}
