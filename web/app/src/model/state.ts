// The model that is loaded or being loaded, as signals that the components show, and the actions that
// change it. Only this file loads and closes engines; use.ts lends the engine to texts and answers.
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import {
  Engine,
  SluiceError,
  type EngineStats,
  type LoadProgress,
  type ModelInfo,
  type Note,
  type WeightsView,
} from '@sluice/engine';
import { announcement } from '../announce';
import { canKeep, deviceMemory, sharing } from '../device';
import { busy, interrupt, run } from '../run';
import { plain } from '../plain-text';
import { followModel, settings } from '../settings/settings';
import { loadOptions, loadSettings, sameLoad, type LoadSettings } from '../settings/use';
import { t } from '../texts';
import { explain, type Failure } from './advice';
import { bothFit } from './memory';
import { MOST_NAME, type Choice } from './choice';
import { nameOf, shelfNames } from './name';
import { cacheOf, inputOf, refOf, sha256Of, sourceName, type Source } from './source';

interface Wanted extends LoadSettings {
  // The settings are those of the time when it was loaded.
  source: Source;
}

export interface Model extends Wanted {
  info: ModelInfo;
}

export interface Loading {
  source: Source;
  progress: LoadProgress | null;
  /** What the header says; null until it is read. */
  info: ModelInfo | null;
  /** What the library has to say of the model that is coming. */
  notes: readonly Note[];
  /** It is the model that is shown: a text is written with it. Else that is another one, or there is none. */
  shown: boolean;
  /** The model is ready, and what doesn't stay in memory is still being downloaded. */
  rest: boolean;
  /** The model is ready, and waits until the text is written that the present one writes. */
  waits: boolean;
  /** The previous model is being loaded again, after a load that failed or was cancelled. */
  back: boolean;
  /** When it began, in milliseconds since 1970. */
  since: number;
}

/** A load that the reader has paused. */
export interface Paused {
  source: Source;
  /** How far it was; null after a reload. */
  progress: LoadProgress | null;
}

export interface Problem extends Failure {
  /** What the message's button "Try again" loads; null: there is no button. */
  retry: Source | null;
  /** Of the file or address that it is about; ''. */
  name: string;
  /** The previous model could not be loaded again either: its name, and why. */
  also: { name: string; why: Failure } | null;
}

export const model = signal<Model | null>(null);
export const loading = signal<Loading | null>(null);
export const paused = signal<Paused | null>(null);
/** The model of the last visit, while the page looks whether it is still there. */
export const sought = signal<Choice | null>(null);
export const stats = signal<EngineStats | null>(null);
export const problem = signal<Problem | null>(null);
/** The weights of the model that is coming, or else of the one that is shown, as they are in memory. */
export const weights = signal<WeightsView | null>(null);

/** The model can be used, and the rest of it is still being downloaded. */
export const resting = computed(() => loading.value?.rest === true);
/** Whether Write can work: a model is loaded or is being loaded. */
export const writable = computed(
  () => model.value !== null || loading.value !== null || sought.value !== null,
);

const shownInfo = computed(() => model.value?.info ?? null);
effect(() => {
  const info = shownInfo.value;
  if (info !== null) untracked(() => followModel(info.sampling ?? {}));
});

/** The engine of the model that is shown. */
let engine: Engine | null = null;
/** The engine of a model that is coming while another one is shown. */
let next: Engine | null = null;
/** What each engine last said of its weights. */
const views = new WeakMap<Engine, WeightsView>();
/**
 * What to return to if a load fails or is cancelled: the last model that was loaded completely, or else the first one
 * that was wanted. Without an engine it was closed, or has never been loaded.
 */
let before: { wanted: Wanted; model: Model | null; engine: Engine | null } | null = null;
let loadAbort: AbortController | null = null;
/** Settles when the current load has ended, successful or not. */
let loadEnd: Promise<void> = Promise.resolve();

