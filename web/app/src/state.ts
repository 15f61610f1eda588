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
import { tokens } from './format';
import { bothFit } from './memory';
import { DEFAULT_PROMPT, parseModelAddress, readFragment, writeFragment } from './fragment';
import { DEFAULTS, type Settings } from './settings';

export type Source =
  { kind: 'bundled' } | { kind: 'address'; url: string } | { kind: 'file'; file: File };

interface Wanted {
  source: Source;
  /** The threads that were asked for when it was loaded. */
  threads: number | null;
}

export interface Model extends Wanted {
  info: ModelInfo;
}

/** Where a load was asked for, and so where it shows. */
export type Place = 'composer' | 'panel' | 'threads';

export interface Loading {
  source: Source;
  place: Place;
  progress: LoadProgress | null;
  /** The header is understood: a prompt is taken. */
  understood: boolean;
  /** The model before, on its way back after a load that came to nothing. */
  back: boolean;
}

/** A model that a link names. Its server is asked for nothing until the reader says so. */
export interface Offer {
  url: string;
  /** Whether the reader has let the page ask. */
  asked: boolean;
  info: ModelInfo | null;
  failure: Failure | null;
}

export interface Problem extends Failure {
  /** What the button in the message does, where there is one. */
  retry: Source | null;
  /** What else went wrong on the way back. */
  also: string;
}

export type Run = 'idle' | 'waiting' | 'reading' | 'writing' | 'stopping';

const BUNDLED_URL = new URL('models/stories-q8_0.gguf', document.baseURI).href;
export const BUNDLED: Source = { kind: 'bundled' };

export const isolated = window.crossOriginIsolated;
/** Whether there is memory that threads can share: some browsers have none on isolated pages either. */
export const sharing = isolated && typeof SharedArrayBuffer === 'function';
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
/** Whether Write can come to anything: there is a model, or one is on its way. */
export const writable = computed(() => model.value !== null || loading.value !== null);

/** What writes: the model that is shown. */
let engine: Engine | null = null;
/**
 * What a load that comes to nothing goes back to: the last model that was whole, or the first one that was asked for.
 * No engine: it had to be let go, or never came.
 */
let before: { wanted: Wanted; model: Model | null; engine: Engine | null } | null = null;
let loadAbort: AbortController | null = null;
let runAbort: AbortController | null = null;
let offerAbort: AbortController | null = null;
/** Settles when the load under way has ended, well or not. */
let loadEnd: Promise<void> = Promise.resolve();
let runEnd: Promise<void> = Promise.resolve();

/** Where a model is fetched from; undefined for a file. */
function addressOf(source: Source): string | undefined {
  if (source.kind === 'file') return undefined;
  return source.kind === 'bundled' ? BUNDLED_URL : source.url;
}

function inputOf(source: Source): File | string {
  return source.kind === 'file'
    ? source.file
    : source.kind === 'bundled'
      ? BUNDLED_URL
      : source.url;
}

