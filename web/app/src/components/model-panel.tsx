import { useSignal } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { bytes, count, parameters, tokens } from '../format';
import { noteInWords } from '../memory';
import { address, openAddress, openFiles } from '../link';
import { BUNDLED, hostOf, sourceName, type Source } from '../source';
import { loading, model, modelName, open, paused, problem, stats, unkept } from '../state';
import { KeptModels } from './kept-models';
import { LoadProgress } from './load-progress';

/** Every row is there from the beginning, so that nothing below moves when a model comes or goes. */
export function ModelPanel() {
  const current = model.value;
  const coming = loading.value?.source;
  const name =
    current !== null ? modelName(current) : coming !== undefined ? sourceName(coming) : null;
  const facts = current === null ? null : factsOf(current.info, current.source);
  // The figures say why there is only one thread.
  const notes = stats.value?.notes.filter((note) => !note.startsWith('One thread')) ?? [];
  return (
    <aside class="model" aria-labelledby="model-heading">
      <h2 class="label" id="model-heading">
        Model
      </h2>
      <p class="model-name">{name ?? 'None loaded'}</p>
      <p class="note whence">{whence(current?.source ?? coming)}</p>
      <dl class="facts">
        {FACTS.map((fact) => (
          <div key={fact}>
            <dt>{fact}</dt>
            <dd>{facts?.[fact] ?? '–'}</dd>
          </div>
        ))}
      </dl>
      <Choose />
      {notes.map((note) => (
        <p class="note" key={note}>
          {noteInWords(note)}
        </p>
      ))}
      <KeptModels />
    </aside>
  );
}

function whence(source: Source | undefined): string {
  switch (source?.kind) {
    case 'bundled':
      return 'Comes with this page. It writes simple children’s stories in English and knows nothing else.';
    case 'files':
      return 'A file on this device. It is read here and sent nowhere.';
    case 'address':
      return source.keep && !unkept.value
        ? 'From its server, and kept on this device for the next time.'
        : 'From its server into the memory of this page. It is not kept.';
    default:
      return '';
  }
}

/** The names of a model's facts, in their order. */
const FACTS = [
  'Architecture',
  'Parameters',
  'Types',
  'Layers',
  'Context',
  'Vocabulary',
  'Size',
  'Memory',
  'Licence',
  'From',
] as const;

/** The facts in a file's header; null for those that it does not name. */
function factsOf(info: ModelInfo, source: Source): Record<(typeof FACTS)[number], string | null> {
  const types = Object.entries(info.types)
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .map(([type]) => type);
  const licence = info.metadata['general.license'];
  return {
    Architecture: info.architecture,
    Parameters: parameters(info.parameters),
    Types: types.join(', '),
    Layers: info.layers === null ? null : count(info.layers),
    Context: info.contextLength === null ? null : tokens(info.contextLength),
    Vocabulary: tokens(info.vocab ?? info.tokenizer.tokens),
    Size: bytes(info.bytes),
    Memory: info.memory === null ? null : `up to ${bytes(info.memory.total)}`,
    Licence: typeof licence === 'string' && licence !== '' ? licence.slice(0, 80) : null,
    From: origin(source),
  };
}

function origin(source: Source): string {
  switch (source.kind) {
    case 'bundled':
      return 'this page';
    case 'files': {
      const [first, ...others] = source.files;
      const more = others.length === 0 ? '' : ` and ${others.length} more`;
      return `${first.name}${more}, this device`;
    }
    case 'address':
      return hostOf(source.url);
  }
}

/** Loads another model: by file picker, by address, or by dropping a file on the page. */
function Choose() {
  const wrong = useSignal(false);
  return (
    <div class="choose">
      <h3>Use another</h3>
      <div class="file">
        <input
          id="file"
          type="file"
          accept=".gguf"
          multiple
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            // The same file may be chosen again after a failure.
            event.currentTarget.value = '';
            openFiles(files, 'panel');
          }}
        />
        <label for="file" class="secondary">
          Choose a .gguf file
        </label>
        <span class="hint">or drop one anywhere on the page</span>
      </div>
      <form
        class="by-address"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          wrong.value = !openAddress(address.value);
          if (wrong.value) problem.value = null; // of an earlier address
        }}
      >
        <label for="address">Address</label>
        <div class="joined">
          <input
            id="address"
            name="address"
            type="url"
            inputMode="url"
            autocomplete="off"
            spellcheck={false}
            placeholder="https://… or hf:…"
            value={address}
            aria-invalid={wrong}
            aria-describedby={wrong.value ? 'address-wrong' : undefined}
            onInput={(event) => {
              address.value = event.currentTarget.value;
              wrong.value = false;
            }}
          />
          <button type="submit" class="secondary">
            Load
          </button>
        </div>
        {wrong.value && (
          <p class="hint wrong" id="address-wrong" role="alert">
            Give the full address of a file, with https:// before it, or hf:owner/repo.
          </p>
        )}
      </form>
      <div class="panel-end">
        <LoadProgress place="panel" />
        {loading.value === null &&
          paused.value?.place !== 'panel' &&
          model.value?.source.kind !== 'bundled' && (
            <button type="button" class="quiet" onClick={() => void open(BUNDLED, 'panel')}>
              Back to the model of this page
            </button>
          )}
      </div>
    </div>
  );
}
