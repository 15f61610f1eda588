// The list of conversations: what it shows, and what the reader does with it.
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import { SluiceError, type states } from '@sluice/engine';
import { historyTexts } from '../history/texts';
import type { Library } from '../history/library';
import { search, type Found } from '../history/search';
import { titleOf, type Conversation } from '../history/tree';
import { HistoryError } from '../history/store';
import { toMarkdown } from '../history/markdown-file';
import type * as Transfer from '../history/transfer';
import type { TalkController } from '../talk/controller';
import type { Clock } from '../ui/clock';
import { fileName } from '../ui/save-file';
import { listTexts } from './texts';
import { transferTexts } from './transfer-texts';

/** What the list does on the page. */
export interface ListPage {
  /** Shows the view of conversations. */
  toTalk(): void;
  /** Hides the list where it lies over the conversation. `back`: the focus goes to the button that shows it. */
  away(back: boolean): void;
  /** Moves the focus: to the message's field (also where that brings up a keyboard), back to it, to the list, or to one of it. */
  focus(to: 'field' | 'backToField' | 'list' | { id: string }): void;
  /** Whether the focus is at what takes a deleted conversation back. */
  isAtUndo(): boolean;
  /** Gives the reader a file. */
  save(name: string, file: Blob): void;
  announce(text: string): void;
}

export interface ListNeeds {
  library: Library;
  talk: Pick<TalkController, 'open' | 'answering' | 'show'>;
  /** What is computed for conversations. */
  states: Pick<typeof states, 'delete' | 'list' | 'clear'>;
  /** Fetches what makes files of conversations, and reads them. */
  transfer(): Promise<typeof Transfer>;
  /** Stops what is being written, and waits for its end. */
  finish(): Promise<void>;
  page: ListPage;
  clock: Clock;
}

/** So many conversations are drawn at first, and more at each wish for more. */
const SOME = 100;
/** Milliseconds after which what was found meanwhile is shown. */
const SHOWN_MS = 100;
/** How often a state that is still being written is asked for. Each time takes a second. */
const TRIES = 60;
/** For so long a conversation that was deleted can be taken back. */
const BACK_MS = 10_000;

interface Deleted {
  /** It is nowhere else any more. */
  conversation: Conversation;
  /** It was shown. */
  shown: boolean;
}

