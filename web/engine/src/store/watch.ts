// How a tab learns of blocks that another tab writes: from the journal. It looks when the other tab says that there is
// something new, and from time to time, because some browsers refuse the channel.
import { readRecord, type Found } from './shelf.js';

/** Milliseconds after which the journal is read, if nobody told of a new block. */
const LOOK_MS = 500;

export class JournalWatch {
  readonly #channel: BroadcastChannel | null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #active = false;

  /** `onfound`: called with what the journal says, while the watch is active. */
  constructor(
    readonly folder: FileSystemDirectoryHandle,
    readonly key: string,
    readonly onfound: (found: Found) => void,
  ) {
    this.#channel = openChannel(key);
  }

  get active(): boolean {
    return this.#active;
  }

  start(): void {
    this.#active = true;
    if (this.#channel !== null) this.#channel.onmessage = () => this.#look();
    this.#lookLater();
  }

  /** Resolves when nothing more is found. */
  async stop(): Promise<void> {
    this.#active = false;
    clearTimeout(this.#timer);
    if (this.#channel !== null) this.#channel.onmessage = null;
    await this.#looking;
  }

  /** Tells other tabs that the journal has changed. */
  tell(): void {
    this.#channel?.postMessage(null);
  }

  close(): void {
    void this.stop();
    this.#channel?.close();
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (this.#active) this.#timer = setTimeout(() => this.#look(), LOOK_MS);
  }

  /** One reading at a time: calls meanwhile lead to one more. */
  #look(): void {
    this.#lookAgain = true;
    if (this.#looking !== null) return;
    this.#looking = this.#readJournal().finally(() => {
      this.#looking = null;
      this.#lookLater();
    });
  }

  /** Never rejects. */
  async #readJournal(): Promise<void> {
    while (this.#lookAgain && this.#active) {
      this.#lookAgain = false;
      const found = await readRecord(this.folder, this.key).catch(() => null);
      // Where it couldn't be read, the next look may succeed.
      if (found !== null && this.#active) this.onfound(found);
    }
  }
}

/** Null if the browser refuses it. */
function openChannel(key: string): BroadcastChannel | null {
  try {
    return new BroadcastChannel(`sluice-cache:${key}`);
  } catch {
    return null;
  }
}