/** As it names itself: what is kept of it has this name. */
export function modelName(m: Model): string {
  const name = m.info.name || sourceName(m.source).replace(/\.gguf$/i, '');
  return plain(name.slice(0, MOST_NAME));
}

/** What the file is called. */
function fileName(source: Source): string {
  return plain(sourceName(source).slice(0, MOST_NAME));
}

/** As the reader sees it. */
export function shownName({ source, info }: Model): string {
  return nameOf(source, info);
}

/** Loads a model in place of the present one. If that fails or is cancelled, returns to the present one. */
export function open(source: Source): Promise<void> {
  loadAbort?.abort();
  const abort = new AbortController();
  loadAbort = abort;
  // At once: what is asked from now on waits for this model.
  loading.value ??= beginning(source, false);
  loadEnd = loadEnd.then(() => load(source, abort));
  return loadEnd;
}

async function load(source: Source, abort: AbortController): Promise<void> {
  let current = abort;
  try {
    await replace(source, abort.signal);
  } catch (error) {
    // Another load has taken over, and returns to the previous model if it must.
    if (loadAbort !== abort) return;
    const { said } = t.peek().model;
    if (abort.signal.aborted)
      announcement.value = paused.value === null ? said.cancelled : said.paused;
    else fail(error, source);
    current = loadAbort = new AbortController();
    await comeBack(current.signal);
  } finally {
    if (loadAbort === current) {
      loadAbort = null;
      loading.value = null;
    }
  }
}

function beginning(source: Source, back: boolean): Loading {
  return {
    ...{ source, back, progress: null, info: null, notes: [] },
    ...{ shown: false, rest: false, waits: false, since: Date.now() },
  };
}

async function replace(source: Source, signal: AbortSignal): Promise<void> {
  // Cancelled while the load before it was ending
  signal.throwIfAborted();
  const wanted: Wanted = { source, ...loadSettings(settings.value) };
  // The page itself opens the model of the last visit, or its own: what the reader has paused stays.
  const own = sought.value !== null || (before === null && source.kind === 'bundled');
  batch(() => {
    problem.value = null;
    if (!own) paused.value = null;
    sought.value = null;
    loading.value = beginning(source, false);
    announcement.value = t.peek().model.said.loading(nameOf(source));
  });
  before ??= { wanted, model: null, engine: null };
  await bring(wanted, signal);
  if (!own) paused.value = null;
}

/** The model is ready. Until its rest has come, the load goes on. */
function toTheRest(name: string): void {
  if (loading.value === null || loading.value.progress?.phase === 'ready') return;
  loading.value = { ...loading.value, rest: true };
  announcement.value = t.peek().model.said.rest(name);
}

/**
 * Loads a model completely. Where both fit, the present one can be used until this one is ready; else this one takes its
 * place when its header is read. If that fails, shows the previous one again, if its engine is still there.
 */