export class ListController {
  readonly query = signal('');
  /** What the search has found so far, as the conversations are called now, without those that have been deleted; null: nothing is searched. */
  readonly hits = computed(() => {
    if (this.#results.value === null) return null;
    const { summaries } = this.#needs.library;
    const now = new Map(summaries.value.map((summary) => [summary.id, summary]));
    return this.#results.value.flatMap((hit) => {
      const summary = now.get(hit.summary.id);
      return summary === undefined ? [] : [{ ...hit, summary }];
    });
  });
  readonly searching = signal(false);
  /** What went wrong with the last search, import or file, in words. */
  readonly refusal = signal('');
  /** How many of the list are drawn. */
  readonly most = signal(SOME);
  /** What was deleted last, while it can be taken back. */
  readonly deleted = signal<Deleted | null>(null);
  readonly shownId = computed(() => this.#needs.talk.open.value.tree.value.id);
  readonly #needs: ListNeeds;
  readonly #results = signal<Found[] | null>(null);
  /** Counts what the reader wants to be shown: the last wish holds, however long a conversation takes to be read. */
  #wishes = 0;
  /** Each search ends the one before. */
  #abort: AbortController | null = null;
  /** The end of the latest one. */
  #searched: Promise<void> = Promise.resolve();
  #undoLater: (() => void) | null = null;

  constructor(needs: ListNeeds) {
    this.#needs = needs;
  }

  #refuse(error: unknown): void {
    const code = error instanceof HistoryError ? error.code : 'failed';
    this.refusal.value = historyTexts.peek().problems[code];
  }

  newConversation(): void {
    const { talk, library, page } = this.#needs;
    this.#wishes += 1;
    page.toTalk();
    talk.show(library.take());
    page.away(false);
    page.focus('field');
  }

  async openConversation(id: string): Promise<void> {
    const { talk, library, page } = this.#needs;
    const mine = ++this.#wishes;
    const found = await library.openById(id);
    if (found === null) return;
    if (mine !== this.#wishes) {
      if (found !== talk.open.peek() && found !== talk.answering.peek()?.in) found.leave();
      return;
    }
    talk.show(found);
    page.away(true);
  }

  showMore(): void {
    this.most.value += SOME;
  }

  find(text: string): Promise<void> {
    this.#searched = this.#search(text);
    return this.#searched;
  }

  /** Opens the first hit, as soon as there is one. */
  async openFirst(): Promise<void> {
    const text = this.query.peek();
    if (this.hits.peek()?.length === 0) await this.#searched;
    const [first] = this.hits.peek() ?? [];
    if (first === undefined || this.query.peek() !== text) return;
    await this.openConversation(first.summary.id);
    this.#needs.page.focus('backToField');
  }

  async #search(text: string): Promise<void> {
    const { library, clock, page } = this.#needs;
    this.query.value = text;
    this.most.value = SOME;
    this.#abort?.abort();
    if (text.trim() === '') {
      batch(() => {
        this.#results.value = null;
        this.searching.value = false;
      });
      return;
    }
    this.#abort = new AbortController();
    const { signal: mine } = this.#abort;
    batch(() => {
      this.searching.value = true;
      this.#results.value = [];
      this.refusal.value = '';
    });
    const all: Found[] = [];
    let since = -Infinity;
    try {
      for await (const hit of search(text, library.store, { signal: mine })) {
        if (mine.aborted) return;
        all.push(hit);
        if (clock.now() - since < SHOWN_MS) continue;
        this.#results.value = [...all];
        since = clock.now();
      }
    } catch (error) {
      if (!mine.aborted) this.#refuse(error);
    } finally {
      if (!mine.aborted) {
        batch(() => {
          this.#results.value = all;
          this.searching.value = false;
          page.announce(listTexts.peek().found(all.length));
        });
      }
    }
  }

  async rename(id: string, title: string): Promise<void> {
    if (titleOf(title) !== '') await this.#needs.library.retitle(id, title);
  }

  /** Of a conversation that is gone, what was computed goes as well. Where nothing is kept, there is nothing to do. */
  async #forgetState(id: string): Promise<void> {
    for (let i = 0; i < TRIES; ++i) {
      try {
        await this.#needs.states.delete(id);
        return;
      } catch (error) {
        if (!(error instanceof SluiceError) || error.code !== 'busy') return;
      }
    }
  }

  async #forgetStates(): Promise<void> {
    const { states } = this.#needs;
    try {
      const all = await states.list();
      await states.clear();
      // One that is in use stays.
      for (const { id } of all) await this.#forgetState(id);
    } catch {
      // Nothing is kept.
    }
  }

  /** Ends the time in which it can be taken back, but not under the reader's fingers. */
  #letGoLater(): void {
    const { clock, page } = this.#needs;
    this.#undoLater?.();
    this.#undoLater = clock.after(BACK_MS, () => {
      if (page.isAtUndo()) this.#letGoLater();
      else this.deleted.value = null;
    });
  }

  async takeBack(): Promise<void> {
    const { library, page } = this.#needs;
    const was = this.deleted.peek();
    if (was === null) return;
    this.deleted.value = null;
    try {
      const [id] = await library.bring([was.conversation]);
      if (id === undefined) return;
      page.focus({ id });
      page.announce(listTexts.peek().takenBack);
      if (was.shown) await this.openConversation(id);
    } catch (error) {
      this.deleted.value = was;
      this.#refuse(error);
    }
  }

  async remove(id: string, title: string): Promise<void> {
    const { library, talk, page, finish } = this.#needs;
    if (talk.answering.peek()?.in.id === id) await finish();
    const shown = this.shownId.peek() === id;
    const conversation = await library.read(id).catch(() => null);
    await library.forget(id);
    void this.#forgetState(id);
    this.deleted.value = conversation === null ? null : { conversation, shown };
    this.#letGoLater();
    page.focus('list');
    page.announce(listTexts.peek().removed(title));
  }

  async removeAll(): Promise<void> {
    const { library, talk, page, finish } = this.#needs;
    this.deleted.value = null;
    if (talk.answering.peek() !== null) await finish();
    await library.forgetAll();
    void this.#forgetStates();
    page.focus('list');
  }

  /** From now on a conversation that is deleted, here or in another tab, is neither shown nor answered any more. */
  leaveDeleted(): void {
    const { library, talk, page, finish } = this.#needs;
    effect(() => {
      if (!talk.open.value.deleted.value) return;
      untracked(() => {
        const { title } = talk.open.value.tree.value;
        const words = listTexts.value;
        page.announce(words.removed(title === '' ? words.untitled : title));
        talk.show(library.take());
      });
    });
    effect(() => {
      const into = talk.answering.value?.in;
      if (into?.deleted.value !== true) return;
      // The other tab could not delete what is computed here until now.
      untracked(() => void finish().then(() => this.#forgetState(into.id)));
    });
  }

  /** The branch that is shown of a conversation, as a file of Markdown. */
  asMarkdown(of: Conversation): string {
    return toMarkdown(of, historyTexts.peek().markdown);
  }

  async saveAs(id: string, kind: 'json' | 'md'): Promise<void> {
    const { library, page, transfer } = this.#needs;
    try {
      const { toJson } = await transfer();
      const conversation = await library.read(id);
      if (conversation === null) return;
      const file =
        kind === 'json'
          ? toJson([conversation])
          : new Blob([this.asMarkdown(conversation)], { type: 'text/markdown' });
      page.save(fileName(conversation.title, kind), file);
    } catch (error) {
      this.#refuse(error);
    }
  }

  async saveAll(): Promise<void> {
    const { library, page, transfer } = this.#needs;
    try {
      const { allToJson } = await transfer();
      await library.settle();
      const files = await allToJson(library.store);
      const name = historyTexts.peek().allFile;
      files.forEach((file, i) => {
        page.save(fileName(files.length === 1 ? name : `${name} ${i + 1}`, 'json'), file);
      });
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Reads conversations from a file. What can't be used is said, and nothing is taken then. */
  async importFile(file: Blob): Promise<void> {
    const { library, page, transfer } = this.#needs;
    this.refusal.value = '';
    try {
      const { TransferError, fromFile } = await transfer();
      const read = await fromFile(file).catch((error: unknown) => {
        if (!(error instanceof TransferError)) throw error;
        this.refusal.value = transferTexts.peek().refused(error.code, error.place, error.params);
        return null;
      });
      if (read === null) return;
      await library.bring(read);
      page.announce(transferTexts.peek().imported(read.length));
    } catch (error) {
      this.#refuse(error);
    }
  }
}
