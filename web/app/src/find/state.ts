// What the room does: reads documents with the model, and finds the passages that lie nearest to a question.
import { batch, computed, effect, signal } from '@preact/signals';
import type { Engine } from '@sluice/engine';
import { announcement } from '../ui/announce';
import { does } from '../model/makes';
import { currentEngine, loading, model, modelName, type Model } from '../model/state';
import { withEngine } from '../model/use';
import { begin, busy, run, stop } from '../model/run';
import { passagesOf, type Mark } from './format';
import { add, coming, fill, isOthers, isRead, keep, prepare, rowOfId, rows } from './documents';
import { startDocuments } from './documents';
import { rank, type Hit } from './ranking';
import { filesIn, isHidden } from './reading';
import { findTexts } from './texts';

/** Passages that the model takes at a time: the reader's question waits for so many at most. */
const AT_A_TIME = 32;
/** Milliseconds between two times at which a document that is being read is kept. */
const KEEP_MS = 10_000;
/** Passages that are shown. */
export const MOST_HITS = 10;
/** Characters of a question. */
export const MOST_QUESTION = 2000;
const LOCK = 'sluice-find';

/** How far the reading is. */
export interface Progress {
  done: number;
  total: number;
  /** Null: not known yet. */
  secondsLeft: number | null;
}

export const question = signal('');
/** What was found for the question that was asked last; null: none was. */
export const found = signal<{ question: string; hits: Hit[] } | null>(null);
/** Null: nothing is being read. */
export const progress = signal<Progress | null>(null);
export const asking = signal(false);
/** Another tab reads documents: this one waits for it. */
export const elsewhere = signal(false);
/** Whether documents are to be read as soon as that is possible. */
const wanted = signal(false);

function markOf(of: Model): Mark {
  return { name: modelName(of), bytes: of.info.bytes, dimensions: of.info.dimensions ?? 0 };
}

/** Of the model in use; null: it finds nothing. */
export const mark = computed<Mark | null>(() =>
  model.value !== null && does.value === 'finds' ? markOf(model.value) : null,
);

/** Documents that are not read, or not to their end, by the model in use. Those that another model has read wait for the reader. */
export const unread = computed(() => {
  const by = mark.value;
  if (by === null) return [];
  return (rows.value ?? []).filter(
    (row) => row.document !== null && !isRead(row, by) && !isOthers(row, by),
  );
});

/** Files are being added or read, or will be as soon as they can. */
export const works = computed(
  () =>
    coming.value > 0 ||
    progress.value !== null ||
    (wanted.value && mark.value !== null && unread.value.length > 0 && !elsewhere.value),
);

/** Documents in which passages can be found now. */
export const searchable = computed(() => {
  const by = mark.value;
  if (by === null) return [];
  return (rows.value ?? []).filter((row) => row.done > 0 && !isOthers(row, by));
});

/** One call of the engine at a time: a question comes between two parts of the reading. */
let turn: Promise<unknown> = Promise.resolve();
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work, work);
  turn = mine.catch(() => {});
  return mine;
}

/** Reads what is kept, and begins to wait for what is to be read. */
export function startFind(): void {
  void startDocuments();
  effect(() => {
    const can = wanted.value && mark.value !== null && !busy.value && !elsewhere.value;
    if (can && unread.value.length > 0 && coming.value === 0) queueMicrotask(read);
  });
}

/** Adds files, and reads them as soon as there is a model for it. */
export async function addFiles(files: readonly File[]): Promise<void> {
  await add(files.filter((file) => !isHidden(file)));
  wanted.value = true;
}

/** Files and folders that were dropped. */
export async function addDropped(
  files: readonly File[],
  handles: Promise<readonly (FileSystemHandle | null)[]>,
): Promise<void> {
  const folders = (await handles).filter(
    (one): one is FileSystemDirectoryHandle => one?.kind === 'directory',
  );
  // A folder is among the files as well, as one that can't be read.
  const names = new Set(folders.map(({ name }) => name));
  const single = files.filter(({ name }) => !names.has(name));
  await addFiles([...single, ...(await filesIn(folders).catch(() => []))]);
}

export function goOn(): void {
  wanted.value = true;
}

/** Reads a document that another model has read. */
export function readAgain(id: string): void {
  if (mark.peek() === null) return;
  prepare(id, mark.peek() as Mark);
  wanted.value = true;
}

export function stopReading(): void {
  wanted.value = false;
  stop();
}

/** Waits for the other tabs, then reads. */
async function withLock(work: () => Promise<void>): Promise<void> {
  const locks = (globalThis.navigator as Navigator | undefined)?.locks;
  if (locks === undefined) return work();
  await locks.request(LOCK, { ifAvailable: true }, async (lock) => {
    if (lock !== null) return work();
    elsewhere.value = true;
    // When the other tab has ended, what it has read is here as well.
    void locks.request(LOCK, () => {}).then(() => (elsewhere.value = false));
    return undefined;
  });
}

