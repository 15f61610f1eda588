// Several tabs: one writes a conversation, the others read it and can take over. A lock for each conversation says who
// writes; messages say what has changed. Without the browser's locks every tab writes.
import { signal, type ReadonlySignal } from '@preact/signals';
import { isObject, isTime } from './records';
import { isId } from './tree';

/** Milliseconds that the writing tab has for its last write before it is cut off. */
const YIELD_MS = 3000;

const CHANNEL = 'sluice-conversations';

/** What tabs tell each other. `id` null: several or all conversations. */
export type TabMessage =
  | { kind: 'changed'; id: string | null; changed: number }
  | { kind: 'removed'; id: string | null }
  /** Whoever writes this conversation shall let it go. */
  | { kind: 'yield'; id: string };

/** A message as it was sent; null for anything else: other versions of the page speak on the same channel. */
export function readTabMessage(value: unknown): TabMessage | null {
  if (!isObject(value)) return null;
  const { kind, id, changed } = value;
  if (kind === 'yield') return isId(id) ? { kind, id } : null;
  if (id !== null && !isId(id)) return null;
  if (kind === 'removed') return { kind, id };
  return kind === 'changed' && isTime(changed) ? { kind, id, changed } : null;
}

/** A conversation that is open in this tab. */
export interface Owned {
  readonly id: string;
  /** Whether this tab writes it. False until that is known. */
  readonly writer: ReadonlySignal<boolean>;
  /** Resolves once it is known whether this tab writes it. */
  readonly known: Promise<void>;
  /** Makes this tab the writer. The other one writes its last state first, if it still answers. */
  takeOver(): Promise<void>;
  /** The conversation is closed in this tab. */
  release(): void;
}

export interface OwnOptions {
  /** Called before this tab becomes a reader: ends an answer and writes the last state. */
  onYield?: () => Promise<void> | void;
  /** Called before this tab becomes the writer after another was: reads what that one has written. */
  onGain?: () => Promise<void> | void;
}

export interface Tabs {
  own(id: string, options?: OwnOptions): Owned;
  /** Tells the other tabs that a conversation was written; null: several. */
  changed(id: string | null, changed?: number): void;
  /** Tells the other tabs that a conversation was deleted; null: all. */
  removed(id: string | null): void;
  close(): void;
}

export interface TabsOptions {
  /** Called for what other tabs tell. */
  onMessage?: (message: TabMessage) => void;
  locks?: LockManager | undefined;
  /** Undefined in browsers without channels. */
  channel?: BroadcastChannel | undefined;
  yieldMs?: number;
}

export function openTabs(options: TabsOptions = {}): Tabs {
  const locks = 'locks' in options ? options.locks : browserLocks();
  const channel = 'channel' in options ? options.channel : browserChannel();
  const owned = new Set<Owning>();
  const say = (message: TabMessage): void => {
    try {
      channel?.postMessage(message);
    } catch {
      // A closed channel: the page is ending.
    }
  };
  const hear = ({ data }: MessageEvent<unknown>): void => {
    const message = readTabMessage(data);
    if (message === null) return;
    if (message.kind === 'yield') {
      for (const one of owned) if (one.id === message.id) one.stepBack();
    }
    options.onMessage?.(message);
  };
  channel?.addEventListener('message', hear);
  return {
    own(id, more = {}) {
      const ask = channel === undefined ? null : () => say({ kind: 'yield', id });
      const one = new Owning(id, locks, ask, more, options.yieldMs ?? YIELD_MS);
      owned.add(one);
      void one.done.then(() => owned.delete(one));
      return one;
    },
    changed: (id, changed = Date.now()) => say({ kind: 'changed', id, changed }),
    removed: (id) => say({ kind: 'removed', id }),
    close() {
      for (const one of owned) one.release();
      channel?.removeEventListener('message', hear);
      channel?.close();
    },
  };
}

/** Undefined on pages without https and in old browsers. */
function browserLocks(): LockManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.locks;
}

function browserChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(CHANNEL);
  } catch {
    return undefined;
  }
}