async function bring(wanted: Wanted, signal: AbortSignal): Promise<void> {
  let loaded: Engine | null = null;
  let latest: WeightsView | null = null;
  // A signal ends a load only until it is ready.
  const end = (): void => void loaded?.close();
  const begin = (): Promise<Engine> =>
    Engine.load(inputOf(wanted.source), {
      signal,
      ...loadOptions(wanted),
      cache: cacheOf(wanted.source),
      sha256: sha256Of(wanted.source),
      onProgress: (progress) => {
        if (signal.aborted || loading.value === null) return;
        loading.value = { ...loading.value, progress, notes: loaded?.stats.notes ?? [] };
        if (engine !== null && engine === loaded) stats.value = engine.stats;
      },
      onWeights: (view) => {
        latest = view;
        if (loaded === null) return;
        views.set(loaded, view);
        if (loaded === (next ?? engine)) weights.value = view;
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
    await makeRoom(loaded.info);
    takeInfo(loaded);
    if (engine === null) present(loaded, arrived);
    await loaded.ready;
    signal.throwIfAborted();
    signal.addEventListener('abort', end);
    if (engine !== loaded) await takeOver(loaded, arrived, signal);
    toTheRest(shownName(arrived));
    await loaded.arrived;
    // Paused or cancelled in this moment, its engine is closed.
    signal.throwIfAborted();
    const old = before?.engine;
    before = { wanted, model: arrived, engine: loaded };
    stats.value = loaded.stats;
    announcement.value = t.peek().model.said.ready(shownName(arrived));
    await old?.close();
  } catch (error) {
    if (loading.value !== null)
      loading.value = { ...loading.value, info: null, shown: false, rest: false, waits: false };
    if (loaded !== null && engine === loaded) show(before?.engine ?? null, before?.model ?? null);
    if (loaded !== null && next === loaded) {
      next = null;
      show(engine, model.value);
    }
    await loaded?.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** The header is read. Until the model is shown, the picture is of its weights nevertheless. */
function takeInfo(by: Engine): void {
  batch(() => {
    if (loading.value !== null)
      loading.value = { ...loading.value, info: by.info, notes: by.stats.notes };
    if (engine === null) return;
    next = by;
    weights.value = views.get(by) ?? null;
  });
}

/** Closes the present engine if there isn't memory for it and a model with this header. */
async function makeRoom(info: ModelInfo): Promise<void> {
  if (engine === null) return;
  const { heapBytes } = engine.stats;
  if (bothFit(info.memory?.total ?? 0, heapBytes, deviceMemory())) return;
  await interrupt();
  await letGo();
}

/** Shows a model that is ready, as soon as the present one writes nothing. Rejects when `signal` aborts. */
function takeOver(by: Engine, arrived: Model, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let done = false;
    const onAbort = (): void => settle(() => reject(signal.reason as Error));
    const settle = (end: () => void): void => {
      if (done) return;
      done = true;
      signal.removeEventListener('abort', onAbort);
      // Not within the effect's own first run
      queueMicrotask(() => dispose());
      end();
    };
    signal.addEventListener('abort', onAbort);
    const dispose = effect(() => {
      // One that waits, waits for this model.
      const waits = busy.value && run.value !== 'waiting';
      untracked(() => {
        if (done) return;
        if (waits) {
          if (loading.value !== null) loading.value = { ...loading.value, waits };
          return;
        }
        present(by, arrived);
        settle(resolve);
      });
    });
  });
}

/** Shows the model that is coming. */
function present(by: Engine, arrived: Model): void {
  batch(() => {
    if (loading.value !== null) loading.value = { ...loading.value, shown: true, waits: false };
    show(by, arrived);
  });
}

/** Sets the engine, and what is shown of it. */
function show(by: Engine | null, shown: Model | null): void {
  batch(() => {
    engine = by;
    if (next === by) next = null;
    model.value = by === null ? null : shown;
    stats.value = by?.stats ?? null;
    const pictured = next ?? by;
    weights.value = pictured === null ? null : (views.get(pictured) ?? null);
  });
}

/** The engine of the model that is shown; null if there is none. */
export function currentEngine(): Engine | null {
  return engine;
}

/** Whether this is the engine of the model that is shown. */
export function isShown(by: Engine): boolean {
  return engine === by;
}

/** Shows the figures of the present engine as they are now. */
export function refreshStats(): void {
  if (engine !== null) stats.value = engine.stats;
}

/** After the engine has stopped working: closes what is left of it, and forgets the model to return to. */
export async function buryEngine(): Promise<void> {
  await letGo();
  before = null;
}

/** Closes the present engine to free its memory. `before` still says which model it was. */
async function letGo(): Promise<void> {
  const old = engine;
  if (before !== null) before = { ...before, engine: null };
  show(null, null);
  await old?.close();
}

/** After a load that failed or was cancelled: loads the previous model again, if it was closed. */
async function comeBack(signal: AbortSignal): Promise<void> {
  if (before === null || before.engine !== null) return;
  const { wanted, model: known } = before;
  // The very first load has failed: there is no previous model.
  if (known === null && wanted.source === loading.value?.source) {
    before = null;
    return;
  }
  loading.value = beginning(wanted.source, true);
  try {
    await bring(wanted, signal);
  } catch (error) {
    if (signal.aborted) return;
    before = null;
    if (problem.value === null) {
      fail(error, wanted.source);
      return;
    }
    const name = nameOf(wanted.source, known?.info);
    problem.value = { ...problem.value, also: { name, why: explain(error) } };
  }
}

/** Whether the model that is shown was loaded with other settings than those of now. */
export const stale = computed(() => {
  const current = model.value;
  if (current === null || loading.value !== null) return false;
  return !sameLoad(current, settings.value, sharing);
});

export function cancelLoading(): void {
  // The previous model can't be cancelled: there is no other, and a second press was meant for the first load.
  if (loading.value?.back !== true) loadAbort?.abort();
}

function sayUnkept(notes: readonly Note[]): boolean {
  return notes.some(({ code }) => code === 'model_not_kept');
}

/** The model that is shown is not kept on this device, for a reason that is in the notes. */
export const unkept = computed(() => sayUnkept(stats.value?.notes ?? []));

/** Whether the present load can be paused: what has come stays on this device. */
export const pausable = computed(() => {
  const current = loading.value;
  if (current === null || current.back || current.source.kind !== 'address') return false;
  return current.source.keep && canKeep && !sayUnkept(current.notes);
});

/** Ends the present load, and remembers it, so that it can go on. */
export function pauseLoading(): void {
  if (loading.value === null || !pausable.value) return;
  const { source, progress } = loading.value;
  paused.value = { source, progress };
  loadAbort?.abort();
}

/** Shows an error. `source`: what to load again, if that may help. */
export function fail(error: unknown, source: Source | null): void {
  tell(explain(error), source);
}

/** The same for what the page itself found. */
export function tell(failure: Failure, source: Source | null): void {
  const lasting =
    failure.code.startsWith('unsupported') ||
    (failure.code === 'bad_file' && source?.kind === 'files');
  const name = source === null ? '' : (shelfNames.peek().get(refOf(source)) ?? fileName(source));
  batch(() => {
    problem.value = { ...failure, retry: lasting ? null : source, name, also: null };
    announcement.value = '';
  });
}

/**
 * For withEngine(): the engine of the model that the reader has chosen, once that can be used. A pause of its load is waited
 * for. Null: it did not come, or there is none; another one is no substitute.
 */
export function chosenModel(): (signal: AbortSignal) => Promise<Engine | null> {
  const chosen = (): Source | undefined => loading.value?.source ?? model.value?.source;
  let wanted = chosen();
  return async (signal) => {
    await until(signal, () => {
      const coming = loading.value;
      if (wanted !== undefined && paused.value?.source === wanted) return false;
      if (coming === null) return sought.value === null;
      // The load has failed, and the model before it comes back: perhaps that is another one.
      if (coming.back) return coming.source !== wanted;
      wanted = coming.source;
      return coming.shown;
    });
    wanted ??= chosen();
    return model.value?.source === wanted ? engine : null;
  };
}

/** The engine to use, once no load keeps it from starting; null if there is none. Rejects when `signal` aborts. */
export async function engineWhenReady(signal: AbortSignal): Promise<Engine | null> {
  await until(
    signal,
    () => model.value !== null || (loading.value === null && sought.value === null),
  );
  return engine;
}

/** Waits until `holds`, which reads signals. Rejects when `signal` aborts. */
function until(signal: AbortSignal, holds: () => boolean): Promise<void> {
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
      if (!holds()) return;
      queueMicrotask(() => {
        settle();
        resolve();
      });
    });
  });
}