export function sourceName(source: Source): string {
  const input = inputOf(source);
  if (typeof input !== 'string') return input.name;
  const url = new URL(input);
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

/** Loads a model in place of the one there is. One that can't be used, or is cancelled, leaves the old one in place. */
export function open(source: Source, place: Place = 'composer'): Promise<void> {
  loadAbort?.abort();
  const abort = new AbortController();
  loadAbort = abort;
  loadEnd = loadEnd.then(() => load(source, place, abort));
  return loadEnd;
}

async function load(source: Source, place: Place, abort: AbortController): Promise<void> {
  let current = abort;
  try {
    await replace(source, place, abort.signal);
  } catch (error) {
    // Superseded: what comes next goes back, if it has to.
    if (loadAbort !== abort) return;
    if (abort.signal.aborted) announcement.value = 'Loading was cancelled';
    else fail(error, source);
    current = loadAbort = new AbortController();
    await comeBack(place, current.signal);
  } finally {
    if (loadAbort === current) {
      loadAbort = null;
      loading.value = null;
    }
  }
}

async function replace(source: Source, place: Place, signal: AbortSignal): Promise<void> {
  // Cancelled while the load before it ended
  signal.throwIfAborted();
  const { threads } = settings.value;
  batch(() => {
    problem.value = null;
    loading.value = { source, place, progress: null, understood: false, back: false };
    announcement.value = `Loading ${sourceName(source)}`;
  });
  before ??= { wanted: { source, threads }, model: null, engine: null };
  if (before.engine !== null) {
    const info = await Engine.probe(inputOf(source), { signal, threads: threads ?? undefined });
    if (info.error) throw libraryError(info.error);
    await interrupt();
    const held = before.engine?.stats.heapBytes ?? 0;
    if (!bothFit(info.memory?.total ?? 0, held, deviceMemory())) await letGo();
  }
  await bring({ source, threads }, signal);
}

/** In GiB, rounded; not every browser tells. */
function deviceMemory(): number | undefined {
  return (navigator as Navigator & { deviceMemory?: number }).deviceMemory;
}

/** Loads a model until it is whole. Where that fails, what was kept is shown again. */
async function bring(wanted: Wanted, signal: AbortSignal): Promise<void> {
  let loaded: Engine | null = null;
  try {
    loaded = await Engine.load(inputOf(wanted.source), {
      signal,
      threads: wanted.threads ?? undefined,
      onProgress: (progress) => {
        if (signal.aborted || loading.value === null) return;
        loading.value = { ...loading.value, progress };
        if (engine !== null && engine === loaded) stats.value = engine.stats;
      },
    });
    const arrived: Model = { ...wanted, info: loaded.info };
    show(loaded, arrived);
    if (loading.value !== null) loading.value = { ...loading.value, understood: true };
    await loaded.ready;
    const old = before?.engine;
    before = { wanted, model: arrived, engine: loaded };
    stats.value = loaded.stats;
    announcement.value = `${modelName(arrived)} is ready`;
    await old?.close();
  } catch (error) {
    if (loading.value !== null) loading.value = { ...loading.value, understood: false };
    if (loaded !== null && engine === loaded) show(before?.engine ?? null, before?.model ?? null);
    await loaded?.close();
    throw error;
  }
}

/** Sets what writes, and what is shown of it. */
function show(by: Engine | null, shown: Model | null): void {
  batch(() => {
    engine = by;
    model.value = by === null ? null : shown;
    stats.value = by?.stats ?? null;
  });
}

/** Gives back the memory of the model there is; `before` remembers which it was. */
async function letGo(): Promise<void> {
  const old = engine;
  if (before !== null) before = { ...before, engine: null };
  show(null, null);
  await old?.close();
}

/** After a load that came to nothing: loads the model before again, where it isn't there any more. */
async function comeBack(place: Place, signal: AbortSignal): Promise<void> {
  if (before === null || before.engine !== null) return;
  const { wanted, model: known } = before;
  // The model that was asked for first has failed: there is none to go back to.
  if (known === null && wanted.source === loading.value?.source) {
    before = null;
    return;
  }
  loading.value = {
    ...{ source: wanted.source, place, progress: null },
    ...{ understood: false, back: true },
  };
  try {
    await bring(wanted, signal);
  } catch (error) {
    if (signal.aborted) return;
    before = null;
    if (problem.value === null) {
      fail(error, wanted.source);
      return;
    }
    const { message } = explain(error, addressOf(wanted.source));
    const name = known === null ? sourceName(wanted.source) : modelName(known);
    problem.value = { ...problem.value, also: `${name} could not be loaded either. ${message}` };
  }
}

export function cancelLoading(): void {
  // A model on its way back is all there will be, and a second press was meant for the first load.
  if (loading.value?.back !== true) loadAbort?.abort();
}

/** Tells of an error; `source` is what to load again, where that may help. */
function fail(error: unknown, source: Source | null): void {
  const failure = explain(error, source === null ? undefined : addressOf(source));
  const lasting =
    failure.code.startsWith('unsupported') ||
    (failure.code === 'bad_file' && source?.kind === 'file');
  batch(() => {
    problem.value = { ...failure, retry: lasting ? null : source, also: '' };
    announcement.value = '';
  });
}

/** Writes on from the prompt; waits for a model that is still on its way. */
export function write(): void {
  if (busy.value || !writable.value) return;
  const abort = new AbortController();
  runAbort = abort;
  const shown = written.value;
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
  runEnd = generate(abort.signal, shown).finally(() => {
    runAbort = null;
    run.value = 'idle';
  });
}

/** Ends a text that is being written; one that still waits for a model goes on waiting. */
async function interrupt(): Promise<void> {
  if (run.value === 'waiting') return;
  stop();
  await runEnd;
}

/** Milliseconds between two looks at the figures of a text: more often nobody can read them. */
const FIGURES_MS = 200;

/** `shown`: the text to show again where nothing comes of this one. */
async function generate(signal: AbortSignal, shown: Written | null): Promise<void> {
  let by: Engine | null = null;
  try {
    do {
      run.value = 'waiting';
      by = await writer(signal);
      // A load that came to nothing took its engine along: on with the next, or with the one before.
    } while (by !== null && !(await wrote(by, signal)));
    if (by === null) written.value = shown;
    else ended(by, by.stats.finish ?? 'length');
  } catch (error) {
    if (signal.aborted) {
      if (by !== null && engine === by) ended(by, 'aborted');
      else written.value = shown;
      return;
    }
    if (written.value?.text === '') written.value = shown;
    const dead = error instanceof SluiceError && error.code === 'worker_died';
    const source = model.value?.source ?? null;
    if (dead) {
      await letGo();
      before = null;
    } else if (engine !== null) {
      stats.value = engine.stats;
    }
    fail(error, dead ? source : null);
  }
}

/** Writes a text with an engine; false where the load of this engine came to nothing, which tells so itself. */
async function wrote(by: Engine, signal: AbortSignal): Promise<boolean> {
  run.value = 'reading';
  announcement.value = 'Writing';
  const looks = setInterval(() => {
    stats.value = by.stats;
  }, FIGURES_MS);
  try {
    const { temperature, topK, topP, length, seed } = settings.value;
    const text = by.generate(prompt.value, {
      temperature,
      topK,
      topP,
      maxTokens: length,
      seed: seed ?? undefined,
      signal,
    });
    for await (const token of text) {
      const so = written.value;
      if (so === null) break;
      batch(() => {
        if (run.value === 'reading') {
          run.value = 'writing';
          stats.value = by.stats;
        }
        written.value = { ...so, text: so.text + token.text, tokens: so.tokens + 1 };
      });
    }
    return true;
  } catch (error) {
    if (!signal.aborted && engine !== by) return false;
    throw error;
  } finally {
    clearInterval(looks);
  }
}

function ended(by: Engine, finish: Finish): void {
  batch(() => {
    const so = written.value;
    if (so !== null) {
      // Before the first token there is no text that a seed could bring again.
      const seed = so.tokens > 0 ? by.stats.seed : null;
      written.value = { ...so, finish, seed, by: model.value };
      announcement.value = `${finish === 'aborted' ? 'Stopped' : 'Done'}: ${tokens(so.tokens)}`;
    }
    stats.value = by.stats;
  });
}

/** The engine to write with: that of the load under way as soon as it takes a prompt; null where there is none. */
function writer(signal: AbortSignal): Promise<Engine | null> {
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
      if (loading.value !== null && !loading.value.understood) return;
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
  closeOffer();
  void open({ kind: 'address', url }, 'panel');
  return true;
}

export function openFile(file: File, place: Place): void {
  closeOffer();
  void open({ kind: 'file', file }, place);
}

/** A link named this model. From this page's own server it is loaded; from elsewhere, asked about first. */
function openLinked(url: string): void {
  closeOffer();
  if (new URL(url).origin === location.origin) {
    void open({ kind: 'address', url });
    return;
  }
  offer.value = { url, asked: false, info: null, failure: null };
}

/** The reader agrees that the page asks the server; only the file's header is fetched. */
export async function lookAtOffer(): Promise<void> {
  const accepted = offer.value;
  if (accepted === null || accepted.asked) return;
  const { url } = accepted;
  const { signal } = (offerAbort = new AbortController());
  offer.value = { ...accepted, asked: true };
  let info: ModelInfo | null = null;
  let failure: Failure | null = null;
  try {
    info = await Engine.probe(url, { signal });
    if (info.error) failure = explain(libraryError(info.error), url);
  } catch (error) {
    failure = explain(error, url);
  }
  if (!signal.aborted) offer.value = { url, asked: true, info, failure };
}

export function acceptOffer(): void {
  const accepted = offer.value;
  if (accepted === null) return;
  closeOffer();
  void open({ kind: 'address', url: accepted.url });
}

/** Takes the question away; what the server was asked for is not waited for any more. */
export function closeOffer(): void {
  offerAbort?.abort();
  offerAbort = null;
  offer.value = null;
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
    if (next !== null) {
      openLinked(next);
      return;
    }
    closeOffer();
    const source = loading.value?.source ?? model.value?.source;
    if (source?.kind !== 'bundled') void open(BUNDLED);
  });
}
