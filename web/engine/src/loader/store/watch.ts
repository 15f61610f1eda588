// Finds the blocks that another tab writes by reading their journal: when that tab sends a message, and every LOOK_MS, because
// some browsers refuse the channel.
import { openChannel } from '../../platform/here.js';
import type { Channel, Folder } from '../../platform/platform.js';
import { readRecord, type Found } from './shelf.js';

/** Milliseconds after which the journal is read if no message has arrived. */
const LOOK_MS = 500;

export class JournalWatch {
  readonly #channel: Channel | null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #active = false;

  /** `onfound`: called with the journal's contents, while the watch is active. */
  constructor(
    readonly folder: Folder,
    readonly key: string,
    readonly onfound: (found: Found) => void,
  ) {
    this.#channel = openChannel(`sluice-cache:${key}`);
  }

  get active(): boolean {
    return this.#active;
  }

  start(): void {
    this.#active = true;
    if (this.#channel !== null) this.#channel.onmessage = () => this.#look();
    this.#lookLater();
  }

  /** Resolves when the last read has ended. */
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

  /** One read at a time: calls during a read cause one more. */
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
      // If it couldn't be read, the next read may succeed.
      if (found !== null && this.#active) this.onfound(found);
    }
  }
}
