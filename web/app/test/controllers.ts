// What the tests of the controllers give them in place of a browser and an engine.
import { computed, signal } from '@preact/signals';
import type { Engine, ModelInfo } from '@sluice/engine';
import { expect, vi } from 'vitest';
import { Library } from '../src/history/library';
import { openStore, type Store } from '../src/history/store';
import { openTabs } from '../src/history/tabs';
import { newId } from '../src/history/tree';
import { ListController, type ListPage } from '../src/list/controller';
import type { Lender } from '../src/model/lender';
import { Runs } from '../src/model/run';
import type { Loading, Model, Problem } from '../src/model/state';
import type { Outcome } from '../src/model/use';
import { DEFAULTS } from '../src/settings/settings';
import { TalkController } from '../src/talk/controller';
import type { Fields } from '../src/talk/drafts';
import { FakeLocks } from './fake-locks';
import { WritingController } from '../src/writing/controller';
import type { Texts } from '../src/writing/kept-texts';
import { databases } from './history-setup';

/** Waits until nothing is refused by `holds`. */
export const soon = (holds: () => unknown): Promise<unknown> =>
  vi.waitFor(holds, { timeout: 30_000, interval: 2 });

/** Time that goes on when the test says so. */
export class FakeClock {
  time = 1000;
  /** A hidden page draws none. */
  hidden = false;
  readonly #frames = new Set<() => void>();
  readonly #timers = new Map<() => void, number>();

  now(): number {
    return this.time;
  }

  frame(work: () => void): () => void {
    this.#frames.add(work);
    return () => this.#frames.delete(work);
  }

  after(ms: number, work: () => void): () => void {
    const own = (): void => work();
    this.#timers.set(own, this.time + ms);
    return () => this.#timers.delete(own);
  }

