// What the page knows and does: signals that the components show, and the few actions that change
// them. The only place that talks to the library.
import { batch, computed, effect, signal } from '@preact/signals';
import {
  Engine,
  SluiceError,
  type EngineStats,
  type Finish,
  type LoadProgress,
  type ModelInfo,
} from '@sluice/engine';
import { explain, type Failure } from './advice';
import { count } from './format';
import { DEFAULT_PROMPT, parseModelAddress, readFragment, writeFragment } from './fragment';
import { DEFAULTS, type Settings } from './settings';

export type Source =
  { kind: 'bundled' } | { kind: 'address'; url: string } | { kind: 'file'; file: File };

export interface Model {
  source: Source;
  info: ModelInfo;
  /** The threads that were asked for when it was loaded. */
  threads: number | null;
}

export interface Loading {
  source: Source;
  progress: LoadProgress | null;
}

/** A model that a link names and that nobody has agreed to yet. */
export interface Offer {
  url: string;
  info: ModelInfo | null;
  failure: Failure | null;
}

export interface Problem extends Failure {
  /** What the button in the message does, where there is one. */
  retry: Source | null;
}

export type Run = 'idle' | 'waiting' | 'reading' | 'writing' | 'stopping';

const BUNDLED_URL = new URL('models/stories-q8_0.gguf', document.baseURI).href;
export const BUNDLED: Source = { kind: 'bundled' };

export const isolated = window.crossOriginIsolated;
export const cores = Math.min(64, Math.max(1, navigator.hardwareConcurrency || 1));

export const prompt = signal(DEFAULT_PROMPT);
export const settings = signal<Settings>({ ...DEFAULTS });
export const model = signal<Model | null>(null);
export const loading = signal<Loading | null>(null);
export const offer = signal<Offer | null>(null);
export const run = signal<Run>('idle');
export const stats = signal<EngineStats | null>(null);
export const problem = signal<Problem | null>(null);
/** What of the address could not be used. */
export const ignored = signal<string[]>([]);

export interface Written {
  prompt: string;
  text: string;
  tokens: number;
  /** How it ended; null while it is being written, and where it broke off. */
  finish: Finish | null;
  /** The seed and the model it came from, once it has ended: another model may be loaded since. */
  seed: number | null;
  by: Model | null;
}

/** The text that is shown: the prompt it continues, what came so far, and how it ended. */
export const written = signal<Written | null>(null);
/** Said to screen readers, politely. */
export const announcement = signal('');

export const busy = computed(() => run.value !== 'idle');

let engine: Engine | null = null;
let loadAbort: AbortController | null = null;
let runAbort: AbortController | null = null;
/** Settles when the load under way has ended, well or not. */
let loadEnd: Promise<void> = Promise.resolve();
let runEnd: Promise<void> = Promise.resolve();

/** Where a model that is no file is fetched from. */
function sourceUrl(source: Exclude<Source, { kind: 'file' }>): string {
  return source.kind === 'bundled' ? BUNDLED_URL : source.url;
}

