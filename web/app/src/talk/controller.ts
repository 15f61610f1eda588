// The conversation that is open, and what the reader does with it.
import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Engine, EngineStats, Token } from '@sluice/engine';
import type { Library } from '../history/library';
import type { Open } from '../history/open';
import { sameParts, textOf, type PartKind, type Parts } from '../history/parts';
import {
  append,
  choose,
  edit,
  message,
  messageOf,
  path,
  remove,
  retry,
  update,
  type Conversation,
  type Figures,
  type Message,
} from '../history/tree';
import { TokenLog } from '../inside/log';
import type { Looks } from '../inside/looks';
import { sentences } from '../markdown/plain';
import type { Lender } from '../model/lender';
import type { Runs } from '../model/run';
import type { Problem } from '../model/state';
import type { Outcome } from '../model/use';
import type { Settings } from '../settings/settings';
import { settingsText } from '../settings/text';
import type { Clock } from '../ui/clock';
import { Answering } from './answering';
import { ask, isCut, tellsStories } from './ask';
import { FieldController, type FieldNeeds } from './field-controller';
import { partsToGoOnWith } from './request';

export interface TalkNeeds extends FieldNeeds {
  library: Pick<Library, 'take' | 'openById' | 'trouble'>;
  lender: Lender;
  runs: Pick<Runs, 'begin' | 'finish' | 'run' | 'busy'>;
  settings: ReadonlySignal<Settings>;
  /** Tells screen readers that the reader has stopped an answer. */
  announceStop(): void;
  clock: Clock;
  /** What is asked of each token beside its text: what it was chosen from, while somebody looks. */
  looks(): Looks;
}

/** Where a tab remembers which conversation it shows. */
export interface Tab {
  remembered(): string | null;
  /** Null: none. Returns whether there is a place for it. */
  remember(id: string | null): boolean;
}

export class TalkController {
  /** The conversation that is shown. */
  readonly open: Signal<Open>;
  readonly conversation = computed(() => this.open.value.tree.value);
  /** The messages of the branch that is shown. */
  readonly shown = computed(() => path(this.conversation.value));
  readonly field: FieldController;
  /** The answer that is being written, in this conversation or another one. */
  readonly answering = signal<Answering | null>(null);
  /** The same, if it is in the conversation that is shown. */
  readonly answeringHere = computed(() =>
    this.answering.value?.in === this.open.value ? this.answering.value : null,
  );
  /** Sentences of the answer that have just been finished. Read out by screen readers (thread.tsx). */
  readonly spoken = signal('');
  /** Whether the reader can send: nothing is being written, there is a model that writes, and this tab may write. */
  readonly sendable = computed(
    () =>
      !this.#needs.runs.busy.value &&
      this.#needs.lender.canWrite.value &&
      this.open.value.writer.value,
  );
  /** What the answer that is shown is doing. */
  readonly doing = computed(() =>
    this.answeringHere.value === null ? 'idle' : this.#needs.runs.run.value,
  );
  /** Why the last answer in the conversation that is shown failed. */
  readonly failure: { value: Problem | null };
  readonly #needs: TalkNeeds;
  /** The tokens of the answers of this visit, by their messages; the newest last. */
  readonly #logs = new Map<string, TokenLog>();
  /** Why the last answers of conversations failed, by conversation. A load of a model ends them. */
  readonly #failures = signal<ReadonlyMap<string, Problem>>(new Map());

  constructor(needs: TalkNeeds) {
    this.#needs = needs;
    this.open = signal(needs.library.take());
    this.field = new FieldController(this.open, needs);
    const failureHere = (): Problem | null =>
      this.#failures.value.get(this.conversation.value.id) ?? null;
    const setFailureHere = (why: Problem | null): void =>
      this.#setFailure(this.open.peek().id, why);
    this.failure = {
      get value() {
        return failureHere();
      },
      set value(why) {
        setFailureHere(why);
      },
    };
    effect(() => {
      if (needs.lender.loading.value !== null) this.#failures.value = new Map();
    });
  }

  #setFailure(id: string, why: Problem | null): void {
    const others = [...this.#failures.peek()].filter(([other]) => other !== id);
    this.#failures.value = new Map(why === null ? others : [...others, [id, why]]);
  }

  /** Sends what is in the field: as a new message, or in place of the one that is being edited. */
  send(): void {
    const { field } = this;
    if (!this.sendable.value || !field.written.value) return;
    const text = field.draft.value.trim();
    const attachments = field.attachments.value;
    const edited = field.editing.value;
    const { tree } = this.open.value;
    const before = tree.value;
    batch(() => {
      tree.value =
        edited === null
          ? append(before, message(before, 'user', text, { attachments }))
          : edit(before, edited, text, attachments);
      field.leave();
    });
    this.answer();
  }

