// The asking side of calls (calls.ts): asks, and gives each call its items, its result or its error.
import type { CallMap, CallMessage, FromWorker, ToWorker } from './calls.js';
import { abortReason, toldError } from './errors.js';
import { deferred, onAbort } from './promises.js';
import type { CoreStats } from './protocol.js';

/** What a call may have besides its arguments. */
export interface AskOptions<Item> {
  /** Cancels the call: its promise rejects at once with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Gets each item. Returns a promise if the reader's queue is full: then the call rests in the worker until that resolves. Must
   * not throw.
   */
  onItem?: ((item: Item) => Promise<void> | null) | undefined;
  /** Gets the figures that come with items and the result, also with what comes after a cancel. */
  onStats?: ((stats: CoreStats) => void) | undefined;
  transfer?: Transferable[] | undefined;
}

/** Asks for a call, and returns its result. */
export type Ask<Calls extends CallMap<Calls>> = <Name extends keyof Calls>(
  name: Name,
  args: Calls[Name]['args'],
  options?: AskOptions<Calls[Name]['item']>,
) => Promise<Calls[Name]['result']>;

interface Pending<Calls extends CallMap<Calls>> {
  item(item: Calls[keyof Calls]['item']): void;
  stats(stats: CoreStats): void;
  resolve(value: Calls[keyof Calls]['result']): void;
  reject(error: unknown): void;
}

export class Caller<Calls extends CallMap<Calls>> {
  readonly #post: (message: ToWorker<Calls>, transfer: Transferable[]) => void;
  /** The calls that the worker has not ended: cancelled ones too, until it says so. */
  readonly #pending = new Map<number, Pending<Calls>>();
  #next = 1;

  constructor(post: (message: ToWorker<Calls>, transfer: Transferable[]) => void) {
    this.#post = post;
  }

  /** The number of calls that have not ended. */
  get open(): number {
    return this.#pending.size;
  }

  readonly ask: Ask<Calls> = (name, args, options = {}) => this.#ask(name, args, options);

  #ask<Name extends keyof Calls>(
    name: Name,
    args: Calls[Name]['args'],
    { signal, onItem, onStats, transfer = [] }: AskOptions<Calls[Name]['item']>,
  ): Promise<Calls[Name]['result']> {
    const { promise, resolve, reject } = deferred<Calls[Name]['result']>();
    if (signal?.aborted) {
      reject(abortReason(signal));
      return promise;
    }
    const id = this.#next++;
    let cancelled = false;
    let held = false;
    const hold = (on: boolean): void => {
      held = on;
      if (this.#pending.has(id) && !cancelled) this.#post({ type: 'hold', id, on }, []);
    };
    const release = onAbort(signal, (reason) => {
      cancelled = true;
      reject(reason);
      this.#post({ type: 'cancel', id }, []);
    });
    // What comes with an id is of the type that its call has in the map: the worker's handlers are typed by the same map.
    this.#pending.set(id, {
      item: (item) => {
        const room = cancelled ? null : (onItem?.(item as Calls[Name]['item']) ?? null);
        if (room === null || held) return;
        hold(true);
        void room.then(() => hold(false));
      },
      stats: (stats) => onStats?.(stats),
      resolve: (value) => (release(), resolve(value as Calls[Name]['result'])),
      reject: (error) => (release(), reject(error)),
    });
    const message: CallMessage<Calls, Name> = { type: 'call', id, name, args };
    this.#post(message, transfer);
    return promise;
  }

  /** Takes a message of the worker. */
  receive(message: FromWorker<Calls>): void {
    if (message.type === 'alive') return;
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.type !== 'error' && message.stats !== undefined) pending.stats(message.stats);
    if (message.type === 'stream') return pending.item(message.item);
    this.#pending.delete(message.id);
    if (message.type === 'result') pending.resolve(message.value);
    else pending.reject(toldError(message.error));
  }

  /** Rejects all calls that have not ended, and ignores what the worker still says of them. */
  reject(error: unknown): void {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of all) one.reject(error);
  }
}
