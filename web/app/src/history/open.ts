// A conversation that this tab shows or writes.
import { batch, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { keep, type Keeper, type Page } from './keeper';
import type { HistoryCode, Store } from './store';
import type { Owned, Tabs } from './tabs';
import { cutOff, rename, type Conversation } from './tree';

/** What is being written into a conversation. */
export interface Work {
  /** Ends it. */
  interrupt(): Promise<void>;
  /** Puts it into the conversation as it is now. */
  collect(): void;
}

/** What an open conversation needs of the library that it belongs to (library.ts). */
export interface Home {
  readonly tabs: Tabs;
  /** One that waits until the place on the device is open. */
  readonly store: Store;
  readonly page: Page;
  readonly trouble: Signal<HistoryCode | null>;
  /** Something could not be read. */
  told(error: unknown): void;
  /** Writes what pages before this one have left. */
  takeLast(): Promise<void>;
  /** It was written. */
  written(conversation: Conversation): void;
  /** It is shown no more: ends it. */
  leave(open: Open): void;
}

export class Open {
  readonly tree: Signal<Conversation>;
  /** Whether this tab may write it; another one may have taken over. */
  readonly writer: ReadonlySignal<boolean>;
  /** Whether it is known who writes it. */
  readonly known = signal(false);
  /** Whether it was deleted, in this tab or another one. */
  readonly deleted = signal(false);
  /** What is being written into it; null: nothing. Set by whoever writes answers. */
  work: Work | null = null;
  readonly #home: Home;
  readonly #owned: Owned;
  readonly #keeper: Keeper;
  readonly #unwatch: () => void;

  /** `kept`: whether the store has it already. */
  constructor(home: Home, conversation: Conversation, kept: boolean) {
    this.#home = home;
    this.tree = signal(conversation);
    this.#owned = home.tabs.own(conversation.id, {
      onYield: async () => {
        await this.work?.interrupt();
        await this.#keeper.flush();
      },
      onGain: async () => {
        await home.takeLast();
        await this.reload();
        this.#cutOff();
      },
    });
    this.writer = this.#owned.writer;
    void this.#owned.known.then(() => {
      this.known.value = true;
      if (this.writer.peek() && kept) this.#cutOff();
    });
    this.#keeper = keep(this.tree, home.store, {
      writer: this.writer,
      collect: () => this.work?.collect(),
      onWritten: (written) => home.written(written),
      page: home.page,
    });
    if (kept) this.#keeper.saved(conversation);
    let mine: HistoryCode | null = null;
    this.#unwatch = effect(() => {
      const code = this.#keeper.problem.value?.code ?? null;
      const { trouble } = home;
      if (code !== null) trouble.value = code;
      else if (mine !== null && trouble.peek() === mine) trouble.value = null;
      mine = code;
    });
  }

  get id(): string {
    return this.tree.peek().id;
  }

  /** An answer that was being written when its page was closed goes on no more. */
  #cutOff(): void {
    this.tree.value = cutOff(this.tree.peek());
  }

  /** Makes this tab the one that writes. The other one writes what it has first. */
  takeOver(): Promise<void> {
    return this.#owned.takeOver();
  }

  /** Says that what is being written has grown. It is collected and kept when the time for that has come. */
  grows(): void {
    this.#keeper.grows();
  }

  /** Shows what another tab has written. */
  async reload(): Promise<void> {
    try {
      const now = await this.#home.store.get(this.id);
      // If this tab writes by now, what it has is newer.
      if (now === null || this.writer.peek()) return;
      this.#keeper.saved(now);
      this.tree.value = now;
    } catch (error) {
      this.#home.told(error);
    }
  }

  /** Another tab may have renamed it. */
  async takeTitle(): Promise<void> {
    try {
      const now = (await this.#home.store.list()).find(({ id }) => id === this.id);
      if (now === undefined || now.title === this.tree.peek().title) return;
      this.tree.value = rename(this.tree.peek(), now.title);
    } catch (error) {
      this.#home.told(error);
    }
  }

  /**
   * Another conversation is shown, and nothing is written here: what is there is kept, and another tab may write. What
   * can't be kept stays open.
   */
  leave(): void {
    this.#home.leave(this);
  }

  /** For the library: writes what is not written yet, and ends. False: that failed, and it has not ended. */
  async end(): Promise<boolean> {
    await this.#keeper.flush();
    if (this.#keeper.problem.peek() !== null) return false;
    await this.#keeper.stop();
    this.#unwatch();
    this.#owned.release();
    return true;
  }

  /** Writes what is not written yet. */
  flush(): Promise<void> {
    return this.#keeper.flush();
  }

  /**
   * It was deleted: nothing of it is written any more, also of an answer that has not ended yet. Resolves when what was
   * being written is.
   */
  forgotten(): Promise<void> {
    this.#keeper.forget(this.id);
    batch(() => {
      this.#owned.release();
      this.deleted.value = true;
    });
    return this.#keeper.flush();
  }
}
