// The settings that count when a model is loaded.
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { cores, sharing } from '../ui/device';
import { bytes, count, tokens } from '../texts/format';
import { loading, model, open, stale } from '../model/state';
import { roomTexts } from './texts';
import { contextOf, kvBytes } from '../settings/context';
import { Choice, Hint, NumberField, set } from './fields';
import { KV_TYPES, RANGES, change, parseMemory, settings } from '../settings/settings';

export function ModelFields() {
  const texts = roomTexts.value;
  const { kvType } = settings.value;
  return (
    <>
      <p class="hint">{texts.modelHint}</p>
      <ContextField />
      <Choice
        name="kvType"
        label={texts.kvType}
        choices={KV_TYPES.map((value) => ({ value, label: texts.kvTypeName[value] }))}
        value={kvType}
        onChoose={(value) => change({ kvType: value })}
      >
        {texts.kvTypeHint[kvType]}
      </Choice>
      <div class="field-pair">
        <ThreadsField />
        <MemoryField />
      </div>
      <LoadAgain />
    </>
  );
}

function ContextField() {
  const texts = roomTexts.value;
  const info = model.value?.info ?? null;
  const own = contextOf({ context: null }, info);
  return (
    <NumberField
      name="context"
      label={texts.context}
      placeholder={own === null ? texts.automatic : texts.contextIs(count(own))}
    >
      {texts.contextHint} <ContextMemory />
    </NumberField>
  );
}

/** The memory that the context takes, as it is set. */
function ContextMemory() {
  const texts = roomTexts.value;
  const info = model.value?.info ?? null;
  if (info === null || info.memory === null) return <>{texts.contextUnknown}</>;
  const size = contextOf(settings.value, info) ?? info.memory.contextSize;
  const above = info.contextLength !== null && size > info.contextLength;
  return (
    <>
      <strong class="context-memory">
        {texts.contextMemory(
          tokens(size),
          bytes(Math.round(kvBytes(info.memory, size, settings.value.kvType))),
        )}
      </strong>
      {above && <> {texts.contextAbove(tokens(info.contextLength ?? 0))}</>}
    </>
  );
}

function ThreadsField() {
  const texts = roomTexts.value;
  const { threads } = settings.value;
  const choices = new Set(Array.from({ length: cores }, (_, i) => i + 1));
  if (threads !== null) choices.add(threads);
  return (
    <div class="field">
      <label for="set-threads">{texts.threads}</label>
      <select
        id="set-threads"
        disabled={!sharing}
        value={threads ?? ''}
        aria-describedby="set-threads-hint"
        onChange={(event) => set('threads', event.currentTarget.value)}
      >
        <option value="">{sharing ? texts.automatic : texts.oneThread}</option>
        {sharing &&
          [...choices].map((n) => (
            <option key={n} value={n}>
              {n}
            </option>
          ))}
      </select>
      <Hint id="set-threads-hint">{sharing ? texts.threadsHint : texts.oneThreadHint}</Hint>
    </div>
  );
}

/** A text field: a browser's number field hides what it can't read, such as 1.5G. */
function MemoryField() {
  const texts = roomTexts.value;
  const { min, max } = RANGES.memory;
  const { memory } = settings.value;
  /** The setting before the typing. What can't be used may begin with what can: then this one counts again. */
  const before = useRef(memory);
  /** What was typed and can't be used, and the setting at that time: another setting replaces it. */
  const wrong = useSignal<{ text: string; beside: number | null } | null>(null);
  const shown = wrong.value?.beside === memory ? wrong.value.text : null;
  return (
    <div class="field">
      <label for="set-memory">{texts.memory}</label>
      <input
        id="set-memory"
        type="text"
        inputMode="numeric"
        autocomplete="off"
        spellcheck={false}
        placeholder={texts.automatic}
        value={shown ?? memory ?? ''}
        aria-invalid={shown !== null}
        aria-describedby={shown === null ? 'set-memory-hint' : 'set-memory-hint set-memory-wrong'}
        onFocus={() => {
          before.current = memory;
        }}
        onInput={(event) => {
          const text = event.currentTarget.value;
          const value = parseMemory(text);
          wrong.value = value === undefined ? { text, beside: before.current } : null;
          change({ memory: value === undefined ? before.current : value });
        }}
      />
      {shown !== null && (
        <p class="hint wrong" id="set-memory-wrong" role="alert">
          {texts.wrongMemory(count(min), count(max))}
        </p>
      )}
      <Hint id="set-memory-hint">{texts.memoryHint}</Hint>
    </div>
  );
}

/** Whether the model has these settings, and the button that gives them to it. */
function LoadAgain() {
  const texts = roomTexts.value;
  const current = model.value;
  const again = stale.value && current !== null;
  return (
    <div class="load-again">
      <p class="hint" role="status">
        {loading.value !== null
          ? texts.loadingHint
          : current === null
            ? texts.noModel
            : again
              ? texts.staleHint
              : texts.loadedHint}
      </p>
      {again && (
        <button
          type="button"
          class="secondary"
          onClick={() => {
            // This button goes away.
            document.getElementById('settings-model')?.focus();
            void open(current.source);
          }}
        >
          {texts.loadAgain}
        </button>
      )}
    </div>
  );
}
