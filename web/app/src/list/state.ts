// The list of conversations: what it shows, and what the reader does with it.
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import { states } from '@sluice/engine';
import { announcement } from '../announce';
import {
  bring,
  forget,
  forgetAll,
  openById,
  read,
  retitle,
  settle,
  store,
  take,
} from '../history/library';
import { search, type Found } from '../history/search';
import { HistoryError } from '../history/store';
import {
  TransferError,
  allToJson,
  fileName,
  fromFile,
  toJson,
  toMarkdown,
} from '../history/transfer';
import { focusSoon } from '../page/focus';
import { chosenView, view } from '../page/view';
import { answering, open, show } from '../talk/state';
import { finish } from '../run';
import { t } from '../texts';

const wide = window.matchMedia('(min-width: 64rem)');

/** Whether the list is shown: beside the conversation where there is room, over it elsewhere. */
export const listOpen = signal(wide.matches);
/** Whether it lies over the conversation. */
export const listOver = signal(!wide.matches);
wide.addEventListener('change', () => {
  listOver.value = !wide.matches;
  listOpen.value = wide.matches;
});

export const query = signal('');
/** What was found so far; null: nothing is searched. */
export const hits = signal<Found[] | null>(null);
export const searching = signal(false);
/** What went wrong with the last import, in words. */
export const refusal = signal('');

export const shownId = computed(() => open.value.tree.value.id);

/** Hides the list, and goes back to the button that shows it. */
export function closeList(): void {
  listOpen.value = false;
  focusSoon('.list-button');
}

/** Leaves the list where it lies over the conversation. */
function away(): void {
  if (listOver.value && listOpen.value) closeList();
}

export function newConversation(): void {
  chosenView.value = view.peek() === 'talk' ? chosenView.peek() : 'talk';
  show(take());
  if (listOver.value) listOpen.value = false;
  focusSoon('#draft');
}

export async function openConversation(id: string): Promise<void> {
  const found = await openById(id);
  if (found === null) return;
  show(found);
  away();
}

/** So many conversations are drawn at first, and more at each wish for more. */
const SOME = 100;
/** How many of the list are drawn. */
export const most = signal(SOME);

export function showMore(): void {
  most.value += SOME;
}

/** Milliseconds after which what was found meanwhile is shown. */
const SHOWN_MS = 100;

/** Each search ends the one before. */
let abort: AbortController | null = null;

export async function find(text: string): Promise<void> {
  query.value = text;
  most.value = SOME;
  abort?.abort();
  if (text.trim() === '') {
    batch(() => {
      hits.value = null;
      searching.value = false;
    });
    return;
  }
  const { signal: mine } = (abort = new AbortController());
  batch(() => {
    searching.value = true;
    hits.value = [];
  });
  const found: Found[] = [];
  let since = -Infinity;
  try {
    for await (const hit of search(text, await store(), { signal: mine })) {
      if (mine.aborted) return;
      found.push(hit);
      if (performance.now() - since < SHOWN_MS) continue;
      hits.value = [...found];
      since = performance.now();
    }
  } catch (error) {
    // The list says what is wrong with the store; this concerns only the search.
    if (!(error instanceof HistoryError)) throw error;
    refusal.value = t.peek().history.problems[error.code];
  } finally {
    if (!mine.aborted) {
      hits.value = found;
      searching.value = false;
      announcement.value = t.peek().page.found(hits.value?.length ?? 0);
    }
  }
}

export async function rename(id: string, title: string): Promise<void> {
  const clean = title.replace(/\s+/g, ' ').trim().slice(0, 200);
  if (clean !== '') await retitle(id, clean);
}

/** Of a conversation that is gone, what was computed goes as well. Where nothing is kept, there is nothing to do. */
async function forgetStates(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    void error;
  }
}

export async function remove(id: string, title: string): Promise<void> {
  if (answering.peek()?.in.tree.peek().id === id) await finish();
  await forget(id);
  void forgetStates(() => states.delete(id));
  focusSoon('.list-new');
  announcement.value = t.peek().page.removed(title);
}

export async function removeAll(): Promise<void> {
  if (answering.peek() !== null) await finish();
  await forgetAll();
  void forgetStates(() => states.clear());
  focusSoon('.list-new');
}

/** From now on a conversation that is deleted, here or in another tab, is neither shown nor answered any more. */
export function leaveDeleted(): void {
  effect(() => {
    if (!open.value.deleted.value) return;
    untracked(() => {
      const { title } = open.value.tree.value;
      announcement.value = t.value.page.removed(title === '' ? t.value.page.untitled : title);
      show(take());
    });
  });
  effect(() => {
    const into = answering.value?.in;
    if (into?.deleted.value !== true) return;
    // The other tab could not delete what is computed here until now.
    untracked(() => void finish().then(() => forgetStates(() => states.delete(into.tree.peek().id))));
  });
}

/** Gives the reader a file. */
function save(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // By then the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function saveAs(id: string, kind: 'json' | 'md'): Promise<void> {
  const conversation = await read(id);
  if (conversation === null) return;
  const file =
    kind === 'json'
      ? toJson([conversation])
      : new Blob([toMarkdown(conversation, t.peek().history.markdown)], { type: 'text/markdown' });
  save(fileName(conversation.title, kind), file);
}

export async function saveAll(): Promise<void> {
  await settle();
  const files = await allToJson(await store());
  const name = t.peek().history.allFile;
  files.forEach((file, i) => {
    save(fileName(files.length === 1 ? name : `${name} ${i + 1}`, 'json'), file);
  });
}

/** Reads conversations from a file. What can't be used is said, and nothing is taken then. */
export async function importFile(file: File): Promise<void> {
  refusal.value = '';
  const { history } = t.peek();
  try {
    const conversations = await fromFile(file);
    await bring(conversations);
    announcement.value = history.imported(conversations.length);
  } catch (error) {
    if (error instanceof TransferError) {
      refusal.value = history.refused(error.code, error.place, error.params);
    } else {
      refusal.value = history.problems[error instanceof HistoryError ? error.code : 'failed'];
    }
  }
}
