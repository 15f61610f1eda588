import { useLayoutEffect, useRef } from 'preact/hooks';
import { announcement } from '../ui/announce';
import { t } from '../texts';
import { timeLeft } from '../texts/format';
import { openSheet } from '../model/open';
import { focusSoon } from '../ui/focus';
import { Question, useQuestion } from '../ui/question';
import { loading } from '../model/state';
import { passagesOf } from './format';
import {
  coming,
  isKeeping,
  isOthers,
  isRead,
  keep,
  refusals,
  remove,
  rows,
  unkept,
  type Row,
} from './documents';
import { addFiles, elsewhere, goOn, mark, progress, readAgain } from './state';
import { stopReading, stopping, unread, works } from './state';
import { findTexts } from './texts';

/** Names of files that were not added that are shown. */
const MOST_REFUSED = 8;

/** The files, and how far they are read. */
export function Files() {
  const words = findTexts.value;
  const all = rows.value ?? [];
  return (
    <section class="find-files" aria-labelledby="files-heading" aria-busy={works.value}>
      <h3 id="files-heading" tabIndex={-1}>
        {words.files}
      </h3>
      <div class="buttons">
        <Choose label={words.choose} />
        <Choose label={words.folder} folder />
      </div>
      <p class="hint">{words.drop}</p>
      <Refusals />
      <Reading />
      <Unkept />
      {all.length > 0 && (
        <ul>
          {all.map((row) => (
            <File key={row.id} row={row} />
          ))}
        </ul>
      )}
      {all.length > 0 && !isKeeping() && <p class="note">{words.never}</p>}
    </section>
  );
}

function Choose({ label, folder = false }: { label: string; folder?: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={label}
        {...(folder ? { webkitdirectory: true } : {})}
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = '';
          void addFiles(files);
        }}
      />
      <button
        type="button"
        class={folder ? 'quiet' : 'secondary'}
        onClick={() => input.current?.click()}
      >
        {label}
      </button>
    </>
  );
}

/** Why files were not added. */
function Refusals() {
  const words = findTexts.value;
  const all = refusals.value;
  const shown = useRef<HTMLDivElement>(null);
  // What is dropped while passages are shown is refused below them, out of sight.
  useLayoutEffect(() => shown.current?.scrollIntoView({ block: 'nearest' }), [all]);
  if (all.length === 0) return null;
  const more = all.length - MOST_REFUSED;
  return (
    <div ref={shown} class="refusals" role="alert">
      <p>{words.notRead(all.length)}</p>
      <ul>
        {all.slice(0, MOST_REFUSED).map(({ name, why }) => (
          <li key={name}>
            <bdi class="path">{name}</bdi>
            {t.value.page.named('', words.why[why])}
          </li>
        ))}
      </ul>
      {more > 0 && <p>{words.andMore(more)}</p>}
    </div>
  );
}

/** How far the reading is; or that there is something left to read. */
function Reading() {
  const words = findTexts.value;
  const now = progress.value;
  const shown = useRef<HTMLDivElement>(null);
  const reads = now !== null;
  // As of refusals: below passages that are shown it would begin out of sight.
  useLayoutEffect(() => {
    if (reads) shown.current?.scrollIntoView({ block: 'nearest' });
  }, [reads]);
  if (now !== null) {
    const left = now.secondsLeft === null ? '' : timeLeft(Math.max(1, Math.ceil(now.secondsLeft)));
    const facts = [words.progress(now.done, now.total), left].filter(Boolean).join(' · ');
    return (
      <div ref={shown} class="find-progress">
        <div>
          <label for="find-progress">{words.reading}</label>
          <span class="number">{facts}</span>
        </div>
        <progress id="find-progress" max={now.total || 1} value={now.done}>
          {facts}
        </progress>
        <button
          type="button"
          class="secondary stop"
          disabled={stopping.value}
          onClick={() => {
            stoppedHere = true;
            stopReading();
          }}
        >
          {words.stop}
        </button>
      </div>
    );
  }
  if (elsewhere.value) return <p class="note">{words.elsewhere}</p>;
  if (unread.value.length === 0 || coming.value > 0 || loading.value !== null) return null;
  return <ToRead files={unread.value.length} />;
}

/** Whether the reader has pressed Stop, which goes away: the focus goes to where it goes on. */
let stoppedHere = false;

function ToRead({ files }: { files: number }) {
  const words = findTexts.value;
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (stoppedHere) button.current?.focus({ preventScroll: true });
    stoppedHere = false;
  }, []);
  return (
    <p class="to-read">
      {words.toRead(files)}{' '}
      <button type="button" class="secondary" ref={button} onClick={goOn}>
        {words.goOn}
      </button>
    </p>
  );
}

/** Why what was read is not kept, and what can be done. */
function Unkept() {
  const words = findTexts.value;
  const code = unkept.value;
  if (code === null) return null;
  const again = (): void => {
    for (const { id, document } of rows.peek() ?? []) if (document !== null) void keep(id);
  };
  return (
    <section class="notice wrong" role="alert" data-code={code}>
      <p>{words[code]}</p>
      <div class="buttons">
        <button type="button" class="secondary" onClick={again}>
          {words.again}
        </button>
        {code === 'full' && (
          <button type="button" class="quiet" onClick={() => openSheet('kept-heading')}>
            {words.removeModels}
          </button>
        )}
      </div>
    </section>
  );
}

function File({ row }: { row: Row }) {
  const words = findTexts.value;
  const { asking, ask, close } = useQuestion();
  const name = row.name === '' ? words.damagedName : row.name;
  const others = mark.value !== null && isOthers(row, mark.value);
  return (
    <li>
      <bdi class="file-name">{name}</bdi>
      <span class="note">{factsOf(row)}</span>
      {asking ? (
        <Question
          text={words.removeQuestion(name)}
          yes={words.remove}
          no={words.keepIt}
          onYes={() => {
            void remove(row.id).then((gone) => {
              if (!gone) return;
              announcement.value = words.removed(name);
              focusSoon('#files-heading');
            });
          }}
          onNo={() => {
            close();
            focusSoon(`#remove-${row.id}`);
          }}
        />
      ) : (
        <span class="file-buttons">
          {others && (
            <button
              type="button"
              class="quiet"
              aria-label={words.readAgainName(name)}
              onClick={() => readAgain(row.id)}
            >
              {words.readAgain}
            </button>
          )}
          <button
            type="button"
            class="quiet"
            id={`remove-${row.id}`}
            aria-label={words.removeName(name)}
            onClick={ask}
          >
            {words.remove}
          </button>
        </span>
      )}
    </li>
  );
}

function factsOf(row: Row): string {
  const words = findTexts.value;
  const { document, done, stored, why } = row;
  if (document === null) return why === 'newer' ? words.newer : words.damaged;
  const by = mark.value;
  if (by !== null && isOthers(row, by)) return words.others(document.by?.name ?? '');
  const all = passagesOf(document);
  if (by !== null && !isRead(row, by)) return words.part(done, all);
  return words.facts(all, stored);
}
