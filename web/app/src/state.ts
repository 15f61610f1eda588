// The page's state, as signals that the components show, and the actions that change it. Only this
// file uses engines.
import { batch, computed, effect, signal } from '@preact/signals';
import {
  Engine,
  SluiceError,
  type EngineStats,
  type Finish,
  type LoadProgress,
  type ModelInfo,
  type WeightsView,
} from '@sluice/engine';
import { explain, type Failure } from './advice';
import { tokens } from './format';
import { DEFAULT_PROMPT } from './fragment';
import { bothFit } from './memory';
import { DEFAULTS, budgetOf, type Settings } from './settings';
import { addressOf, cacheOf, inputOf, sourceName, type Source } from './source';

interface Wanted extends Pick<Settings, 'threads' | 'memory'> {
  // The settings are those of the time when it was loaded.
  source: Source;
}

export interface Model extends Wanted {
  info: ModelInfo;
}

/** Where a load was started, and so where its progress is shown. */
export type Place = 'composer' | 'panel' | 'settings';

export interface Loading {
  source: Source;
  place: Place;
  progress: LoadProgress | null;
  /** The header is understood: a text can be started. */
  understood: boolean;
  /** The previous model is being loaded again, after a load that failed or was cancelled. */
  back: boolean;
  /** When it began, in milliseconds since 1970. */
  since: number;
}

/** A load that the reader has paused. */
export interface Paused {
  source: Source;
  place: Place;
  /** When the load began, in milliseconds since 1970. */
  since: number;
}

export interface Problem extends Failure {
  /** What the message's button "Try again" loads; null: there is no button. */
  retry: Source | null;
  /** Why the previous model could not be loaded again either, or ''. */
  also: string;
}

export type Run = 'idle' | 'waiting' | 'reading' | 'writing' | 'stopping';

export const isolated = window.crossOriginIsolated;
/** Whether threads can share memory. In some browsers they can't, even on isolated pages. */
export const sharing = isolated && typeof SharedArrayBuffer === 'function';
export const cores = Math.min(64, Math.max(1, navigator.hardwareConcurrency || 1));

/** Whether this browser has a place for models. In private windows it may still refuse. */
export const canKeep = typeof navigator.storage?.getDirectory === 'function';

export const prompt = signal(DEFAULT_PROMPT);
export const settings = signal<Settings>({ ...DEFAULTS });
export const model = signal<Model | null>(null);
export const loading = signal<Loading | null>(null);
export const paused = signal<Paused | null>(null);
export const run = signal<Run>('idle');
export const stats = signal<EngineStats | null>(null);
export const problem = signal<Problem | null>(null);
/** The weights of the model that is shown or being loaded, as they are in memory. */
export const weights = signal<WeightsView | null>(null);

export interface Written {
  prompt: string;
  text: string;
  tokens: number;
  /** How it ended; null while it is being written, or if it failed. */
  finish: Finish | null;
  /** Its seed and model, set when it has ended. (Another model may be loaded later.) */
  seed: number | null;
  by: Model | null;
}

/** The text that is shown: the prompt it continues, what came so far, and how it ended. */
export const written = signal<Written | null>(null);
/** Read out by screen readers. */
export const announcement = signal('');

export const busy = computed(() => run.value !== 'idle');
/** Whether Write can work: a model is loaded or is being loaded. */
export const writable = computed(() => model.value !== null || loading.value !== null);

/** The engine of the model that is shown. */
let engine: Engine | null = null;
/** What each engine last said of its weights. */
const views = new WeakMap<Engine, WeightsView>();
/**
 * What to return to if a load fails or is cancelled: the last model that was loaded completely, or else the first one
 * that was wanted. Without an engine it was closed, or has never been loaded.
 */
let before: { wanted: Wanted; model: Model | null; engine: Engine | null } | null = null;
let loadAbort: AbortController | null = null;
let runAbort: AbortController | null = null;
/** Settles when the current load has ended, successful or not. */
let loadEnd: Promise<void> = Promise.resolve();
let runEnd: Promise<void> = Promise.resolve();

export function modelName(m: Model): string {
  return m.info.name || sourceName(m.source).replace(/\.gguf$/i, '');
}

export function libraryError(data: { code: SluiceError['code']; message: string }): SluiceError {
  return new SluiceError(data.code, data.message);
}

/** Loads a model in place of the present one. If that fails or is cancelled, returns to the present one. */
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
    // Another load has taken over, and returns to the previous model if it must.
    if (loadAbort !== abort) return;
    if (abort.signal.aborted)
      announcement.value = paused.value === null ? 'Loading was cancelled' : 'Paused';
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
  // Cancelled while the load before it was ending
  signal.throwIfAborted();
  const { threads, memory } = settings.value;
  const wanted: Wanted = { source, threads, memory };
  batch(() => {
    problem.value = null;
    paused.value = null;
    loading.value = {
      ...{ source, place, progress: null },
      ...{ understood: false, back: false, since: Date.now() },
    };
    announcement.value = `Loading ${sourceName(source)}`;
  });
  before ??= { wanted, model: null, engine: null };
  await bring(wanted, signal);
  paused.value = null;
}

/** In GiB, rounded; undefined in some browsers. */
function deviceMemory(): number | undefined {
  return (navigator as Navigator & { deviceMemory?: number }).deviceMemory;
}

