// The browser's locks, for tests in which several tabs share them.

interface Asked {
  name: string;
  grant: (lock: Lock | null) => void;
  lose: (error: DOMException) => void;
}

export class FakeLocks {
  readonly #held = new Map<string, Asked>();
  readonly #queue: Asked[] = [];

  request<T>(name: string, options: LockOptions, work: (lock: Lock | null) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const asked: Asked = {
        name,
        lose: reject,
        grant: (lock) => {
          void Promise.resolve(work(lock)).then((value) => {
            resolve(value);
            this.free(asked);
          }, reject);
        },
      };
      const { signal } = options;
      const abort = (): void => {
        const at = this.#queue.indexOf(asked);
        if (at < 0) return;
        this.#queue.splice(at, 1);
        reject(new DOMException('aborted', 'AbortError'));
      };
      signal?.addEventListener('abort', abort);
      queueMicrotask(() => {
        const holder = this.#held.get(name);
        if (options.steal === true) {
          this.#held.delete(name);
          holder?.lose(new DOMException('stolen', 'AbortError'));
          this.#hold(asked);
        } else if (options.ifAvailable === true && holder !== undefined) {
          asked.grant(null);
        } else if (signal?.aborted === true) {
          reject(new DOMException('aborted', 'AbortError'));
        } else {
          this.#queue.push(asked);
          this.#next(name);
        }
      });
    });
  }

  free(asked: Asked): void {
    if (this.#held.get(asked.name) !== asked) return;
    this.#held.delete(asked.name);
    this.#next(asked.name);
  }

  /** As if the tab that holds it were closed. */
  close(name: string): void {
    const holder = this.#held.get(name);
    if (holder !== undefined) this.free(holder);
  }

  #next(name: string): void {
    const at = this.#queue.findIndex((one) => one.name === name);
    if (at < 0 || this.#held.has(name)) return;
    for (const one of this.#queue.splice(at, 1)) this.#hold(one);
  }

  #hold(asked: Asked): void {
    this.#held.set(asked.name, asked);
    asked.grant({ name: asked.name, mode: 'exclusive' });
  }
}
