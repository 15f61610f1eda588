import { KeepCopy } from './copy-of-file';
import { FourFacts, MoreFacts } from './facts';
import { Layers } from './layers';
import { Note, withoutThreads } from './note';
import { nameOf } from './name';
import type { Source } from './source';
import { ownSpeed, speedOf } from './learn';
import { arriving, loading, model, shownName, stats, unkept } from './state';
import { sheetTexts } from './sheet-texts';

/** The model in use; before the first one is here, the one that is coming. */
export function CurrentModel() {
  const words = sheetTexts.value;
  const current = model.value;
  const coming = loading.value;
  const info = current?.info ?? coming?.info ?? null;
  const source = current?.source ?? coming?.source;
  const name =
    current !== null
      ? shownName(current)
      : coming !== null
        ? nameOf(coming.source, coming.info)
        : null;
  const speed = current !== null ? ownSpeed() : info === null ? null : speedOf(info);
  const other = current !== null && coming !== null && coming.info !== null && arriving.value;
  const shownOf = other ? nameOf(coming.source, coming.info) : null;
  const notes = withoutThreads(stats.value?.notes ?? []);
  return (
    <section class="current" aria-labelledby="model-name">
      <h3 class="model-name" id="model-name" tabIndex={-1}>
        {name ?? words.noneLoaded}
      </h3>
      <p class="note whence">{whence(source)}</p>
      <KeepCopy source={current?.source} />
      <FourFacts info={info} speed={speed} />
      {info !== null && source !== undefined && (
        <details class="fold">
          <summary>{words.more}</summary>
          <MoreFacts info={info} source={source} />
          {notes.map((note) => (
            <Note key={note.message} of={note} />
          ))}
        </details>
      )}
      <details class="fold">
        {/* The picture is of the one that is coming. */}
        <summary>{shownOf === null ? words.layers : words.layersOf(shownOf)}</summary>
        <Layers />
      </details>
    </section>
  );
}

function whence(source: Source | undefined): string {
  const words = sheetTexts.value;
  switch (source?.kind) {
    case 'bundled':
      return words.bundled;
    case 'files':
      return words.file;
    case 'address':
      return source.keep && !unkept.value ? words.keptHere : words.notKept;
    default:
      return '';
  }
}
