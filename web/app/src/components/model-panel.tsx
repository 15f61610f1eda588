import { useSignal } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { bytes, count, parameters } from '../format';
import {
  BUNDLED,
  loading,
  model,
  modelName,
  open,
  openAddress,
  openFile,
  problem,
  sourceName,
  stats,
  type Source,
} from '../state';

export function ModelPanel() {
  const current = model.value;
  const name =
    current !== null ? modelName(current) : loading.value ? sourceName(loading.value.source) : null;
  // Why there is one thread only stands with the figures.
  const notes = stats.value?.notes.filter((note) => !note.startsWith('One thread')) ?? [];
  return (
    <aside class="model" aria-labelledby="model-heading">
      <h2 class="label" id="model-heading">
        Model
      </h2>
      <p class="model-name">{name ?? 'None loaded'}</p>
      {current?.source.kind === 'bundled' && (
        <p class="note">
          Comes with this page. It writes simple children’s stories in English and knows nothing
          else.
        </p>
      )}
      {current !== null && <Facts info={current.info} source={current.source} />}
      {notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      <Choose />
    </aside>
  );
}

/** What the header says; a fact that it doesn't name is left out. */
function Facts({ info, source }: { info: ModelInfo; source: Source }) {
  const types = Object.entries(info.types)
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .map(([type]) => type);
  const tokens = (n: number | null): string | null => (n === null ? null : `${count(n)} tokens`);
  const licence = info.metadata['general.license'];
  const rows: [string, string | null][] = [
    ['Architecture', info.architecture],
    ['Parameters', parameters(info.parameters)],
    ['Types', types.join(', ')],
    ['Layers', info.layers === null ? null : count(info.layers)],
    ['Context', tokens(info.contextLength)],
    ['Vocabulary', tokens(info.vocab ?? info.tokenizer.tokens)],
    ['Size', bytes(info.bytes)],
    ['Licence', typeof licence === 'string' && licence !== '' ? licence.slice(0, 80) : null],
    ['From', origin(source)],
  ];
  return (
    <dl class="facts">
      {rows.map(
        ([name, value]) =>
          value !== null && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function origin(source: Source): string {
  switch (source.kind) {
    case 'bundled':
      return 'this page';
    case 'file':
      return `${source.file.name}, this device`;
    case 'address':
      return new URL(source.url).host;
  }
}

/** By file picker, by address, or by dropping a file on the page. */
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
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            // The same file may be chosen again after a failure.
            event.currentTarget.value = '';
            if (file !== undefined) openFile(file);
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
          const input = new FormData(event.currentTarget).get('address');
          wrong.value = typeof input !== 'string' || !openAddress(input);
          if (wrong.value) problem.value = null; // an earlier one's
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
            placeholder="https://…/model.gguf"
            aria-invalid={wrong}
            aria-describedby={wrong.value ? 'address-wrong' : undefined}
            onInput={() => {
              wrong.value = false;
            }}
          />
          <button type="submit" class="secondary">
            Load
          </button>
        </div>
        {wrong.value && (
          <p class="hint wrong" id="address-wrong" role="alert">
            Give the full address of a file, with https:// or http:// before it.
          </p>
        )}
      </form>
      {loading.value === null && model.value?.source.kind !== 'bundled' && (
        <button type="button" class="quiet" onClick={() => void open(BUNDLED)}>
          Back to the model of this page
        </button>
      )}
    </div>
  );
}
