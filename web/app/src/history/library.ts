// The conversations of this device: their list, and those that are open in this tab.
import { signal } from '@preact/signals';
import { byChange, HistoryError } from './store';
import { type HistoryCode, type Store, type Summary } from './store';
import type { Page } from './keeper';
import { dropLast, writeLast } from './last-words';
import { memoryStore } from './memory';
import { Open, type Home } from './open';
import { summaryOf } from './records';
import type { TabMessage, Tabs, TabsOptions } from './tabs';
import { create, rename, type Conversation } from './tree';

export type { Summary } from './store';

export interface LibraryNeeds {
  /** Opens the place on the device. Throws a HistoryError. */
  openStore(): Promise<Store>;
  /** Opens the way to the other tabs. */
  openTabs(options: TabsOptions): Tabs;
  /** Where the page's end is heard, and whether it is seen. */
  page: Page;
}

export class Library implements Home {
  /** The last changed one first. */
  readonly summaries = signal<Summary[]>([]);
  /** Why conversations are not kept, or not all of them; null: all is well. */
  readonly trouble = signal<HistoryCode | null>(null);
  readonly tabs: Tabs;
  readonly page: Page;
  readonly #needs: LibraryNeeds;
  #opening: Promise<Store> | null = null;
  /** By id: those that this tab shows or writes. */
  readonly #current = new Map<string, Open>();
  /** By id: those that are still being written for the last time. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(needs: LibraryNeeds) {
    this.#needs = needs;
    this.page = needs.page;
    this.tabs = needs.openTabs({ onMessage: (message) => this.#hear(message) });
  }

  /** The store; without a place on the device, one that lasts as long as the page. */
  opened(): Promise<Store> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<Store> {
    try {
      const store = await this.#needs.openStore();
      await writeLast(store);
      return store;
    } catch (error) {
      this.told(error);
      return memoryStore();
    }
  }

  /** The store, for whoever does not wait for it to be opened. */
  readonly store: Store = {
    list: async () => (await this.opened()).list(),
    get: async (id) => (await this.opened()).get(id),
    put: async (conversation, previous, now) =>
      (await this.opened()).put(conversation, previous, now),
    add: async (conversations) => (await this.opened()).add(conversations),
    rename: async (id, title) => (await this.opened()).rename(id, title),
    delete: async (id) => (await this.opened()).delete(id),
    deleteAll: async () => (await this.opened()).deleteAll(),
    close: () => undefined,
  };

  told(error: unknown): void {
    this.trouble.value = error instanceof HistoryError ? error.code : 'failed';
  }

  async takeLast(): Promise<void> {
    await writeLast(await this.opened());
  }

  /** Reads the list again. */
  async refresh(): Promise<void> {
    try {
      this.summaries.value = await this.store.list();
    } catch (error) {
      this.told(error);
    }
  }

  /** Shows in the list what was written here, without reading all of it, and tells the other tabs. */
  written(conversation: Conversation): void {
    this.tabs.changed(conversation.id, conversation.changed);
    const others = this.summaries.peek().filter(({ id }) => id !== conversation.id);
    this.summaries.value = [summaryOf(conversation), ...others].sort(byChange);
  }

  #hear(message: TabMessage): void {
    if (message.kind === 'yield') return;
    // A hidden tab reads the list when it is seen again.
    if (this.page.document.visibilityState === 'visible') void this.refresh();
    if (message.kind === 'removed') {
      for (const open of this.#takeOut(message.id)) {
        const wrote = open.writer.peek();
        const written = open.forgotten();
        // This tab may have written it once more before it heard of that.
        if (wrote) void written.then(() => this.#deleteAgain(open.id));
      }
      return;
    }
    for (const open of this.#current.values()) {
      if (message.id !== null && message.id !== open.id) continue;
      if (open.writer.peek()) void open.takeTitle();
      else void open.reload();
    }
  }

  #remember(open: Open): Open {
    this.#current.set(open.id, open);
    return open;
  }

  /** A new conversation. It is kept when it has a message. */
  take(): Open {
    return this.#remember(new Open(this, create(), false));
  }

  /** Opens a conversation; null if there is none with this id, or it can't be read. */
  async openById(id: string): Promise<Open | null> {
    const known = this.#current.get(id);
    if (known !== undefined) return known;
    try {
      await this.#leaving.get(id);
      const found = await this.store.get(id);
      // Two calls may have been on their way.
      const other = this.#current.get(id);
      if (other !== undefined) return other;
      return found === null ? null : this.#remember(new Open(this, found, true));
    } catch (error) {
      this.told(error);
      return null;
    }
  }

  leave(open: Open): void {
    const { id } = open;
    if (this.#current.get(id) === open) this.#current.delete(id);
    const ending = async (): Promise<void> => {
      if (!(await open.end())) this.#current.set(id, open);
    };
    const left = ending().finally(() => {
      if (this.#leaving.get(id) === left) this.#leaving.delete(id);
    });
    this.#leaving.set(id, left);
  }

  /** A conversation as it is now, without opening it; null if there is none. */
  async read(id: string): Promise<Conversation | null> {
    await this.#leaving.get(id);
    return this.#current.get(id)?.tree.peek() ?? (await this.store.get(id));
  }

  /** Does something with the store, and shows the list anew. */
  async #change(work: (into: Store) => Promise<unknown>): Promise<void> {
    try {
      await work(this.store);
    } catch (error) {
      this.told(error);
    }
    await this.refresh();
  }

  async retitle(id: string, title: string): Promise<void> {
    const open = this.#current.get(id);
    if (open !== undefined) open.tree.value = rename(open.tree.peek(), title);
    await this.#change((into) => into.rename(id, title));
    this.tabs.changed(id);
  }

  /** Takes out of those that are open the one that was deleted, or all (null). One without messages is not kept yet. */
  #takeOut(id: string | null): Open[] {
    const gone = [...this.#current.values()].filter((open) =>
      id === null ? Object.keys(open.tree.peek().messages).length > 0 : id === open.id,
    );
    for (const open of gone) this.#current.delete(open.id);
    return gone;
  }

  async #deleteAgain(id: string): Promise<void> {
    dropLast(id);
    await this.#change((into) => into.delete(id));
    this.tabs.changed(id);
  }

  /** Deletes a conversation. */
  async forget(id: string): Promise<void> {
    // A last write that is on its way would bring the conversation back.
    await this.#leaving.get(id);
    for (const open of this.#takeOut(id)) await open.forgotten();
    dropLast(id);
    await this.#change(async (into) => {
      await into.delete(id);
      this.tabs.removed(id);
    });
    // There may be room now for what could not be written.
    void this.settle();
  }

  async forgetAll(): Promise<void> {
    await Promise.all(this.#leaving.values());
    for (const open of this.#takeOut(null)) await open.forgotten();
    dropLast(null);
    await this.#change(async (into) => {
      await into.deleteAll();
      this.tabs.removed(null);
    });
  }

  /** Waits until all that is open here, or was, is written. */
  async settle(): Promise<void> {
    const open = [...this.#current.values()].map((one) => one.flush());
    await Promise.all([...this.#leaving.values(), ...open]);
  }

  /** Keeps conversations that were imported or taken back, all or none. Returns their ids, new ones where theirs are taken. */
  async bring(conversations: readonly Conversation[]): Promise<string[]> {
    const ids = await this.store.add(conversations);
    this.tabs.changed(null);
    await this.refresh();
    return ids;
  }

  /** Keeps the list up to date from now on. */
  keepSummaries(): void {
    void this.refresh();
    const { document } = this.page;
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') void this.refresh();
    });
  }
}