/** Loads a model completely. If that fails, shows the previous one again, if its engine is still there. */
async function bring(wanted: Wanted, signal: AbortSignal): Promise<void> {
  let loaded: Engine | null = null;
  let latest: WeightsView | null = null;
  const begin = (): Promise<Engine> =>
    Engine.load(inputOf(wanted.source), {
      signal,
      threads: wanted.threads ?? undefined,
      memoryBudget: budgetOf(wanted),
      cache: cacheOf(wanted.source),
      onProgress: (progress) => {
        if (signal.aborted || loading.value === null) return;
        loading.value = { ...loading.value, progress };
        if (engine !== null && engine === loaded) stats.value = engine.stats;
      },
      onWeights: (view) => {
        latest = view;
        if (loaded !== null) views.set(loaded, view);
        if (engine !== null && engine === loaded) weights.value = view;
      },
    });
  try {
    try {
      loaded = await begin();
    } catch (error) {
      // Perhaps there is enough memory without the previous model.
      const full = error instanceof SluiceError && error.code === 'out_of_memory';
      if (!full || engine === null || signal.aborted) throw error;
      await interrupt();
      await letGo();
      loaded = await begin();
    }
    if (latest !== null) views.set(loaded, latest);
    const arrived: Model = { ...wanted, info: loaded.info };
    if (engine !== null) {
      await interrupt();
      const { heapBytes } = engine.stats;
      if (!bothFit(loaded.info.memory?.total ?? 0, heapBytes, deviceMemory())) await letGo();
    }
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

/** Sets the engine, and what is shown of it. */
function show(by: Engine | null, shown: Model | null): void {
  batch(() => {
    engine = by;
    model.value = by === null ? null : shown;
    stats.value = by?.stats ?? null;
    weights.value = by === null ? null : (views.get(by) ?? null);
  });
}

/** Closes the present engine to free its memory. `before` still says which model it was. */
async function letGo(): Promise<void> {
  const old = engine;
  if (before !== null) before = { ...before, engine: null };
  show(null, null);
  await old?.close();
}

/** After a load that failed or was cancelled: loads the previous model again, if it was closed. */
async function comeBack(place: Place, signal: AbortSignal): Promise<void> {
  if (before === null || before.engine !== null) return;
  const { wanted, model: known } = before;
  // The very first load has failed: there is no previous model.
  if (known === null && wanted.source === loading.value?.source) {
    before = null;
    return;
  }
  loading.value = {
    ...{ source: wanted.source, place, progress: null },
    ...{ understood: false, back: true, since: Date.now() },
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

/** Whether the model that is shown was loaded with other settings than those of now. */
export const stale = computed(() => {
  const current = model.value;
  if (current === null || loading.value !== null) return false;
  const { threads, memory } = settings.value;
  return (sharing && current.threads !== threads) || current.memory !== memory;
});

export function cancelLoading(): void {
  // The previous model can't be cancelled: there is no other, and a second press was meant for the first load.
  if (loading.value?.back !== true) loadAbort?.abort();
}

/** The model that is shown is not kept on this device, for a reason that is in the notes. */
export const unkept = computed(
  () => stats.value?.notes.some((note) => note.startsWith("The model isn't kept")) ?? false,
);

/** Whether the present load can be paused: what has come stays on this device. */
export const pausable = computed(() => {
  const current = loading.value;
  if (current === null || current.back || current.source.kind !== 'address') return false;
  const shown = current.understood && unkept.value;
  return current.source.keep && canKeep && !shown;
});

/** Ends the present load, and remembers it, so that it can go on. */
export function pauseLoading(): void {
  if (loading.value === null || !pausable.value) return;
  const { source, place, since } = loading.value;
  paused.value = { source, place, since };
  loadAbort?.abort();
}

/** Shows an error. `source`: what to load again, if that may help. */
export function fail(error: unknown, source: Source | null): void {
  const failure = explain(error, source === null ? undefined : addressOf(source));
  const lasting =
    failure.code.startsWith('unsupported') ||
    (failure.code === 'bad_file' && source?.kind === 'files');
  batch(() => {
    problem.value = { ...failure, retry: lasting ? null : source, also: '' };
    announcement.value = '';
  });
}

/** Writes a text from the prompt on. Waits for a model that is being loaded. */
export function write(): void {
  if (busy.value || !writable.value) return;
  const abort = new AbortController();
  runAbort = abort;
  const shown = written.value;
  batch(() => {
    problem.value = null;
    // There the state of the text is shown now.
    if (paused.value !== null) paused.value = { ...paused.value, place: 'panel' };
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

/** Stops a text that is being written, but not one that still waits for a model. */
async function interrupt(): Promise<void> {
  if (run.value === 'waiting') return;
  stop();
  await runEnd;
}

/** Milliseconds between two updates of the figures: nobody can read faster ones. */
const FIGURES_MS = 200;

/** `shown`: the text to show again if this one stays empty. */
async function generate(signal: AbortSignal, shown: Written | null): Promise<void> {
  let by: Engine | null = null;
  try {
    do {
      run.value = 'waiting';
      by = await writer(signal);
      // If a load fails, its engine is gone: go on with the next one, or with the previous one.
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

/** Writes a text with an engine. Returns false if the load of this engine failed, which the load itself reports. */
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
      // Without a token there is no text to repeat with this seed.
      const seed = so.tokens > 0 ? by.stats.seed : null;
      written.value = { ...so, finish, seed, by: model.value };
      announcement.value = `${finish === 'aborted' ? 'Stopped' : 'Done'}: ${tokens(so.tokens)}`;
    }
    stats.value = by.stats;
  });
}

/** The engine to write with, once no load keeps it from starting a text; null if there is none. */
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