/** One lock: held, waited for, or lost to another tab, which is then waited for. */
class Owning implements Owned {
  readonly id: string;
  readonly writer = signal(false);
  readonly known: Promise<void>;
  /** Resolves when it is released. */
  readonly done: Promise<void>;
  readonly #locks: LockManager | undefined;
  readonly #ask: (() => void) | null;
  readonly #options: OwnOptions;
  readonly #yieldMs: number;
  #end!: () => void;
  #released = false;
  /** Ends the hold of the lock; null: it is not held. */
  #drop: (() => void) | null = null;
  /** Ends the wait for the lock; null: it is not waited for. */
  #waiting: AbortController | null = null;
  #taking: Promise<void> | null = null;

  constructor(
    id: string,
    locks: LockManager | undefined,
    ask: (() => void) | null,
    options: OwnOptions,
    yieldMs: number,
  ) {
    this.id = id;
    this.#locks = locks;
    this.#ask = ask;
    this.#options = options;
    this.#yieldMs = yieldMs;
    this.done = new Promise((resolve) => (this.#end = resolve));
    this.known = this.#begin();
  }

  get #name(): string {
    return `${CHANNEL}:${this.id}`;
  }

  async #begin(): Promise<void> {
    if (this.#locks === undefined) return this.#alone();
    await new Promise<void>((resolve) => {
      void this.#request({ ifAvailable: true }, false, resolve).then((got) => {
        // Another tab writes it: this one is next when that one is closed.
        if (!got && !this.#released && !this.writer.value) void this.#wait();
        resolve();
      });
    });
  }

  async #wait(): Promise<void> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    await this.#request({ signal: waiting.signal }, true);
  }

  /**
   * Asks for the lock, and holds it until it is dropped or stolen. False if it could not be had. `gained`: another tab may
   * have written the conversation. `onHeld`: called once this tab is the writer.
   */
  async #request(options: LockOptions, gained: boolean, onHeld?: () => void): Promise<boolean> {
    let held = false;
    try {
      await this.#locks?.request(this.#name, options, async (lock) => {
        this.#waiting = null;
        if (lock === null || this.#released) return;
        held = true;
        const dropped = new Promise<void>((resolve) => (this.#drop = resolve));
        if (gained) await quietly(this.#options.onGain);
        // It may have been let go meanwhile.
        if (this.#drop !== null) {
          this.writer.value = true;
          onHeld?.();
        }
        await dropped;
      });
    } catch (error) {
      // Stolen, since this tab did not answer in time.
      if (held) await this.#letGo();
      // A browser that refuses locks is one without them. (An abort is the end of the wait.)
      else if (!(error instanceof Error && error.name === 'AbortError')) this.#alone();
    }
    return held;
  }

  #alone(): void {
    if (!this.#released) this.writer.value = true;
  }

  /** Another tab wants to write: it comes before this one. */
  stepBack(): void {
    if (this.#waiting !== null) {
      this.#waiting.abort();
      void this.#wait();
    } else void this.#letGo();
  }

  /** Writes the last state, becomes a reader and waits for its next turn. */
  async #letGo(): Promise<void> {
    const drop = this.#drop;
    if (drop === null) return;
    this.#drop = null;
    await quietly(this.#options.onYield);
    this.writer.value = false;
    drop();
    if (!this.#released) void this.#wait();
  }

  takeOver(): Promise<void> {
    this.#taking ??= this.#take().finally(() => (this.#taking = null));
    return this.#taking;
  }

  async #take(): Promise<void> {
    await this.known;
    if (this.#released || this.writer.value || (await this.#asked()) || this.#released) return;
    // The other tab sleeps or hangs. The wait for the lock would come after the theft.
    this.#waiting?.abort();
    this.#waiting = null;
    await new Promise<void>((resolve) => {
      void this.#request({ steal: true }, true, resolve).then(() => resolve());
    });
  }

  /** Asks the writing tab to let go, and waits. Whether this tab is the writer now. */
  #asked(): Promise<boolean> {
    if (this.#ask === null) return Promise.resolve(this.writer.value);
    this.#ask();
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        dispose();
        resolve(this.writer.peek());
      };
      const timer = setTimeout(settle, this.#yieldMs);
      const dispose = this.writer.subscribe((writer) => {
        if (writer) queueMicrotask(settle);
      });
    });
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#waiting?.abort();
    this.writer.value = false;
    this.#drop?.();
    this.#drop = null;
    this.#end();
  }
}

/** Calls what the page has given; its failure must not keep a lock. */
async function quietly(work: (() => Promise<void> | void) | undefined): Promise<void> {
  try {
    await work?.();
  } catch {
    // The page reports its own errors.
  }
}