  /** Draws a frame, so many milliseconds later. */
  draw(ms = 25): void {
    this.pass(ms);
    if (this.hidden) return;
    const due = [...this.#frames];
    this.#frames.clear();
    for (const work of due) work();
  }

  /** Lets time pass. */
  pass(ms: number): void {
    this.time += ms;
    for (const [work, due] of this.#timers) {
      if (due > this.time) continue;
      this.#timers.delete(work);
      work();
    }
  }

  /** How many frames and timers are waited for. */
  get waiting(): { frames: number; timers: number } {
    return { frames: this.#frames.size, timers: this.#timers.size };
  }
}

interface Said {
  content?: string;
  reasoning?: string;
  /** What else is known of the token. */
  more?: object;
}

/** An answer, or a text, that an engine was asked for. It comes as the test says. */
export class FakeAnswer {
  readonly #queue: (() => object | null)[] = [];
  #wake = (): void => undefined;
  #count = 0;
  readonly ending: Promise<object>;
  #settle!: { end(ending: object): void; fail(error: Error): void };

  constructor(readonly request: Record<string, unknown>) {
    this.ending = new Promise((end, fail) => {
      this.#settle = { end, fail };
    });
    this.ending.catch(() => undefined);
    const signal = request['signal'] as AbortSignal;
    const abort = (): void => this.fail(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
  }

  get messages(): unknown {
    return this.request['messages'];
  }

  #add(work: () => object | null): void {
    this.#queue.push(work);
    this.#wake();
  }

  /** Tokens come. */
  async say(...said: Said[]): Promise<void> {
    for (const { content, reasoning, more } of said) {
      this.#count += 1;
      for (const part of ['reasoning', 'text'] as const) {
        const text = part === 'text' ? content : reasoning;
        if (text !== undefined) this.#add(() => ({ part, text, ...more }));
      }
    }
    await settled();
  }

  /** It ends. */
  async end(finish: 'eos' | 'length' = 'eos'): Promise<void> {
    const tokens = this.#count;
    const stats = { promptTokens: 7, reusedTokens: 2, tokens, tokensPerSecond: 10 };
    this.#settle.end({ finish, dropped: 0, stats: { ...stats, bytesPerToken: 1 } });
    this.#add(() => null);
    await settled();
  }

  fail(error: Error): void {
    this.#settle.fail(error);
    this.#add(() => {
      throw error;
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<object> {
    for (;;) {
      const next = this.#queue.shift();
      if (next === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
      const part = next?.();
      if (part === null) return;
      if (part !== undefined) yield part;
    }
  }
}

/** An engine whose answers the test gives. */
export class FakeEngine {
  readonly asked: FakeAnswer[] = [];
  readonly stats = { bytesPerToken: 1, seed: 7, finish: 'length' };
  /** What ends the last count. */
  counting: AbortSignal | undefined;

  /** A token for each word. */
  count(text: unknown): number {
    return JSON.stringify(text).split(' ').length;
  }

  #ask(request: Record<string, unknown>): FakeAnswer {
    const answer = new FakeAnswer(request);
    this.asked.push(answer);
    return answer;
  }

  get engine(): Engine {
    return {
      answer: (request: Record<string, unknown>) => this.#ask(request),
      generate: (prompt: string, options: object) => this.#ask({ prompt, ...options }),
      countTokens: (text: unknown, { signal }: { signal?: AbortSignal } = {}) => {
        this.counting = signal;
        return Promise.resolve(this.count(text));
      },
      stats: this.stats,
    } as unknown as Engine;
  }

  /** The answer that is asked for last, as soon as it is. */
  async answer(): Promise<FakeAnswer> {
    const before = this.asked.length;
    await soon(() => expect(this.asked.length).toBeGreaterThan(Math.max(0, before - 1)));
    return this.asked.at(-1) as FakeAnswer;
  }
}

/** Lets what is due in this task and the next ones happen. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 3; ++i) await new Promise((resolve) => setImmediate(resolve));
}

export function modelOf(
  name: string,
  metadata: object = { 'tokenizer.chat_template': 'x' },
): Model {
  const info = { name, makes: ['text'], metadata } as unknown as ModelInfo;
  const source = { kind: 'address', url: `https://example.com/${name}.gguf`, keep: true };
  return { source, info } as unknown as Model;
}

/** Lends the engines that the test gives. */
export class FakeLender implements Lender {
  readonly model = signal<Model | null>(null);
  readonly loading = signal<Loading | null>(null);
  readonly canWrite = computed(() => this.model.value !== null || this.loading.value !== null);
  readonly problem = signal<Problem | null>(null);
  closeProblem(): void {
    this.problem.value = null;
  }
  readonly learned: unknown[] = [];
  readonly #runs: Runs;
  /** The engine of the model that is shown. */
  readonly #engine = signal<FakeEngine | null>(null);
  /** Ends the work with the engine whose load has failed. */
  #lost: ((by: FakeEngine) => void) | null = null;

  constructor(runs: Runs) {
    this.#runs = runs;
  }

  /** A model is there, and its engine can be used. */
  has(name = 'tiny', metadata?: object): FakeEngine {
    const engine = new FakeEngine();
    this.model.value = modelOf(name, metadata);
    this.#engine.value = engine;
    this.loading.value = null;
    return engine;
  }

  /** A model is being loaded. */
  loads(): void {
    this.loading.value = {} as Loading;
  }

  /** The load of the engine that is in use fails: another one takes its place. */
  replace(name: string): FakeEngine {
    const old = this.#engine.peek();
    const next = this.has(name);
    if (old !== null) this.#lost?.(old);
    return next;
  }

  names() {
    const model = this.model.peek();
    if (model === null) return null;
    const name = model.info.name ?? '';
    return { name, shown: `The ${name}`, ref: `ref:${name}` };
  }

  lastSeed(): number | null {
    return this.#engine.peek()?.stats.seed ?? null;
  }

  async lend(
    abort: AbortSignal,
    _: 'chosen' | 'ready',
    work: (by: Engine) => Promise<void>,
  ): Promise<Outcome> {
    try {
      for (;;) {
        const by = await this.#ready(abort);
        if (by === null) return { kind: 'none' };
        this.#runs.run.value = 'reading';
        const lost = new Promise<'lost'>((resolve) => {
          this.#lost = (old) => old === by && resolve('lost');
        });
        const done = work(by.engine).then(() => 'done' as const);
        if ((await Promise.race([done, lost])) === 'done') return { kind: 'done', by: by.engine };
        by.asked.at(-1)?.fail(new Error('closed'));
        await done.catch(() => undefined);
      }
    } catch (error) {
      if (abort.aborted) return { kind: 'aborted', by: this.#engine.peek()?.engine ?? null };
      this.problem.value = { code: (error as Error).message } as unknown as Problem;
      return { kind: 'failed' };
    }
  }

  /** The engine, once no load keeps it. */
  #ready(abort: AbortSignal): Promise<FakeEngine | null> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.loading.value === null) resolve(this.#engine.value);
      };
      abort.addEventListener('abort', () => reject(new Error('aborted')));
      this.loading.subscribe(look);
    });
  }

  onReading(): void {
    this.#runs.reading.value = null;
  }