function read(): void {
  const begins = wanted.peek() && mark.peek() !== null && !busy.peek() && !elsewhere.peek();
  if (!begins || unread.peek().length === 0) return;
  void begin((signal) =>
    withLock(async () => {
      const outcome = await withEngine(signal, (by) => readAll(by, signal));
      batch(() => {
        progress.value = null;
        if (outcome.kind !== 'done') wanted.value = false;
        if (outcome.kind === 'done' && unread.peek().length === 0) {
          wanted.value = false;
          announcement.value = findTexts.peek().allRead;
        }
        if (outcome.kind === 'aborted') announcement.value = findTexts.peek().stopped;
      });
    }),
  );
}

/** Reads all documents that aren't read yet. Ends early where another model waits to be used. */
async function readAll(engine: Engine, signal: AbortSignal): Promise<void> {
  const by = mark.peek();
  if (by === null) return;
  const since = performance.now();
  let made = 0;
  const tell = (): void => {
    const all = (rows.peek() ?? []).filter((row) => !isOthers(row, by) && row.document !== null);
    const total = all.reduce((n, { document }) => n + (document ? passagesOf(document) : 0), 0);
    const done = all.reduce((n, row) => n + row.done, 0);
    const seconds = (performance.now() - since) / 1000;
    const secondsLeft = made === 0 ? null : ((total - done) * seconds) / made;
    progress.value = { done, total, secondsLeft };
  };
  tell();
  for (let row = unread.peek()[0]; row !== undefined; row = unread.peek()[0]) {
    const { id } = row;
    prepare(id, by);
    let kept = performance.now();
    let changed = false;
    try {
      for (let next = nextOf(id); next.texts.length > 0; next = nextOf(id)) {
        if (loading.peek()?.step === 'waits') return;
        const { from, texts } = next;
        const options = { kind: 'document', truncate: true, signal } as const;
        const vectors = await inTurn(() => engine.embed(texts, options));
        const embeddings = vectors.map(({ embedding }) => embedding);
        fill(id, from, embeddings);
        made += texts.length;
        changed = true;
        tell();
        if (performance.now() - kept < KEEP_MS) continue;
        await keep(id);
        kept = performance.now();
      }
    } finally {
      if (changed) await keep(id);
    }
  }
}

/** The texts of its next passages, and the first one's place; none are left, or it is gone: no text. */
function nextOf(id: string): { from: number; texts: string[] } {
  const document = rowOfId(id)?.document;
  if (document == null) return { from: 0, texts: [] };
  const { text, places, done: from } = document;
  const texts: string[] = [];
  for (let at = from; at < passagesOf(document) && texts.length < AT_A_TIME; ++at)
    texts.push(text.slice(places[3 * at], places[3 * at + 1]));
  return { from, texts };
}

/** Counts the questions: an answer to an earlier one is not shown. */
let asked = 0;

/** Finds the passages that lie nearest to the question. */
export async function ask(): Promise<void> {
  const text = question.peek().trim();
  const by = mark.peek();
  if (text === '' || by === null) return;
  const mine = ++asked;
  asking.value = true;
  const answer = async (engine: Engine, signal?: AbortSignal): Promise<void> => {
    const [vector] = await inTurn(() =>
      engine.embed([text], { kind: 'query', truncate: true, ...(signal && { signal }) }),
    );
    if (mine !== asked || vector === undefined) return;
    show(text, vector.embedding, by);
  };
  try {
    // While documents are read, the question comes in between.
    const engine = progress.peek() === null ? null : currentEngine();
    if (engine !== null) await answer(engine).catch(() => {});
    else if (!busy.peek()) await begin((signal) => asAnswer(signal, answer));
  } finally {
    if (mine === asked) asking.value = false;
  }
}

async function asAnswer(
  signal: AbortSignal,
  answer: (engine: Engine, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await withEngine(signal, (engine) => answer(engine, signal));
}

function show(text: string, vector: Float32Array, by: Mark): void {
  const documents = searchable
    .peek()
    .flatMap(({ id, document }) => (document === null ? [] : [[id, document] as const]));
  const hits = rank(vector, by, documents, MOST_HITS);
  batch(() => {
    found.value = { question: text, hits };
    announcement.value = findTexts.peek().found(hits.length, text);
  });
}

/** Whether the engine is held by something else than this room. */
export const held = computed(() => busy.value && progress.value === null && !asking.value);
export const stopping = computed(() => run.value === 'stopping');
