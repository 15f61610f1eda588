// The queue of requests: one is answered at a time, in the order of arrival.
import { SluiceError } from '../../shared/errors.js';
import { onAbort } from '../../shared/promises.js';

interface Waiting {
  go(): void;
  refuse(error: unknown): void;
}

export class Line {
  /** A request is being answered. */
  #taken = false;
  readonly #waiting: Waiting[] = [];

  /** `limit`: the most requests that may wait. */
  constructor(readonly limit: number) {}

  /**
   * Resolves when this request may run, with a function that lets the next one run. Rejects with the signal's reason, or with
   * `busy` if too many wait.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (this.#taken) await this.#wait(signal);
    this.#taken = true;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#taken = false;
      this.#callNext();
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.limit) {
      const many = this.limit === 0 ? 'none may wait' : `${this.limit} wait, and no more may`;
      throw new SluiceError(
        'busy',
        `this engine answers a request, and ${many}; try again later, or load it with a greater queueLimit`,
      );
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        release();
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
      };
      const waiting: Waiting = {
        go: () => (leave(), resolve()),
        refuse: (error) => (leave(), reject(error)),
      };
      const release = onAbort(signal, waiting.refuse);
      this.#waiting.push(waiting);
    });
  }

  /** Sets #taken for the next request at once, so that no new request can run before it. */
  #callNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#taken = true;
    next.go();
  }

  /** The engine has ended: rejects all waiting requests. */
  end(error: unknown): void {
    for (const one of [...this.#waiting]) one.refuse(error);
  }
}
