// How far the load of a model is, from what the workers say.
import { askToPersist } from '../platform/here.js';
import type { EngineNews, LoaderNews } from '../shared/calls.js';
import { addNotes, type Note } from '../shared/notes.js';
import { deferred } from '../shared/promises.js';
import type { ModelInfo } from '../shared/types.js';
import type { LoadView } from './load-view.js';

export class LoadState {
  /** What the file's header says; null until it is read. */
  info: ModelInfo | null = null;
  /** Milliseconds from the beginning until all resident weights were loaded; 0 before. */
  ms = 0;
  /** These reject with what ended the engine before. `header`: it is read, and the model can run here. */
  readonly header = deferred();
  /** All resident weights are loaded. */
  readonly ready = deferred();
  /** The whole model has come. */
  readonly arrived = deferred();
  readonly #started = performance.now();
  readonly #view: LoadView;
  readonly #notes: Note[];

  /** Adds to `notes` what is said of the model. */
  constructor(view: LoadView, notes: Note[]) {
    this.#view = view;
    this.#notes = notes;
  }

  /** News from the engine worker. */
  hear(news: EngineNews): void {
    switch (news.kind) {
      case 'header':
        this.info = news.info;
        this.#view.hasTokenizer(news.info);
        addNotes(this.#notes, news.notes);
        this.header.resolve();
        break;
      case 'notes':
        addNotes(this.#notes, news.notes);
        break;
      case 'progress':
        this.#view.report(news);
        break;
      case 'weights':
        this.#view.tellWeights(news);
        break;
      case 'ready':
        this.ms = performance.now() - this.#started;
        this.#view.ready();
        this.ready.resolve();
        if (this.#view.hasArrived) this.arrived.resolve();
        break;
    }
  }

  /** News from the loader. */
  follow(news: LoaderNews): void {
    if (news.kind === 'keeping') return void askToPersist();
    addNotes(this.#notes, news.notes);
    this.#view.follow(news);
    if (this.#view.hasArrived) this.arrived.resolve();
  }

  /** The engine has ended. */
  fail(error: unknown): void {
    for (const { reject } of [this.header, this.ready, this.arrived]) reject(error);
  }
}
