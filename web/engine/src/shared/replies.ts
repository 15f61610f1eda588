// A worker's side of its calls (calls.ts): takes the page's messages, and sends what the handlers answer.
import type {
  CallMap,
  CallMessage,
  ErrorMessage,
  FromWorker,
  ResultMessage,
  StreamMessage,
  ToWorker,
} from './calls.js';
import { SluiceError, toErrorData } from './errors.js';
import { holdLifeline } from '../platform/here.js';
import type { CoreStats } from './protocol.js';

/** What a handler returns if it answers later, through its Reply. */
export const LATER = Symbol('later');

/** A call's result: now, later by a promise, or through the Reply. */
export type Outcome<Result> = Result | Promise<Result> | typeof LATER;

/** A handler for each call. An error that it throws, or rejects with, is the call's. */
export type Handlers<Calls extends CallMap<Calls>> = {
  readonly [Name in keyof Calls]: (
    args: Calls[Name]['args'],
    reply: Reply<Calls[Name]['result'], Calls[Name]['item']>,
  ) => Outcome<Calls[Name]['result']>;
};

/** What a call's answer consists of. */
type Told<Result, Item> = StreamMessage<Item> | ResultMessage<Result> | ErrorMessage;

/** Where the answer to one call goes. After its end, nothing is sent any more. */
export class Reply<Result, Item = never> {
  readonly #id: number;
  readonly #post: (message: Told<Result, Item>, transfer: Transferable[]) => void;
  readonly #ended: () => void;
  #over = false;
  #held = false;
  /** Called when the page pauses the call, or resumes it. */
  onhold: (on: boolean) => void = () => {};
  /** Called when the page cancels the call. If it doesn't end the reply, that ends with `aborted`. */
  oncancel: () => void = () => {};

  /** `ended`: called with the end. */
  constructor(
    id: number,
    post: (message: Told<Result, Item>, transfer: Transferable[]) => void,
    ended: () => void,
  ) {
    this.#id = id;
    this.#post = post;
    this.#ended = ended;
  }

  /** The call has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** The reader's queue is full: what can rest should. */
  get held(): boolean {
    return this.#held;
  }

  /** Sends an item. `stats`: the engine's figures with it. */
  item(item: Item, stats?: CoreStats, transfer: Transferable[] = []): void {
    if (this.#over) return;
    const message = { type: 'stream' as const, id: this.#id, item };
    this.#post(stats === undefined ? message : { ...message, stats }, transfer);
  }

  end(value: Result, stats?: CoreStats, transfer: Transferable[] = []): void {
    if (!this.#finish()) return;
    const message = { type: 'result' as const, id: this.#id, value };
    this.#post(stats === undefined ? message : { ...message, stats }, transfer);
  }

  fail(error: unknown): void {
    if (this.#finish())
      this.#post({ type: 'error', id: this.#id, error: toErrorData(error, 'worker_died') }, []);
  }

  /** For Replies. */
  hold(on: boolean): void {
    this.#held = on;
    this.onhold(on);
  }

  /** For Replies. */
  cancel(): void {
    this.oncancel();
    this.fail(new SluiceError('aborted', 'the call was cancelled'));
  }

  /** False: it has ended before. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#ended();
    return true;
  }
}

/** The calls of a worker that have not ended. */
export class Replies<Calls extends CallMap<Calls>> {
  readonly #handlers: Handlers<Calls>;
  readonly #post: (message: FromWorker<Calls>, transfer: Transferable[]) => void;
  readonly #open = new Map<number, Pick<Reply<unknown>, 'hold' | 'cancel'>>();

  constructor(
    handlers: Handlers<Calls>,
    post: (message: FromWorker<Calls>, transfer: Transferable[]) => void,
  ) {
    this.#handlers = handlers;
    this.#post = post;
  }

  /** Takes a message of the page. Throws what is no SluiceError, if a handler throws that at once: the worker is broken. */
  handle(message: ToWorker<Calls>): void {
    if (message.type === 'cancel') return this.#open.get(message.id)?.cancel();
    if (message.type === 'hold') return this.#open.get(message.id)?.hold(message.on);
    // The page must not hear 'alive' before the worker holds the lock.
    if (message.lifeline !== undefined)
      void holdLifeline(message.lifeline).then(() => this.#post({ type: 'alive' }, []));
    this.#call(message);
  }

  #call<Name extends keyof Calls>({ id, name, args }: CallMessage<Calls, Name>): void {
    const reply = new Reply<Calls[Name]['result'], Calls[Name]['item']>(id, this.#post, () => {
      this.#open.delete(id);
    });
    this.#open.set(id, reply);
    if (!Object.hasOwn(this.#handlers, name)) {
      const text = `a worker was asked for what it does not know: ${String(name)}; see that all files of the library are of the same version`;
      return reply.fail(new SluiceError('worker_died', text));
    }
    try {
      const answer = this.#handlers[name](args, reply);
      if (answer === LATER) return;
      if (!(answer instanceof Promise)) return reply.end(answer);
      answer.then(
        (value) => reply.end(value),
        (error: unknown) => reply.fail(error),
      );
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      reply.fail(error);
    }
  }
}