export function sourceName(source: Source): string {
  if (source.kind === 'file') return source.file.name;
  const url = new URL(sourceUrl(source));
  const last = url.pathname.split('/').filter(Boolean).at(-1) ?? url.host;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

export function modelName(m: Model): string {
  return m.info.name || sourceName(m.source).replace(/\.gguf$/i, '');
}

function libraryError(data: { code: SluiceError['code']; message: string }): SluiceError {
  return new SluiceError(data.code, data.message);
}

/** Loads a model in place of the one there is. One that can't be used leaves the old one in place. */
export function open(source: Source): Promise<void> {
  loadAbort?.abort();
  const abort = new AbortController();
  loadAbort = abort;
  const before = loadEnd;
  const end = before.then(() => load(source, abort));
  loadEnd = end;
  return end;
}

async function load(source: Source, abort: AbortController): Promise<void> {
  if (abort.signal.aborted) return;
  const { signal } = abort;
  const threads = settings.value.threads;
  const input = source.kind === 'file' ? source.file : sourceUrl(source);
  batch(() => {
    problem.value = null;
    loading.value = { source, progress: null };
    announcement.value = `Loading ${sourceName(source)}`;
  });
  let loaded: Engine | null = null;
  try {
    if (engine !== null) {
      const info = await Engine.probe(input, { signal, threads: threads ?? undefined });
      if (info.error) throw libraryError(info.error);
      // Only now is the old one let go: two models at once may be more than the memory holds.
      stop();
      await runEnd;
      await closeEngine();
    }
    loaded = await Engine.load(input, {
      signal,
      threads: threads ?? undefined,
      onProgress: (progress) => {
        if (!signal.aborted) loading.value = { source, progress };
      },
    });
    engine = loaded;
    const arrived: Model = { source, info: loaded.info, threads };
    model.value = arrived;
    stats.value = loaded.stats;
    await loaded.ready;
    stats.value = loaded.stats;
    announcement.value = `${modelName(arrived)} is ready`;
  } catch (error) {
    if (loaded !== null) {
      if (engine === loaded) await closeEngine();
      else await loaded.close();
    }
    if (signal.aborted) {
      announcement.value = 'Loading was cancelled';
    } else {
      fail(error, source);
    }
  } finally {
    if (loadAbort === abort) {
      loadAbort = null;
      loading.value = null;
    }
  }
}

async function closeEngine(): Promise<void> {
  const old = engine;
  batch(() => {
    engine = null;
    model.value = null;
    stats.value = null;
  });
  await old?.close();
}

export function cancelLoading(): void {
  loadAbort?.abort();
}

/** Tells of an error; `source` is what to load again, where that may help. */
function fail(error: unknown, source: Source | null): void {
  const url = source === null || source.kind === 'file' ? undefined : sourceUrl(source);
  const failure = explain(error, url);
  const lasting =
    failure.code.startsWith('unsupported') ||
    (failure.code === 'bad_file' && source?.kind === 'file');
  batch(() => {
    problem.value = { ...failure, retry: lasting ? null : source };
    announcement.value = '';
  });
}

/** Writes on from the prompt; waits for a model that is still on its way. */
export function write(): void {
  if (busy.value) return;
  const abort = new AbortController();
  runAbort = abort;
  const before = written.value;
  batch(() => {
    problem.value = null;
    run.value = 'waiting';
    written.value = {
      prompt: prompt.value,
      text: '',
      tokens: 0,
      finish: null,
      seed: null,
      by: null,
    };
  });
  runEnd = generate(abort.signal, before).finally(() => {
    runAbort = null;
    run.value = 'idle';
  });
}

/** `before`: the text to show again where nothing comes of this one. */
async function generate(signal: AbortSignal, before: Written | null): Promise<void> {
  const source = loading.value?.source ?? model.value?.source ?? null;
  try {
    const current = engine ?? (await arriving(signal));
    if (current === null) {
      written.value = before;
      return;
    }
    run.value = 'reading';
    announcement.value = 'Writing';
    const { temperature, topK, topP, length, seed } = settings.value;
    const tokens = current.generate(prompt.value, {
      temperature,
      topK,
      topP,
      maxTokens: length,
      seed: seed ?? undefined,
      signal,
    });
    for await (const token of tokens) {
      const so = written.value;
      if (so === null) break;
      batch(() => {
        if (run.value === 'reading') run.value = 'writing';
        written.value = { ...so, text: so.text + token.text, tokens: so.tokens + 1 };
      });
    }
    ended(current, current.stats.finish ?? 'length');
  } catch (error) {
    if (signal.aborted) {
      if (engine !== null) ended(engine, 'aborted');
      else written.value = before;
      return;
    }
    const dead = error instanceof SluiceError && error.code === 'worker_died';
    if (dead) await closeEngine();
    else if (engine !== null) stats.value = engine.stats;
    if (written.value?.text === '') written.value = before;
    fail(error, dead ? source : null);
  }
}

function ended(by: Engine, finish: Finish): void {
  batch(() => {
    const so = written.value;
    if (so !== null) {
      // Before the first token the engine still names the seed of the text before.
      const seed = so.tokens > 0 ? by.stats.seed : null;
      written.value = { ...so, finish, seed, by: model.value };
      announcement.value = `${finish === 'aborted' ? 'Stopped' : 'Done'}: ${count(so.tokens)} tokens`;
    }
    stats.value = by.stats;
  });
}

/** The engine of the load under way, as soon as it can take a prompt; null when that load fails. */
function arriving(signal: AbortSignal): Promise<Engine | null> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      dispose();
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      settle();
      reject(new SluiceError('aborted', 'stopped by the reader'));
    };
    signal.addEventListener('abort', onAbort);
    const dispose = effect(() => {
      const there = model.value !== null;
      const over = loading.value === null;
      if (!there && !over) return;
      queueMicrotask(() => {
        settle();
        resolve(engine);
      });
    });
  });
}