  /** Writes an answer again, as a sibling of the one that there is. */
  again(id: string): void {
    if (!this.sendable.value) return;
    const { tree } = this.open.value;
    tree.value = retry(tree.value, id);
    this.answer();
  }

  /** Shows the branch of this message. */
  switchTo(id: string): void {
    const { tree } = this.open.value;
    tree.value = choose(tree.value, id);
  }

  /** Shows another conversation. What is in the field stays with the one that is left; if that was deleted, it goes along. */
  show(next: Open): void {
    const left = this.open.value;
    if (next === left) return;
    batch(() => {
      this.field.move(left, next);
      if (this.answering.value?.in !== left) left.leave();
      this.open.value = next;
    });
  }

  /** Answers the last message of the branch that is shown. */
  answer(): void {
    if (!this.sendable.value) return;
    const { tree } = this.open.value;
    const mine = message(tree.value, 'assistant', '');
    this.#begin(append(tree.value, mine), mine);
  }

  /** Goes on with the last answer of the branch that is shown, if it was cut. */
  goOn(): void {
    const last = this.shown.value.at(-1);
    if (!this.sendable.value || last === undefined || !isCut(last)) return;
    const mine = { ...last, parts: partsToGoOnWith(last) };
    this.#begin(update(this.conversation.value, last.id, { finish: null }), mine);
  }

  /** The tokens of an answer; null: nobody has kept them. */
  logOf(id: string): TokenLog | null {
    return this.#logs.get(id) ?? null;
  }

  /** Keeps what is known of an answer's tokens; of the oldest answers nothing is. */
  keepLog(id: string, log: TokenLog): void {
    this.#logs.delete(id);
    this.#logs.set(id, log);
    for (const oldest of this.#logs.keys()) {
      if (this.#logs.size <= MOST_LOGS) break;
      this.#logs.delete(oldest);
    }
  }

  /**
   * Writes another answer in the place of one: it begins with these parts. `log`: what is known of their tokens. False: not now.
   */
  branch(id: string, parts: Parts, log: TokenLog): boolean {
    if (!this.sendable.value || messageOf(this.conversation.value, id) === undefined) return false;
    const tree = retry(this.conversation.value, id);
    const other = message(tree, 'assistant', '', { parts });
    this.keepLog(other.id, log);
    this.#begin(append(tree, other), { ...other, parts: partsToGoOnWith(other) });
    return true;
  }

  /** From now on the conversation is one with this model. */
  goOnWith({ tree }: Open, name: string, from: string): void {
    const had = tree.peek();
    if (had.from !== from || had.model !== name) tree.value = { ...had, model: name, from };
  }

  /** Begins to write `mine`, which is in the conversation already, from its text on. */
  #begin(tree: Conversation, mine: Message): void {
    const { lender, runs, clock } = this.#needs;
    const into = this.open.value;
    batch(() => {
      lender.closeProblem();
      this.#setFailure(into.id, null);
      into.tree.value = tree;
      const now = new Answering(into, mine, clock);
      this.answering.value = now;
      into.work = { interrupt: () => runs.finish(), collect: () => this.#collect(now) };
      void runs.begin((abort) => this.#write(abort, mine, now));
    });
  }

  async #write(abort: AbortSignal, mine: Message, now: Answering): Promise<void> {
    const { lender } = this.#needs;
    const into = now.in;
    let ending: Partial<Message> = {};
    const outcome = await lender.lend(abort, 'chosen', async (by) => {
      now.restart();
      ending = await this.#stream(by, abort, mine, now);
    });
    const parts = now.said();
    batch(() => {
      if (outcome.kind !== 'done' && parts.length === 0) {
        into.tree.value = remove(into.tree.value, mine.id);
      } else {
        const finish = FINISHES[outcome.kind];
        into.tree.value = update(into.tree.value, mine.id, { finish, ...ending, parts });
      }
      if (outcome.kind === 'failed') {
        // It belongs to this conversation alone.
        this.#setFailure(into.id, lender.problem.peek());
        lender.closeProblem();
      }
      this.answering.value = null;
      into.work = null;
      if (outcome.kind === 'aborted' && !into.deleted.value) this.#needs.announceStop();
    });
    // After the batch: what keeps the conversation has to see its last state first.
    if (into !== this.open.peek()) into.leave();
  }

  /** Writes one answer. Returns how it ended. */
  async #stream(
    by: Engine,
    abort: AbortSignal,
    mine: Message,
    now: Answering,
  ): Promise<Partial<Message>> {
    const { lender, settings, looks } = this.#needs;
    const into = now.in;
    // Named here, so that the answer can be had again.
    const seed = settings.value.seed ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
    const names = lender.names();
    if (names !== null) this.goOnWith(into, names.name, names.ref);
    const log = this.logOf(mine.id) ?? new TokenLog();
    this.keepLog(mine.id, log);
    // Of an answer that goes on, what is there already.
    const there = mine.parts.map(({ text }) => text).join('');
    const known = mine.figures?.tokens ?? log.length;
    const had = there === '' ? 0 : known || (await by.countTokens(there));
    let spoken = textOf(mine).length;
    const kept = settingsText(settings.value);
    log.begin(there.length, 'text', kept);
    now.onGrown = () => {
      lender.onToken(by);
      if (into === this.open.value) spoken = this.#speak(now, spoken, false);
    };
    let promptTokens: number | null = null;
    try {
      const { finish, dropped, stats } = await ask(by, {
        conversation: into.tree.value,
        mine,
        story: tellsStories(lender.model.value),
        settings: settings.value,
        seed,
        signal: abort,
        looks: looks(),
        onProgress: (progress) => lender.onReading(progress),
        onGiven: (text) => {
          log.begin(there.length + text.length, 'text', kept);
          now.give(text);
        },
        onToken: (part: PartKind, token: Token) => {
          now.add(part, token.text);
          log.add(token);
          into.grows();
        },
      });
      promptTokens = stats.promptTokens;
      const { tokens, tokensPerSecond, bytesPerToken } = stats;
      lender.learn({ tokens, tokensPerSecond, bytesPerToken });
      now.take();
      if (into === this.open.value) this.#speak(now, spoken, true);
      return { finish, dropped, figures: figuresOf(stats, now, seed, names?.shown ?? '', had) };
    } finally {
      // What was stopped or failed keeps what came.
      now.take();
      log.end(seed, promptTokens);
    }
  }

