// The conversations of this device: their list, and those that are open in this tab.
import { batch, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { byChange, HistoryError, openStore } from './store';
import { type HistoryCode, type Store, type Summary } from './store';
import { keep, type Keeper } from './keeper';
import { dropLast, writeLast } from './last-words';
import { memoryStore } from './memory';
import { summaryOf } from './records';
import { openTabs, type Owned, type Tabs } from './tabs';
import { create, cutOff, rename, type Conversation } from './tree';

export type { Summary } from './store';

/** The last changed one first. */
export const summaries = signal<Summary[]>([]);
/** Why conversations are not kept, or not all of them; null: all is well. */
export const trouble = signal<HistoryCode | null>(null);

function told(error: unknown): void {
  trouble.value = error instanceof HistoryError ? error.code : 'failed';
}

let opening: Promise<Store> | null = null;

/** The store; without a place on the device, one that lasts as long as the page. */
export function store(): Promise<Store> {
  opening ??= openKept();
  return opening;
}

async function openKept(): Promise<Store> {
  try {
    const opened = await openStore();
    await writeLast(opened);
    return opened;
  } catch (error) {
    told(error);
    return memoryStore();
  }
}

/** The store, for whoever does not wait for it to be opened. */
const later: Store = {
  list: async () => (await store()).list(),
  get: async (id) => (await store()).get(id),
  put: async (conversation, previous, now) => (await store()).put(conversation, previous, now),
  add: async (conversations) => (await store()).add(conversations),
  rename: async (id, title) => (await store()).rename(id, title),
  delete: async (id) => (await store()).delete(id),
  deleteAll: async () => (await store()).deleteAll(),
  close: () => undefined,
};

/** Reads the list again. */
export async function refresh(): Promise<void> {
  try {
    summaries.value = await (await store()).list();
  } catch (error) {
    told(error);
  }
}

/** Shows in the list what was written here, without reading all of it. */
function enlist(written: Conversation): void {
  const others = summaries.peek().filter(({ id }) => id !== written.id);
  summaries.value = [summaryOf(written), ...others].sort(byChange);
}

const tabs: Tabs = openTabs({
  onMessage: (message) => {
    if (message.kind === 'yield') return;
    // A hidden tab reads the list when it is seen again.
    if (document.visibilityState === 'visible') void refresh();
    if (message.kind === 'removed') {
      for (const open of forgetOpen(message.id)) {
        const wrote = open.writer.peek();
        const written = open.forgotten();
        // This tab may have written it once more before it heard of that.
        if (wrote) void written.then(() => deleteAgain(open));
      }
      return;
    }
    for (const open of current.values()) {
      if (message.id !== null && message.id !== open.tree.peek().id) continue;
      if (open.writer.peek()) void open.takeTitle();
      else void open.reload();
    }
  },
});

/** A conversation that this tab shows or writes. */
export class Open {
  readonly tree: Signal<Conversation>;
  /** Whether this tab may write it; another one may have taken over. */
  readonly writer: ReadonlySignal<boolean>;
  /** Whether it is known who writes it. */
  readonly known = signal(false);
  /** Whether it was deleted, in this tab or another one. */
  readonly deleted = signal(false);
  /** Ends what is being written here; set by whoever writes answers. */
  interrupt: () => Promise<void> = async () => undefined;
  /** Puts what is being written into the tree as it is now; set by whoever writes answers. */
  collect: () => void = () => undefined;
  readonly #owned: Owned;
  readonly #keeper: Keeper;

  /** `kept`: whether the store has it already. */
  constructor(conversation: Conversation, kept: boolean) {
    this.tree = signal(conversation);
    this.#owned = tabs.own(conversation.id, {
      onYield: async () => {
        await this.interrupt();
        await this.#keeper.flush();
      },
      onGain: async () => {
        await writeLast(await store());
        await this.reload();
        this.#cutOff();
      },
    });
    this.writer = this.#owned.writer;
    void this.#owned.known.then(() => {
      this.known.value = true;
      if (this.writer.peek() && kept) this.#cutOff();
    });
    this.#keeper = keep(this.tree, later, {
      writer: this.writer,
      collect: () => this.collect(),
      onWritten: (written) => {
        tabs.changed(written.id, written.changed);
        enlist(written);
      },
    });
    if (kept) this.#keeper.saved(conversation);
    let mine: HistoryCode | null = null;
    effect(() => {
      const code = this.#keeper.problem.value?.code ?? null;
      if (code !== null) trouble.value = code;
      else if (mine !== null && trouble.peek() === mine) trouble.value = null;
      mine = code;
    });
  }

  /** An answer that was being written when its page was closed goes on no more. */
  #cutOff(): void {
    this.tree.value = cutOff(this.tree.peek());
  }

  /** Makes this tab the one that writes. The other one writes what it has first. */
  takeOver(): Promise<void> {
    return this.#owned.takeOver();
  }

  /** Shows what another tab has written. */
  async reload(): Promise<void> {
    try {
      const now = await (await store()).get(this.tree.peek().id);
      if (now === null) return;
      this.#keeper.saved(now);
      this.tree.value = now;
    } catch (error) {
      told(error);
    }
  }

  /** Another tab may have renamed it. */
  async takeTitle(): Promise<void> {
    try {
      const now = (await (await store()).list()).find(({ id }) => id === this.tree.peek().id);
      if (now === undefined || now.title === this.tree.peek().title) return;
      this.tree.value = rename(this.tree.peek(), now.title);
    } catch (error) {
      told(error);
    }
  }

  /**
   * Another conversation is shown, and nothing is written here: what is there is kept, and another tab may write. What
   * can't be kept stays open.
   */
  leave(): void {
    const { id } = this.tree.peek();
    if (current.get(id) === this) current.delete(id);
    const left = this.#end().finally(() => {
      if (leaving.get(id) === left) leaving.delete(id);
    });
    leaving.set(id, left);
  }

  async #end(): Promise<void> {
    await this.#keeper.flush();
    if (this.#keeper.problem.peek() !== null) {
      current.set(this.tree.peek().id, this);
      return;
    }
    await this.#keeper.stop();
    this.#owned.release();
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
    this.#keeper.forget(this.tree.peek().id);
    batch(() => {
      this.#owned.release();
      this.deleted.value = true;
    });
    return this.#keeper.flush();
  }
}

