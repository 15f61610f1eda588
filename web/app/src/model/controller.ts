// Loads and closes engines, and says what the page's model is at. state.ts has the page's instance of it; use.ts lends its
// engine to texts and answers.
import { batch, computed, effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import {
  SluiceError,
  type EngineStats,
  type LoadOptions,
  type LoadProgress,
  type ModelInfo,
  type ModelSource,
  type Note,
  type WeightsView,
} from '@sluice/engine';
import type { Settings } from '../settings/settings';
import { loadOptions, loadSettings, sameLoad } from '../settings/use';
import { t } from '../texts';
import { explain, type Failure } from './advice';
import { bothFit } from './memory';
import type { Choice } from './choice';
import { nameInMessage, nameOf, shownName } from './name';
import {
  NONE,
  beginning,
  isInUse,
  leaving,
  loadingIn,
  settled,
  showing,
  shownIn,
  soughtIn,
  type Loading,
  type Model,
  type Phase,
  type Wanted,
} from './phases';
import type { Runs } from './run';
import { cacheOf, inputOf, sha256Of, type Source } from './source';

/** What is needed of an engine; the library's `Engine` is one. */
export interface LoadedEngine {
  readonly info: ModelInfo;
  readonly stats: EngineStats;
  /** Resolves when the model can be used without waiting; rejects when its load fails. */
  readonly ready: Promise<void>;
  /** Resolves when nothing of it is being downloaded any more. */
  readonly arrived: Promise<void>;
  close(): Promise<void>;
}

/** What the controller is given. */
export interface Surroundings<E extends LoadedEngine> {
  /** `Engine.load`. */
  load(source: ModelSource, options: LoadOptions): Promise<E>;
  settings: ReadonlySignal<Settings>;
  /** Has a screen reader say a text; '': takes back what was said. */
  announce(text: string): void;
  /** What the engine may be busy with. */
  run: Pick<Runs, 'run' | 'busy' | 'interrupt'>;
  device: {
    /** In GiB; undefined in some browsers. */
    memory(): number | undefined;
    /** Whether models can be kept here. */
    canKeep: boolean;
    /** Whether the number of threads can be chosen here. */
    sharing: boolean;
  };
}

function saysUnkept(notes: readonly Note[]): boolean {
  return notes.some(({ code }) => code === 'model_not_kept');
}

export class ModelController<E extends LoadedEngine> {
  readonly #with: Surroundings<E>;
  readonly #phase = signal<Phase>(NONE);
  readonly #stats = signal<EngineStats | null>(null);
  readonly #weights = signal<WeightsView | null>(null);

  /** The engine of the model that is shown. */
  #engine: E | null = null;
  /** The engine of a model that is coming while another one is shown. */
  #next: E | null = null;
  /** What each engine last said of its weights. */
  readonly #views = new WeakMap<E, WeightsView>();
  /**
   * What to return to if a load fails or is cancelled: the last model that was loaded completely, or else the first one
   * that was wanted. Without an engine it was closed, or has never been loaded.
   */
  #before: { wanted: Wanted; model: Model | null; engine: E | null } | null = null;
  #abort: AbortController | null = null;
  /** Settles when the current load has ended, successful or not. */
  #end: Promise<void> = Promise.resolve();

  /** All that the page's model is at. */
  readonly phase: ReadonlySignal<Phase> = this.#phase;
  /** The model that is shown. */
  readonly model = computed(() => shownIn(this.#phase.value));
  readonly loading = computed(() => loadingIn(this.#phase.value));
  readonly paused = computed(() => this.#phase.value.paused);
  /** The model of the last visit, while the page looks whether it is still there. */
  readonly sought = computed(() => soughtIn(this.#phase.value));
  /** What the reader should know. */
  readonly problem = computed(() => this.#phase.value.problem);
  /** The figures of the model that is shown. */
  readonly stats: ReadonlySignal<EngineStats | null> = this.#stats;
  /** The weights of the model that is coming, or else of the one that is shown, as they are in memory. */
  readonly weights: ReadonlySignal<WeightsView | null> = this.#weights;

  /** The model can be used, and the rest of it is still being downloaded. */
  readonly resting = computed(() => this.loading.value?.step === 'rest');
  /** A model is coming that is not the one that is shown. */
  readonly arriving = computed(() => {
    const coming = this.loading.value;
    return coming !== null && !isInUse(coming);
  });
  /** Whether Write can work: a model is loaded or is being loaded, or looked for. */
  readonly writable = computed(() => {
    const { kind } = this.#phase.value;
    return kind === 'ready' || kind === 'loading' || kind === 'seeking';
  });
  /** Whether the model that is shown was loaded with other settings than those of now. */
  readonly stale = computed(() => {
    const phase = this.#phase.value;
    const { settings, device } = this.#with;
    return phase.kind === 'ready' && !sameLoad(phase.shown, settings.value, device.sharing);
  });
  /** The model that is shown is not kept on this device, for a reason that is in the notes. */
  readonly unkept = computed(() => saysUnkept(this.stats.value?.notes ?? []));
  /** Whether the present load can be paused: what has come stays on this device. */
  readonly pausable = computed(() => {
    const coming = this.loading.value;
    if (coming === null || coming.back || coming.source.kind !== 'address') return false;
    return coming.source.keep && this.#with.device.canKeep && !saysUnkept(coming.notes);
  });

  constructor(surroundings: Surroundings<E>) {
    this.#with = surroundings;
  }

  /** Loads a model in place of the present one. If that fails or is cancelled, returns to the present one. Never rejects. */
  readonly open = (source: Source): Promise<void> => {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    // Looked for by the page itself
    const sought = this.#phase.peek().kind === 'seeking';
    // At once: what is asked from now on waits for this model.
    if (this.#coming === null) this.#comes(beginning(source, false));
    this.#end = this.#end.then(() => this.#load(source, sought, abort));
    return this.#end;
  };

  /** Ends the present load. */
  readonly cancel = (): void => {
    // The previous model can't be cancelled: there is no other, and a second press was meant for the first load.
    if (this.#coming?.back !== true) this.#abort?.abort();
  };

  /** Ends the present load, and remembers it, so that it can go on. Nothing happens where it can't be paused. */
  readonly pause = (): void => {
    const coming = this.#coming;
    if (coming === null || !this.pausable.peek()) return;
    this.putAside(coming.source, coming.progress);
    this.#abort?.abort();
  };

  /** Remembers a load as one that is paused. */
  readonly putAside = (source: Source, progress: LoadProgress | null = null): void => {
    this.#change((phase) => leaving(phase, { paused: { source, progress } }));
  };

  /** Forgets the load that is paused. */
  readonly forgetPaused = (): void => {
    this.#change((phase) => leaving(phase, { paused: null }));
  };

  /** The page begins to look for the model of the last visit. Nothing happens where there is a model, or one is coming. */
  readonly seek = (choice: Choice): void => {
    this.#change((phase) =>
      phase.kind === 'ready' || phase.kind === 'loading'
        ? phase
        : { kind: 'seeking', choice, paused: phase.paused, problem: phase.problem },
    );
  };

  /** It has looked, and opens none. */
  readonly seekNoMore = (): void => {
    this.#change((phase) => (phase.kind === 'seeking' ? settled(null, phase) : phase));
  };

  /** Shows an error. `source`: what to load again, if that may help. */
  readonly fail = (error: unknown, source: Source | null): void => {
    this.tell(explain(error), source);
  };

  /** The same for what the page itself found. */
  readonly tell = (failure: Failure, source: Source | null): void => {
    const lasting =
      failure.code.startsWith('unsupported') ||
      (failure.code === 'bad_file' && source?.kind === 'files');
    const name = source === null ? '' : nameInMessage(source);
    const problem = { ...failure, retry: lasting ? null : source, name, also: null };
    batch(() => {
      this.#change((phase) => leaving(phase, { problem }));
      this.#with.announce('');
    });
  };

  /** Takes back what was said to the reader. */
  readonly closeProblem = (): void => {
    this.#change((phase) => leaving(phase, { problem: null }));
  };

  /** The engine of the model that is shown; null if there is none. */
  readonly currentEngine = (): E | null => this.#engine;

  /** Whether this is the engine of the model that is shown. */
  readonly isShown = (by: E): boolean => this.#engine === by;

  /** Shows the figures of an engine as they are now; default: of the present one, if there is one. */
  readonly showStats = (by = this.#engine): void => {
    if (by !== null) this.#stats.value = by.stats;
  };

  /** After the engine has stopped working: closes what is left of it, and forgets the model to return to. */
  readonly bury = async (): Promise<void> => {
    await this.#letGo();
    this.#before = null;
  };

  get #coming(): Loading | null {
    return loadingIn(this.#phase.peek());
  }

  #change(to: (phase: Phase) => Phase): void {
    this.#phase.value = to(this.#phase.peek());
  }

  /** A load begins. */
  #comes(coming: Loading): void {
    this.#change((phase) => ({
      kind: 'loading',
      coming,
      shown: shownIn(phase),
      paused: phase.paused,
      problem: phase.problem,
    }));
  }

  /** The present load has come further. */
  #goesOn(to: (coming: Loading) => Loading): void {
    this.#change((phase) =>
      phase.kind === 'loading' ? { ...phase, coming: to(phase.coming) } : phase,
    );
  }

  async #load(source: Source, sought: boolean, abort: AbortController): Promise<void> {
    let current = abort;
    try {
      await this.#replace(source, sought, abort.signal);
    } catch (error) {
      // Another load has taken over, and returns to the previous model if it must.
      if (this.#abort !== abort) return;
      const { said } = t.peek().model;
      if (abort.signal.aborted)
        this.#with.announce(this.paused.peek() === null ? said.cancelled : said.paused);
      else this.fail(error, source);
      current = this.#abort = new AbortController();
      await this.#comeBack(current.signal);
    } finally {
      if (this.#abort === current) {
        this.#abort = null;
        this.#change((phase) => settled(shownIn(phase), phase));
      }
    }
  }

  async #replace(source: Source, sought: boolean, signal: AbortSignal): Promise<void> {
    // Cancelled while the load before it was ending
    signal.throwIfAborted();
    const wanted: Wanted = { source, ...loadSettings(this.#with.settings.peek()) };
    // The page itself opens the model of the last visit, or its own: what the reader has paused stays.
    const own = sought || (this.#before === null && source.kind === 'bundled');
    batch(() => {
      this.#change((phase) =>
        leaving(phase, own ? { problem: null } : { problem: null, paused: null }),
      );
      this.#comes(beginning(source, false));
      this.#with.announce(t.peek().model.said.loading(nameOf(source)));
    });
    this.#before ??= { wanted, model: null, engine: null };
    await this.#bring(wanted, signal);
    if (!own) this.forgetPaused();
  }

  /**
   * Loads a model completely. Where both fit, the present one can be used until this one is ready; else this one takes its
   * place when its header is read. If that fails, shows the previous one again, if its engine is still there.
   */
  async #bring(wanted: Wanted, signal: AbortSignal): Promise<void> {
    let loaded: E | null = null;
    let latest: WeightsView | null = null;
    // A signal ends a load only until it is ready.
    const end = (): void => void loaded?.close();
    const begin = (): Promise<E> =>
      this.#with.load(inputOf(wanted.source), {
        signal,
        ...loadOptions(wanted),
        cache: cacheOf(wanted.source),
        sha256: sha256Of(wanted.source),
        onProgress: (progress) => {
          if (signal.aborted) return;
          const notes = loaded?.stats.notes ?? [];
          this.#goesOn((coming) => ({ ...coming, progress, notes }));
          if (loaded !== null && this.isShown(loaded)) this.showStats();
        },
        onWeights: (view) => {
          latest = view;
          if (loaded === null) return;
          this.#views.set(loaded, view);
          if (loaded === (this.#next ?? this.#engine)) this.#weights.value = view;
        },
      });
    try {
      try {
        loaded = await begin();
      } catch (error) {
        // Perhaps there is enough memory without the previous model.
        const full = error instanceof SluiceError && error.code === 'out_of_memory';
        if (!full || this.#engine === null || signal.aborted) throw error;
        await this.#with.run.interrupt();
        await this.#letGo();
        loaded = await begin();
      }
      if (latest !== null) this.#views.set(loaded, latest);
      const arrived: Model = { ...wanted, info: loaded.info };
      await this.#makeRoom(loaded.info);
      this.#takeInfo(loaded);
      if (this.#engine === null) this.#present(loaded, arrived);
      await loaded.ready;
      signal.throwIfAborted();
      signal.addEventListener('abort', end);
      if (!this.isShown(loaded)) await this.#takeOver(loaded, arrived, signal);
      this.#toTheRest(arrived);
      await loaded.arrived;
      // Paused or cancelled in this moment, its engine is closed. From now on it is in use, and stays.
      signal.throwIfAborted();
      signal.removeEventListener('abort', end);
      const old = this.#before?.engine;
      this.#before = { wanted, model: arrived, engine: loaded };
      this.showStats(loaded);
      this.#with.announce(t.peek().model.said.ready(shownName(arrived)));
      await old?.close();
    } catch (error) {
      this.#goesOn((coming) => ({ ...coming, step: 'header', info: null }));
      if (loaded !== null && this.isShown(loaded))
        this.#show(this.#before?.engine ?? null, this.#before?.model ?? null);
      if (loaded !== null && this.#next === loaded) {
        this.#next = null;
        this.#show(this.#engine, this.model.peek());
      }
      await loaded?.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  /** The header is read. Until the model is shown, the picture is of its weights nevertheless. */
  #takeInfo(by: E): void {
    const { info, stats } = by;
    batch(() => {
      this.#goesOn((coming) => ({ ...coming, step: 'weights', info, notes: stats.notes }));
      if (this.#engine === null) return;
      this.#next = by;
      this.#weights.value = this.#views.get(by) ?? null;
    });
  }

  /** Closes the present engine if there isn't memory for it and a model with this header. */
  async #makeRoom(info: ModelInfo): Promise<void> {
    if (this.#engine === null) return;
    const { heapBytes } = this.#engine.stats;
    if (bothFit(info.memory?.total ?? 0, heapBytes, this.#with.device.memory())) return;
    await this.#with.run.interrupt();
    await this.#letGo();
  }

  /** Shows a model that is ready, as soon as the present one writes nothing. Rejects when `signal` aborts. */
  #takeOver(by: E, arrived: Model, signal: AbortSignal): Promise<void> {
    const { run, busy } = this.#with.run;
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
            this.#goesOn((coming) => step(coming, 'waits'));
            return;
          }
          this.#present(by, arrived);
          settle(resolve);
        });
      });
    });
  }

  /** Shows the model that is coming. */
  #present(by: E, arrived: Model): void {
    batch(() => {
      this.#goesOn((coming) => step(coming, 'shown'));
      this.#show(by, arrived);
    });
  }

  /** The model is ready. Until its rest has come, the load goes on. */
  #toTheRest(arrived: Model): void {
    if (this.#coming === null || this.#coming.progress?.phase === 'ready') return;
    this.#goesOn((coming) => step(coming, 'rest'));
    this.#with.announce(t.peek().model.said.rest(shownName(arrived)));
  }

  /** Sets the engine, and what is shown of it. */
  #show(by: E | null, shown: Model | null): void {
    batch(() => {
      this.#engine = by;
      if (this.#next === by) this.#next = null;
      this.#change((phase) => showing(phase, by === null ? null : shown));
      this.#stats.value = by?.stats ?? null;
      const pictured = this.#next ?? by;
      this.#weights.value = pictured === null ? null : (this.#views.get(pictured) ?? null);
    });
  }

  /** Closes the present engine to free its memory. `#before` still says which model it was. */
  async #letGo(): Promise<void> {
    const old = this.#engine;
    if (this.#before !== null) this.#before = { ...this.#before, engine: null };
    this.#show(null, null);
    await old?.close();
  }

  /** After a load that failed or was cancelled: loads the previous model again, if it was closed. */
  async #comeBack(signal: AbortSignal): Promise<void> {
    if (this.#before === null || this.#before.engine !== null) return;
    const { wanted, model: known } = this.#before;
    // The very first load has failed: there is no previous model.
    if (known === null && wanted.source === this.#coming?.source) {
      this.#before = null;
      return;
    }
    this.#comes(beginning(wanted.source, true));
    try {
      await this.#bring(wanted, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#before = null;
      const { problem } = this.#phase.peek();
      if (problem === null) {
        this.fail(error, wanted.source);
        return;
      }
      const also = { name: nameOf(wanted.source, known?.info), why: explain(error) };
      this.#change((phase) => leaving(phase, { problem: { ...problem, also } }));
    }
  }
}

/** The same load, further on; before its header is read there is nothing further on. */
function step(coming: Loading, to: 'waits' | 'shown' | 'rest'): Loading {
  return coming.step === 'header' ? coming : { ...coming, step: to };
}