  /** Says the sentences that are finished since `from`. Returns where to go on. */
  #speak(now: Answering, from: number, ended: boolean): number {
    const text = textOf({ parts: now.said() });
    const { sentences: said, to } = sentences(text, from, ended);
    if (said.length > 0) this.spoken.value = said.join(' ');
    return to;
  }

  /** Puts what is written so far into its conversation, so that it is kept. */
  #collect(now: Answering): void {
    now.take();
    const { tree } = now.in;
    const had = messageOf(tree.peek(), now.id);
    const parts = now.said();
    if (had !== undefined && !sameParts(had.parts, parts))
      tree.value = update(tree.peek(), now.id, { parts });
  }

  /** Opens the conversation that this tab showed last, and remembers the one that it shows from now on. */
  async comeBack(tab: Tab): Promise<void> {
    const { library } = this.#needs;
    const id = tab.remembered();
    let gone: string | null = null;
    if (id !== null) {
      const before = this.open.value;
      const found = await library.openById(id);
      if (found === null) gone = id;
      // The reader may have begun another one meanwhile.
      if (found !== null && this.open.value === before && before.tree.value.leaf === null) {
        // What was typed before is meant for the conversation that comes back.
        const { draft } = this.field;
        const typed = draft.value;
        draft.value = '';
        this.show(found);
        if (typed !== '') draft.value = typed;
      }
      if (found !== this.open.value && found !== this.answering.value?.in) found?.leave();
    }
    this.field.keep(gone);
    effect(() => {
      const { id: shown, leaf } = this.conversation.value;
      if (!tab.remember(leaf === null ? null : shown)) library.trouble.value ??= 'none';
    });
  }
}

/** Answers whose tokens are kept. */
const MOST_LOGS = 20;

/** How an answer ended, unless the model says it otherwise. */
const FINISHES = {
  done: 'stop',
  aborted: 'aborted',
  none: 'error',
  failed: 'error',
} as const satisfies Record<Outcome['kind'], Message['finish']>;

function figuresOf(
  stats: EngineStats,
  now: Answering,
  seed: number,
  model: string,
  had: number,
): Figures {
  const { promptTokens, reusedTokens, tokens, tokensPerSecond } = stats;
  return {
    promptTokens: Math.max(0, promptTokens - had),
    reusedTokens,
    tokens: tokens + had,
    tokensPerSecond,
    ttftMs: Math.round((now.first ?? now.since) - now.since),
    seed,
    model,
  };
}
