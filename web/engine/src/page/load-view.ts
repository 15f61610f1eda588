// Reports the loading of a model to the page: its progress and its weights.
import { callBack } from '../shared/promises.js';
import type { EngineNews } from '../shared/calls.js';
import { noCourse, type Course } from '../shared/protocol.js';
import { Rate } from '../shared/rate.js';
import type { LoadOptions, ModelInfo } from '../shared/types.js';
import type { LoadProgress, WeightsView } from '../shared/progress-types.js';
import { slotViews, sumReread } from './weights-view.js';

/** Milliseconds after the last network byte for which the network counts as the source of the weights. */
const NETWORK_MS = 1000;

export class LoadView {
  readonly #onProgress: (progress: LoadProgress) => void;
  readonly #onWeights: (weights: WeightsView) => void;
  #info: ModelInfo | null = null;
  /** All resident weights are loaded. */
  #isReady = false;
  #progress: LoadProgress;
  /** Bytes that the engine loads: all, but for a table of which it only reads rows, while it writes text. */
  #toLoad = 0;
  #course: Course = noCourse();
  readonly #rate = new Rate();
  /** When bytes last arrived from the network. */
  #networkAt = -Infinity;
  /** From the last run that reported its figures. */
  waitedMs = 0;

  constructor(
    { onProgress, onWeights }: Pick<LoadOptions, 'onProgress' | 'onWeights'>,
    source: LoadProgress['source'],
  ) {
    this.#onProgress = onProgress ?? (() => {});
    this.#onWeights = onWeights ?? (() => {});
    this.#progress = {
      phase: 'header',
      loaded: 0,
      total: 0,
      bytesPerSecond: 0,
      source,
      cachedBytes: 0,
      waiting: '',
      waitingFor: null,
      layersReady: 0,
      layersTotal: 0,
    };
  }

  /** The header is read. */
  hasTokenizer(info: ModelInfo): void {
    this.#info = info;
  }

  /** All resident weights are loaded. */
  ready(): void {
    this.#isReady = true;
    this.#repeat();
  }

  /** Reports what has changed beside the engine's progress. */
  #repeat(): void {
    this.report({ ...this.#progress, total: this.#toLoad });
  }

  /** Takes the loader's progress. */
  follow(course: Course): void {
    if (course.fromNetwork > this.#course.fromNetwork) this.#networkAt = performance.now();
    this.#course = course;
    if (this.#progress.phase !== 'ready') this.#repeat();
  }

  /** Whether the whole model has arrived, with the weights that are streamed or read row by row. */
  get hasArrived(): boolean {
    const again = (this.#info?.memory?.rereadBytes ?? 0) > 0 || this.#readsRows;
    return this.#isReady && (this.#course.arrived || !again || !this.#isRemote);
  }

  get #readsRows(): boolean {
    return this.#toLoad > 0 && (this.#info?.fileBytes ?? 0) > this.#toLoad;
  }

  get #isRemote(): boolean {
    const { source } = this.#progress;
    return source === 'network' || source === 'cache';
  }

  report(now: Pick<LoadProgress, 'loaded' | 'total' | 'layersReady' | 'layersTotal'>): void {
    const { fromCache, fromNetwork, kept, waiting, waitingFor, verified } = this.#course;
    const before = this.#progress.source;
    this.#toLoad = now.total;
    const ready = this.hasArrived;
    // The source of a remote model is the cache only if no byte came from the network.
    const source = !this.#isRemote
      ? before
      : fromNetwork > 0 || fromCache === 0
        ? 'network'
        : 'cache';
    const usual = source === 'network' ? 'download' : 'load';
    const known = this.#info === null ? 'header' : verified > 0 ? 'verify' : usual;
    // A download brings all, also a table of which only rows are read.
    const whole = source === 'network' && this.#readsRows;
    const total = whole ? (this.#info?.fileBytes ?? 0) : now.total;
    // Streamed weights that are cached count as loaded, even if the engine has not read them yet.
    const least = !this.#isReady ? 0 : ready && kept > 0 ? total : kept;
    const loaded = Math.max(now.loaded, Math.min(least, total));
    this.#progress = {
      phase: ready ? 'ready' : known,
      loaded,
      total,
      // During a download only network bytes count: cached bytes say nothing about its speed.
      bytesPerSecond: this.#rate.perSecond(fromNetwork > 0 ? fromNetwork : now.loaded),
      source,
      // The loader may report the last bytes after the engine has them.
      cachedBytes: ready && source === 'cache' ? loaded : fromCache,
      waiting,
      waitingFor,
      layersReady: now.layersReady,
      layersTotal: now.layersTotal,
    };
    callBack(this.#onProgress, { ...this.#progress });
  }

  tellWeights({ slots: numbers, bytesPerSecond }: EngineNews & { kind: 'weights' }): void {
    const slots = slotViews(numbers);
    const { source } = this.#progress;
    // After a download, streamed weights are read from the cache.
    const quiet = performance.now() - this.#networkAt > NETWORK_MS;
    const kept = this.#isRemote && this.#isReady && quiet;
    const rereadBytes = sumReread(slots);
    callBack(this.#onWeights, {
      slots,
      bytesPerSecond,
      source: kept ? 'cache' : source,
      rereadBytes,
      streamedBytes: rereadBytes,
      waitedMs: this.waitedMs,
    });
  }
}
