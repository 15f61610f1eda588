// Loads that tests begin in a page, watch, and end at any moment. The functions run in the page; each is self-contained.
import type * as Library from '@sluice/engine';
import type { LibraryWindow } from './library';

/** How a load ended. */
export interface Outcome {
  /** Of the logits; '' if the load failed. */
  hash: string;
  /** '' if the load went well. */
  code: string;
  message: string;
  notes: Library.Note[];
  source: string;
  cachedBytes: number;
}

interface Load {
  outcome: Promise<Outcome>;
  progress: Library.LoadProgress | null;
  /** Everything that `waiting` said. */
  waited: string[];
  controller: AbortController;
  engine: Library.Engine | null;
  /** Whether the promise of `load`, or `ready`, is settled. */
  settled: boolean;
  /** The end that began when the phase `endAt` was reached. */
  ended: Promise<Ended> | null;
}

/** How a load ended that was to end. */
export interface Ended {
  /** Turns of the page's event loop until its promise was settled. */
  turns: number;
  /** Milliseconds until then. */
  ms: number;
}

type LoadsWindow = LibraryWindow & {
  load: Load;
  /** Those that the library made and has not terminated, by their names. */
  running: Map<Worker, string>;
  endLoad: (how: 'abort' | 'close') => Promise<Ended>;
};
declare const window: LoadsWindow;

/** Options that can be sent to a page. */
export type Options = Omit<Library.LoadOptions, 'fetch' | 'signal' | 'onProgress'>;

export interface Begun {
  url: string;
  options: Options;
  /** For the logits. */
  ids: number[];
  /** Whether the engine is closed only when nothing is read or written any more. */
  calm: boolean;
  /** The phase at which the load is aborted. */
  endAt?: Library.LoadProgress['phase'] | undefined;
}

/** Keeps the page's workers, so that one can be killed. Must run before the library starts one. */
export function keepWorkers(): void {
  const running = new Map<Worker, string>();
  const { Worker } = window;
  window.running = running;
  window.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      running.set(this, options?.name ?? '');
    }
    override terminate(): void {
      running.delete(this);
      super.terminate();
    }
  };
}

/** Ends a worker as the browser does when memory is short: nobody is told. */
export function killWorker(name: string): void {
  for (const [worker, its] of window.running) if (its === name) worker.terminate();
}

/** Begins a load; `outcomeOf` waits for its end. */
export function begin({ url, options, ids, calm, endAt }: Begun): void {
  const controller = new AbortController();
  const load: Load = {
    outcome: Promise.resolve({} as Outcome),
    progress: null,
    waited: [],
    controller,
    engine: null,
    settled: false,
    ended: null,
  };
  const onProgress = (progress: Library.LoadProgress): void => {
    load.progress = progress;
    const { phase, waiting } = progress;
    if (phase === endAt) load.ended ??= window.endLoad('abort');
    if (waiting !== '' && load.waited.at(-1) !== waiting) load.waited.push(waiting);
  };
  const run = async (): Promise<Outcome> => {
    const outcome: Outcome = {
      hash: '',
      code: '',
      message: '',
      notes: [],
      source: '',
      cachedBytes: 0,
    };
    try {
      const { signal } = controller;
      const engine = await window.library.Engine.load(url, { ...options, signal, onProgress });
      load.engine = engine;
      await engine.ready;
      load.settled = true;
      outcome.hash = (await engine.logits(ids)).hash;
      outcome.notes = engine.stats.notes;
      while (calm && [...window.running.values()].includes('sluice-loader'))
        await new Promise((later) => setTimeout(later, 20));
      await engine.close();
    } catch (e) {
      load.settled = true;
      const { code = 'no code', message } = e as Library.SluiceError;
      outcome.code = code;
      outcome.message = message;
      await load.engine?.close();
    }
    outcome.source = load.progress?.source ?? '';
    outcome.cachedBytes = load.progress?.cachedBytes ?? 0;
    return outcome;
  };
  window.load = load;
  load.outcome = run();
}

export function outcomeOf(): Promise<Outcome> {
  return window.load.outcome;
}

export function progressOf(): Library.LoadProgress | null {
  return window.load.progress;
}

/** Defines window.endLoad, which ends the load that was begun, by its signal or by close(). */
export function defineEnd(): void {
  window.endLoad = async (how): Promise<Ended> => {
    const { load } = window;
    const { port1, port2 } = new MessageChannel();
    const turn = (): Promise<unknown> =>
      new Promise((done) => {
        port1.onmessage = done;
        port2.postMessage(null);
      });
    const began = performance.now();
    if (how === 'abort') load.controller.abort();
    else void load.engine?.close();
    // A turn later than that of the call its promise must be settled.
    let turns = 0;
    while (!load.settled) {
      await turn();
      ++turns;
    }
    port1.close();
    return { turns, ms: performance.now() - began };
  };
}

export function endLoad(how: 'abort' | 'close'): Promise<Ended> {
  return window.endLoad(how);
}

/** The end that began by itself at a phase. */
export function endedOf(): Promise<Ended> | null {
  return window.load.ended;
}

/** The names of the cache's locks that are held or waited for. */
export async function locksOf(): Promise<string[]> {
  const { held = [], pending = [] } = await navigator.locks.query();
  const names = [...held, ...pending].map(({ name }) => name ?? '');
  return names.filter((name) => /^sluice-(use|write):/.test(name));
}

/** The figures of cache.list() for a model; null if it isn't there. */
export async function keptOf(source: string): Promise<Library.CachedModel | null> {
  const list = await window.library.cache.list();
  return list.find((model) => model.source === source) ?? null;
}

export async function pinKept(source: string): Promise<void> {
  await window.library.cache.pin(source);
}

export async function verifyKept(source: string): Promise<boolean> {
  const { ok } = await window.library.cache.verify(source);
  return ok;
}

/** True, false, or the code of the error. */
export async function deleteKept(source: string): Promise<boolean | string> {
  return window.library.cache.delete(source).catch((e: Library.SluiceError) => e.code);
}