/** Those that this tab shows or writes. */
const current = new Map<string, Open>();

/** By id: those that are still being written for the last time. */
const leaving = new Map<string, Promise<void>>();

function remember(open: Open): Open {
  current.set(open.tree.peek().id, open);
  return open;
}

/** A new conversation. It is kept when it has a message. */
export function take(): Open {
  return remember(new Open(create(), false));
}

/** Opens a conversation; null if there is none with this id, or it can't be read. */
export async function openById(id: string): Promise<Open | null> {
  const known = current.get(id);
  if (known !== undefined) return known;
  try {
    await leaving.get(id);
    const found = await (await store()).get(id);
    // Two calls may have been on their way.
    return current.get(id) ?? (found === null ? null : remember(new Open(found, true)));
  } catch (error) {
    told(error);
    return null;
  }
}

/** A conversation as it is now, without opening it; null if there is none. */
export async function read(id: string): Promise<Conversation | null> {
  await leaving.get(id);
  return current.get(id)?.tree.peek() ?? (await (await store()).get(id));
}

/** Does something with the store, and shows the list anew. */
async function change(work: (into: Store) => Promise<unknown>): Promise<void> {
  try {
    await work(await store());
  } catch (error) {
    told(error);
  }
  await refresh();
}

export async function retitle(id: string, title: string): Promise<void> {
  const open = current.get(id);
  if (open !== undefined) open.tree.value = rename(open.tree.peek(), title);
  await change((into) => into.rename(id, title));
  tabs.changed(id);
}

/** Takes out of those that are open the one that was deleted, or all (null). One without messages is not kept yet. */
function forgetOpen(id: string | null): Open[] {
  const gone = [...current.values()].filter(({ tree }) => {
    const { id: its, messages } = tree.peek();
    return id === null ? Object.keys(messages).length > 0 : id === its;
  });
  for (const { tree } of gone) current.delete(tree.peek().id);
  return gone;
}

async function deleteAgain({ tree }: Open): Promise<void> {
  const { id } = tree.peek();
  dropLast(id);
  await change((into) => into.delete(id));
  tabs.changed(id);
}

/** Deletes a conversation. */
export async function forget(id: string): Promise<void> {
  // A last write that is on its way would bring the conversation back.
  await leaving.get(id);
  for (const open of forgetOpen(id)) await open.forgotten();
  dropLast(id);
  await change(async (into) => {
    await into.delete(id);
    tabs.removed(id);
  });
  // There may be room now for what could not be written.
  void settle();
}

export async function forgetAll(): Promise<void> {
  await Promise.all(leaving.values());
  for (const open of forgetOpen(null)) await open.forgotten();
  dropLast(null);
  await change(async (into) => {
    await into.deleteAll();
    tabs.removed(null);
  });
}

/** Waits until all that is open here, or was, is written. */
export async function settle(): Promise<void> {
  await Promise.all([...leaving.values(), ...[...current.values()].map((open) => open.flush())]);
}

/** Keeps conversations that were imported or taken back, all or none. Returns their ids, new ones where theirs are taken. */
export async function bring(conversations: readonly Conversation[]): Promise<string[]> {
  const ids = await (await store()).add(conversations);
  tabs.changed(null);
  await refresh();
  return ids;
}

/** Keeps the list up to date from now on. */
export function keepSummaries(): void {
  void refresh();
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void refresh();
  });
}
