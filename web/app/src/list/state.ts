// The list of conversations: what it shows, and what the reader does with it.
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import { SluiceError, states } from '@sluice/engine';
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
  summaries,
  take,
} from '../history/library';
import { historyTexts } from '../history/texts';
import { search, type Found } from '../history/search';
import { titleOf, type Conversation } from '../history/tree';
import { HistoryError } from '../history/store';
import {
  TransferError,
  allToJson,
  fileName,
  fromFile,
  toJson,
  toMarkdown,
} from '../history/transfer';
import { backToField, focusSoon } from '../page/focus';
import { chosenView, view } from '../page/view';
import { answering, open, show } from '../talk/state';
import { finish } from '../run';
import { t } from '../texts';
import { closeList, listOpen, listOver } from './open';
import { listTexts } from './texts';

export const query = signal('');
/** What the search has found so far; null: nothing is searched. */
const results = signal<Found[] | null>(null);
/** The same, as the conversations are called now, without those that have been deleted. */
export const hits = computed(() => {
  if (results.value === null) return null;
  const now = new Map(summaries.value.map((summary) => [summary.id, summary]));
  return results.value.flatMap((hit) => {
    const summary = now.get(hit.summary.id);
    return summary === undefined ? [] : [{ ...hit, summary }];
  });
});
export const searching = signal(false);
/** What went wrong with the last search, import or file, in words. */
export const refusal = signal('');

function refuse(error: unknown): void {
  refusal.value =
    historyTexts.peek().problems[error instanceof HistoryError ? error.code : 'failed'];
}

export const shownId = computed(() => open.value.tree.value.id);

/** Leaves the list where it lies over the conversation. */
function away(): void {
  if (listOver.value && listOpen.value) closeList();
}

export function newConversation(): void {
  ++wishes;
  chosenView.value = view.peek() === 'talk' ? chosenView.peek() : 'talk';
  show(take());
  if (listOver.value) listOpen.value = false;
  focusSoon('#draft');
}

/** Counts what the reader wants to be shown: the last wish holds, however long a conversation takes to be read. */
let wishes = 0;

export async function openConversation(id: string): Promise<void> {
  const mine = ++wishes;
  const found = await openById(id);
  if (found === null) return;
  if (mine !== wishes) {
    if (found !== open.peek() && found !== answering.peek()?.in) found.leave();
    return;
  }
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
/** The end of the latest one. */
let searched: Promise<void> = Promise.resolve();

export function find(text: string): Promise<void> {
  return (searched = searchFor(text));
}

/** Opens the first hit, as soon as there is one. */
export async function openFirst(): Promise<void> {
  const text = query.peek();
  if (hits.peek()?.length === 0) await searched;
  const [first] = hits.peek() ?? [];
  if (first === undefined || query.peek() !== text) return;
  await openConversation(first.summary.id);
  backToField();
}

async function searchFor(text: string): Promise<void> {
  query.value = text;
  most.value = SOME;
  abort?.abort();
  if (text.trim() === '') {
    batch(() => {
      results.value = null;
      searching.value = false;
    });
    return;
  }
  const { signal: mine } = (abort = new AbortController());
  batch(() => {
    searching.value = true;
    results.value = [];
    refusal.value = '';
  });
  const all: Found[] = [];
  let since = -Infinity;
  try {
    for await (const hit of search(text, await store(), { signal: mine })) {
      if (mine.aborted) return;
      all.push(hit);
      if (performance.now() - since < SHOWN_MS) continue;
      results.value = [...all];
      since = performance.now();
    }
  } catch (error) {
    if (!mine.aborted) refuse(error);
  } finally {
    if (!mine.aborted) {
      batch(() => {
        results.value = all;
        searching.value = false;
        announcement.value = t.peek().page.found(all.length);
      });
    }
  }
}

export async function rename(id: string, title: string): Promise<void> {
  if (titleOf(title) !== '') await retitle(id, title);
}

/** How often a state that is still being written is asked for. Each time takes a second. */
const TRIES = 60;

/** Of a conversation that is gone, what was computed goes as well. Where nothing is kept, there is nothing to do. */
async function forgetState(id: string): Promise<void> {
  for (let i = 0; i < TRIES; ++i) {
    try {
      await states.delete(id);
      return;
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'busy') return;
    }
  }
}

async function forgetStates(): Promise<void> {
  try {
    const all = await states.list();
    await states.clear();
    // One that is in use stays.
    for (const { id } of all) await forgetState(id);
  } catch {
    // Nothing is kept.
  }
}

/** For so long a conversation that was deleted can be taken back. */
const BACK_MS = 10_000;

interface Deleted {
  /** It is nowhere else any more. */
  conversation: Conversation;
  /** It was shown. */
  shown: boolean;
}

/** What was deleted last, while it can be taken back. */
export const deleted = signal<Deleted | null>(null);
let backTimer: ReturnType<typeof setTimeout> | undefined;

/** Ends the time in which it can be taken back, but not under the reader's fingers. */
function letGoLater(): void {
  clearTimeout(backTimer);
  backTimer = setTimeout(() => {
    if (document.activeElement?.closest('.list-deleted') != null) letGoLater();
    else deleted.value = null;
  }, BACK_MS);
}

export async function takeBack(): Promise<void> {
  const was = deleted.peek();
  if (was === null) return;
  deleted.value = null;
  try {
    const [id] = await bring([was.conversation]);
    if (id === undefined) return;
    focusSoon(`.item[data-id="${id}"] .item-open`, '.list-new');
    announcement.value = listTexts.peek().takenBack;
    if (was.shown) await openConversation(id);
  } catch (error) {
    deleted.value = was;
    refuse(error);
  }
}

export async function remove(id: string, title: string): Promise<void> {
  if (answering.peek()?.in.tree.peek().id === id) await finish();
  const shown = shownId.peek() === id;
  const conversation = await read(id).catch(() => null);
  await forget(id);
  void forgetState(id);
  deleted.value = conversation === null ? null : { conversation, shown };
  letGoLater();
  focusSoon('.list-new');
  announcement.value = t.peek().page.removed(title);
}

export async function removeAll(): Promise<void> {
  deleted.value = null;
  if (answering.peek() !== null) await finish();
  await forgetAll();
  void forgetStates();
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
    untracked(() => void finish().then(() => forgetState(into.tree.peek().id)));
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
  const conversation = await read(id).catch(refuse);
  if (conversation == null) return;
  const file =
    kind === 'json'
      ? toJson([conversation])
      : new Blob([toMarkdown(conversation, historyTexts.peek().markdown)], {
          type: 'text/markdown',
        });
  save(fileName(conversation.title, kind), file);
}

export async function saveAll(): Promise<void> {
  await settle();
  const files = (await allToJson(await store()).catch(refuse)) ?? [];
  const name = historyTexts.peek().allFile;
  files.forEach((file, i) => {
    save(fileName(files.length === 1 ? name : `${name} ${i + 1}`, 'json'), file);
  });
}

/** Reads conversations from a file. What can't be used is said, and nothing is taken then. */
export async function importFile(file: File): Promise<void> {
  refusal.value = '';
  const history = historyTexts.peek();
  try {
    const conversations = await fromFile(file);
    await bring(conversations);
    announcement.value = history.imported(conversations.length);
  } catch (error) {
    if (error instanceof TransferError) {
      refusal.value = history.refused(error.code, error.place, error.params);
    } else refuse(error);
  }
}
