// A connection downloads a range of a file, in order. If it breaks, it resumes where it stopped.
import { SluiceError, reworded } from '../../shared/errors.js';
import { failedAt, plainUrl } from '../../shared/facts.js';
import { Passing } from './patience.js';
import { Changed, type Part, type Remote } from './remote.js';
import { sleep } from './time.js';
import { offline } from './why.js';

/** Milliseconds within which an unknown server must give its first answer, over all tries. */
const FIRST_ANSWER_MS = 5000;

/** The bytes of a file from `at` on. */
export interface Piece {
  at: number;
  bytes: Uint8Array<ArrayBuffer>;
}

export class Connection {
  /** The offset of the next byte. */
  at: number;
  contentType = '';
  #part: Part | null = null;
  /** The offset in the file of the part's next byte: less than `at` if the server sent the file from its beginning. */
  #position = 0;
  /** The furthest position reached, bytes to skip included: reaching it again is no progress. */
  #skipped = 0;
  readonly #tries = { failed: 0, waited: 0 };
  readonly #began: number;

  /** Downloads the bytes from `at` to `to`. If the server doesn't support ranges, `to` becomes the end of the file. */
  constructor(
    readonly remote: Remote,
    at: number,
    public to: number,
  ) {
    this.at = at;
    this.#began = remote.net.patience.now();
  }

  /** Sends the request, unless its answer is open. */
  async open(): Promise<void> {
    while (this.#part === null) {
      await this.#patiently(async () => {
        const part = await this.remote.open(this.at, this.to);
        this.#part = part;
        this.contentType = part.contentType;
        this.#position = part.at;
        // A server without ranges sends the whole file.
        if (this.remote.ranges === false) this.to = part.end;
        const total = this.remote.facts?.total ?? 0;
        if (total > 0) this.to = Math.min(this.to, total);
      });
    }
  }

  /** The next bytes, at least one; null at the end. With `again`, the buffer is reused: they are valid until the next call. */
  async next(again: boolean): Promise<Piece | null> {
    for (;;) {
      if (this.at >= this.to) return null;
      await this.open();
      let piece: Piece | null = null;
      let ended = false;
      await this.#patiently(async () => {
        piece = await this.#read(again);
        ended = piece === null && this.#part === null;
      });
      if (piece !== null) return piece;
      // The file has ended; its length was not known.
      if (ended && this.to === Infinity) {
        this.to = this.at;
        return null;
      }
    }
  }

  /** Null with a part: the bytes were skipped; null without one: the file has ended. */
  async #read(again: boolean): Promise<Piece | null> {
    const part = this.#part as Part;
    let bytes = await part.read(again);
    if (bytes === null) {
      this.close();
      // The answer is complete; a server may send less than was requested.
      if (this.to === Infinity || this.at >= this.to || this.#position === part.end) return null;
      const { total } = this.remote.facts ?? { total: 0 };
      const got = total > 0 ? `${this.at} of ${total} bytes` : `${this.at} bytes`;
      const text = `the download ended after ${got}`;
      const facts = failedAt(this.remote.url, 'broken');
      throw new Passing(text, new SluiceError('download_failed', `${text}; try again`, { facts }));
    }
    const skip = Math.min(this.at - this.#position, bytes.byteLength);
    this.#position += bytes.byteLength;
    if (this.#position > this.#skipped) {
      this.#skipped = this.#position;
      this.remote.renew();
    }
    bytes = bytes.subarray(Math.max(skip, 0)).subarray(0, this.to - this.at);
    if (bytes.byteLength === 0) return null;
    const { at } = this;
    this.at += bytes.byteLength;
    this.#tries.failed = this.#tries.waited = 0;
    if (this.at >= this.to) this.close();
    return { at, bytes };
  }

  /** Does `work`. After a temporary failure, waits before the next try, or throws if there is to be none. */
  async #patiently(work: () => Promise<void>): Promise<void> {
    const { net } = this.remote;
    const began = net.patience.now();
    try {
      await work();
    } catch (cause) {
      this.close();
      net.signal.throwIfAborted();
      if (cause instanceof SluiceError || cause instanceof Changed) throw cause;
      const passing =
        cause instanceof Passing ? cause : new Passing('the connection broke', this.#broken(cause));
      const late =
        !this.remote.begun &&
        this.remote.facts === null &&
        net.patience.now() - this.#began > FIRST_ANSWER_MS &&
        passing.wait === null;
      const { failed, waited } = this.#tries;
      if (failed + waited === 0) net.patience.begin(began);
      const pause = late ? null : net.patience.pause(this.#tries, passing.wait);
      if (pause === null) throw this.#enough(passing);
      const when = pause >= 1000 ? ` in ${Math.round(pause / 1000)} s` : '';
      net.onwaiting(`${passing.problem}; trying again${when}`, passing.waitsFor);
      await sleep(pause, net.signal);
      net.signal.throwIfAborted();
      net.onwaited();
    }
  }

  #broken(cause: unknown): SluiceError {
    const { total } = this.remote.facts ?? { total: 0 };
    const got = total > 0 ? `${this.at} of ${total} bytes` : `${this.at} bytes`;
    return new SluiceError('download_failed', `the connection broke after ${got}; try again`, {
      facts: failedAt(this.remote.url, 'broken'),
      cause,
    });
  }

  #enough({ error }: Passing): SluiceError {
    if (offline()) {
      return new SluiceError(
        'offline',
        `this device went offline after ${this.at} bytes; connect it and load the model again`,
        { facts: { url: plainUrl(this.remote.url) }, cause: error },
      );
    }
    return reworded(error, error.message);
  }

  close(): void {
    this.#part?.cancel();
    this.#part = null;
  }
}