export function stop(): void {
  if (runAbort === null) return;
  run.value = 'stopping';
  runAbort.abort();
}

/** Takes a model address that someone typed, which has to be a full one; false where it is none. */
export function openAddress(text: string): boolean {
  const url = parseModelAddress(text.trim());
  if (url === undefined) return false;
  offer.value = null;
  void open({ kind: 'address', url });
  return true;
}

export function openFile(file: File): void {
  offer.value = null;
  void open({ kind: 'file', file });
}

/** A link named this model. From this page's own server it is loaded; from elsewhere, asked about. */
function openLinked(url: string): void {
  if (new URL(url).origin === location.origin) {
    void open({ kind: 'address', url });
    return;
  }
  offer.value = { url, info: null, failure: null };
  Engine.probe(url).then(
    (info) => {
      if (offer.value?.url !== url) return;
      const failure = info.error ? explain(libraryError(info.error), url) : null;
      offer.value = { url, info, failure };
    },
    (error: unknown) => {
      if (offer.value?.url === url) offer.value = { url, info: null, failure: explain(error, url) };
    },
  );
}

export function acceptOffer(): void {
  const accepted = offer.value;
  if (accepted === null) return;
  offer.value = null;
  void open({ kind: 'address', url: accepted.url });
}

function applyFragment(): string | null {
  const state = readFragment(location.hash, document.baseURI);
  batch(() => {
    prompt.value = state.prompt;
    settings.value = state.settings;
    ignored.value = state.ignored;
  });
  return state.model;
}

/** The model that the address should name: what is loaded, on its way or asked about. */
function linkedModel(): string | null {
  if (offer.value !== null) return offer.value.url;
  const source = loading.value?.source ?? model.value?.source;
  return source?.kind === 'address' ? source.url : null;
}

function keepFragment(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const fragment = writeFragment({
      prompt: prompt.value,
      model: linkedModel(),
      settings: settings.value,
    });
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (fragment === location.hash.slice(1)) return;
      try {
        history.replaceState(
          null,
          '',
          fragment === '' ? location.pathname + location.search : `#${fragment}`,
        );
      } catch {
        // Some browsers refuse when it happens too often; the next change tries again.
      }
    }, 250);
  });
}

/** Reads the address, loads the first model, and keeps the address up to date from then on. */
export function start(): void {
  const linked = applyFragment();
  const own = linked !== null && new URL(linked).origin === location.origin;
  if (!own) void open(BUNDLED);
  if (linked !== null) openLinked(linked);
  keepFragment();
  window.addEventListener('hashchange', () => {
    const next = applyFragment();
    const current = linkedModel();
    if (next === current) return;
    if (next !== null) openLinked(next);
    else if (model.value?.source.kind !== 'bundled') void open(BUNDLED);
  });
}