  onToken(): void {
    if (this.#runs.run.value === 'reading') this.#runs.run.value = 'writing';
  }

  learn(from: unknown): void {
    this.learned.push(from);
  }
}

/** A store that is another in some of what it does. */
export function storeWith(by: Store, change: Partial<Store>): Store {
  return {
    list: () => by.list(),
    get: (id) => by.get(id),
    put: (conversation, previous, now) => by.put(conversation, previous, now),
    add: (conversations) => by.add(conversations),
    rename: (id, title) => by.rename(id, title),
    delete: (id) => by.delete(id),
    deleteAll: () => by.deleteAll(),
    close: () => by.close(),
    ...change,
  };
}

/** A browser, whose tabs share a database, locks and messages. */
export class FakeBrowser {
  readonly factory = databases();
  readonly #locks = new FakeLocks();
  readonly #name = newId();
  readonly #tabs: FakeTab[] = [];

  /** `store`: what is done to the tab's store. */
  tab(store: (by: Store) => Store = (by) => by): FakeTab {
    const tab = new FakeTab(this.factory, this.#locks, new BroadcastChannel(this.#name), store);
    this.#tabs.push(tab);
    return tab;
  }

  /** Ends all tabs. To call after each test. */
  async close(): Promise<void> {
    for (const tab of this.#tabs) await tab.close();
  }
}

/** A tab with all that the controllers are given. */
export class FakeTab {
  readonly clock = new FakeClock();
  readonly document = Object.assign(new EventTarget(), {
    visibilityState: 'visible' as DocumentVisibilityState,
  });
  readonly window = new EventTarget();
  readonly library: Library;
  readonly runs = new Runs();
  readonly lender = new FakeLender(this.runs);
  readonly settings = signal({ ...DEFAULTS, seed: 5 });
  readonly talk: TalkController;
  readonly list: ListController;
  readonly writing: WritingController;
  /** What screen readers were told. */
  readonly told: string[] = [];
  /** What the tab keeps of its fields. */
  drafts: Fields = new Map();
  /** What the tab keeps of the texts that were written. */
  texts: Texts = { texts: [], at: 0 };
  /** What is kept of what was computed. */
  readonly states = {
    deleted: [] as string[],
    delete: async (id: string) => void this.states.deleted.push(id),
    list: async () => [],
    clear: async () => undefined,
  };
  /** Files that the reader was given. */
  readonly files = new Map<string, Blob>();
  /** Whether somebody looks into what is written. */
  looking = false;
  /** Whether the focus is at what takes a deleted conversation back. */
  atUndo = false;

  constructor(
    factory: IDBFactory,
    locks: FakeLocks,
    channel: BroadcastChannel,
    store: (by: Store) => Store,
  ) {
    this.library = new Library({
      openStore: async () => store(await openStore(factory)),
      openTabs: (options) =>
        openTabs({ locks: locks as unknown as LockManager, channel, yieldMs: 10_000, ...options }),
      page: { document: this.document, window: this.window },
    });
    this.talk = new TalkController({
      library: this.library,
      lender: this.lender,
      runs: this.runs,
      settings: this.settings,
      announceStop: () => this.told.push('stopped'),
      draft: signal(''),
      drafts: { read: () => this.drafts, keep: (fields) => (this.drafts = fields) },
      clock: this.clock,
      window: this.window,
      looks: () => (this.looking ? { trace: 256 } : {}),
    });
    this.list = new ListController({
      library: this.library,
      talk: this.talk,
      states: this.states as never,
      transfer: () => import('../src/history/transfer'),
      finish: () => this.runs.finish(),
      page: this.#page(),
      clock: this.clock,
    });
    this.writing = new WritingController({
      prompt: signal('Once'),
      lender: this.lender,
      runs: this.runs,
      settings: this.settings,
      kept: { read: () => this.texts, keep: (texts) => (this.texts = texts) },
      window: this.window,
      announce: (what, tokens) => void this.told.push(`${what} ${tokens}`),
      looks: () => (this.looking ? { trace: 256 } : {}),
    });
  }

  #page(): ListPage {
    return {
      toTalk: () => undefined,
      away: () => undefined,
      focus: () => undefined,
      isAtUndo: () => this.atUndo,
      save: (name, file) => void this.files.set(name, file),
      announce: (text) => void this.told.push(text),
    };
  }

  /** It is known that this tab writes the conversation that is shown. */
  async ready(): Promise<void> {
    await soon(() => expect(this.talk.open.value.writer.value).toBe(true));
  }

  /** Sends a message. */
  say(text: string): void {
    this.talk.field.draft.value = text;
    this.talk.send();
  }

  async close(): Promise<void> {
    await this.runs.finish();
    await this.library.settle();
    this.library.tabs.close();
    (await this.library.opened()).close();
  }
}
