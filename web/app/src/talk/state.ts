// The conversation that is open, and what the reader does with it.
import { batch, computed, effect, signal, type Signal } from '@preact/signals';
import type { Engine, Timings } from '@sluice/engine';
import { announcement } from '../announce';
import { take, type Open } from '../history/library';
import {
  append,
  choose,
  edit,
  message,
  messageOf,
  path,
  retry,
  update,
  remove,
  type Attachment,
  type Conversation,
  type Figures,
  type Message,
} from '../history/tree';
import { learnFrom } from '../model/learn';
import { canWrite } from '../model/makes';
import { refOf } from '../model/source';
import {
  chosenModel,
  loading,
  model,
  modelName,
  problem,
  shownName,
  type Problem,
} from '../model/state';
import { onReading, onToken, withEngine } from '../model/use';
import { Pacer } from '../pacer';
import { begin, busy, finish, run } from '../run';
import { settings } from '../settings/settings';
import { t } from '../texts';
import { ask, isCut, tellsStories } from './ask';
import { draft } from './early';
import { NOTHING, isEmpty, keepFields, keptFields, type Draft, type Field } from './drafts';
import { speak } from './speak';

export { draft };
/** The conversation that is shown. */
export const open: Signal<Open> = signal(take());
export const conversation = computed(() => open.value.tree.value);
/** The messages of the branch that is shown. */
export const shown = computed(() => path(conversation.value));

export const attachments = signal<Attachment[]>([]);
/** Those of the files of all fields that are still being read. Their texts are empty until then. */
export const unread = signal<ReadonlySet<Attachment>>(new Set());
/** Why files could not be attached, or ''. It is shown as an alert. */
export const refusal = signal('');
/** The message of the reader's that is being edited, by its id. */
export const editing = signal<string | null>(null);

/** An answer that is being written. Another conversation may be shown meanwhile. */
export interface Answering {
  in: Open;
  id: string;
  content: Signal<string>;
  reasoning: Signal<string>;
  /** When it began, and when its reasoning ended, as performance.now(); null: not yet. */
  since: number;
  thought: number | null;
  /** When its first token came. */
  first: number | null;
  tokens: Signal<number>;
}

export const answering = signal<Answering | null>(null);

/** Why the last answers of conversations failed, by conversation. A load of a model ends them. */
const failures = signal<ReadonlyMap<string, Problem>>(new Map());
/** That of the conversation that is shown. */
export const failure = {
  get value(): Problem | null {
    return failures.value.get(conversation.value.id) ?? null;
  },
  set value(why) {
    setFailure(open.peek(), why);
  },
};
effect(() => {
  if (loading.value !== null) failures.value = new Map();
});

function setFailure(of: Open, why: Problem | null): void {
  const { id } = of.tree.peek();
  const others = [...failures.peek()].filter(([other]) => other !== id);
  failures.value = new Map(why === null ? others : [...others, [id, why]]);
}

/** Whether the reader can send: nothing is being written, there is a model that writes, and this tab may write. */
export const sendable = computed(() => !busy.value && canWrite.value && open.value.writer.value);

/** Whether there is a message in the field. It is none before all of its files are read. */
export const written = computed(() => {
  const files = attachments.value;
  if (files.some((file) => unread.value.has(file))) return false;
  return draft.value.trim() !== '' || files.length > 0;
});

/** Sends what is in the field: as a new message, or in place of the one that is being edited. */
export function send(): void {
  if (!sendable.value || !written.value) return;
  const text = draft.value.trim();
  const { tree } = open.value;
  const before = tree.value;
  batch(() => {
    if (editing.value !== null) {
      tree.value = edit(before, editing.value, text, attachments.value);
    } else {
      const more = { attachments: attachments.value };
      tree.value = append(before, message(before, 'user', text, more));
    }
    leaveField();
  });
  answer();
}

/** Writes an answer again, as a sibling of the one that there is. */
export function again(id: string): void {
  if (!sendable.value) return;
  const { tree } = open.value;
  tree.value = retry(tree.value, id);
  answer();
}

/** What was in the field when the reader began to edit a message. */
let aside = NOTHING;

function fill({ text, attachments: files }: Draft): void {
  draft.value = text;
  attachments.value = files;
  refusal.value = '';
}

/** What is in the field is sent, or given up. */
function leaveField(): void {
  fill(editing.value === null ? NOTHING : aside);
  editing.value = null;
  aside = NOTHING;
}

/** Puts a message of the reader's into the field. */
export function startEdit(of: Message): void {
  if (editing.value === of.id) return;
  if (editing.value === null) aside = { text: draft.value, attachments: attachments.value };
  batch(() => {
    editing.value = of.id;
    fill({ text: of.content, attachments: of.attachments });
  });
}

export function cancelEdit(): void {
  batch(leaveField);
}

/** Shows the branch of this message. */
export function switchTo(id: string): void {
  const { tree } = open.value;
  tree.value = choose(tree.value, id);
}

/** What was in the fields of the other conversations when they were left. */
const fields = new Map<string, Field>();

function fieldKey({ tree }: Open): string {
  const { id, leaf } = tree.peek();
  return leaf === null ? '' : id;
}

function readField(): Field {
  return {
    ...{ text: draft.value, attachments: attachments.value },
    ...{ editing: editing.value, aside, refusal: refusal.value },
  };
}

/** Puts into the field what was in that of the conversation that is shown. */
function restoreField(): void {
  const of = fieldKey(open.value);
  const field = fields.get(of) ?? { editing: null, aside: NOTHING, refusal: '', ...NOTHING };
  const edited = field.editing;
  fields.delete(of);
  // Another tab may have deleted the message.
  const there = messageOf(open.value.tree.peek(), edited) !== undefined;
  fill(field);
  refusal.value = field.refusal;
  editing.value = there ? edited : null;
  aside = there ? field.aside : NOTHING;
}

/** Shows another conversation. What is in the field stays with the one that is left; if that was deleted, it goes along. */
export function show(next: Open): void {
  const left = open.value;
  if (next === left) return;
  batch(() => {
    if (left.deleted.value && editing.value !== null) leaveField();
    const field = readField();
    if (answering.value?.in !== left) left.leave();
    open.value = next;
    if (left.deleted.value && !isEmpty(field)) return;
    fields.set(fieldKey(left), field);
    restoreField();
  });
}

/**
 * Puts others in the place of a file, in the field where it is by now: its conversation may have been left, or a message be
 * edited meanwhile. Nothing happens if the reader has removed it. `why`: they could not be attached, as in `refusal`.
 */
export function replaceFile(file: Attachment, others: readonly Attachment[], why: string): void {
  const within = ({ attachments: files }: Draft): boolean => files.includes(file);
  const replaced = (files: readonly Attachment[]): Attachment[] =>
    lastOfEachName(files.flatMap((one) => (one === file ? others : [one])));
  const change = <D extends Draft>(of: D): D =>
    within(of) ? { ...of, attachments: replaced(of.attachments) } : of;
  const both = (before: string): string => (before === '' ? why : `${before} ${why}`).trim();
  batch(() => {
    unread.value = new Set([...unread.peek()].filter((one) => one !== file));
    const now = readField();
    if (within(now) || within(aside)) {
      attachments.value = change(now).attachments;
      aside = change(aside);
      refusal.value = both(refusal.peek());
    }
    for (const [of, field] of fields) {
      if (!within(field) && !within(field.aside)) continue;
      const changed = { ...change(field), aside: change(field.aside) };
      fields.set(of, { ...changed, refusal: both(field.refusal) });
    }
  });
}

/** Of files with the same name the last one that is read. */
function lastOfEachName(files: readonly Attachment[]): Attachment[] {
  const later = new Set<string>();
  const kept: Attachment[] = [];
  for (const file of [...files].reverse()) {
    const isRead = !unread.peek().has(file);
    if (isRead && later.has(file.name)) continue;
    if (isRead) later.add(file.name);
    kept.push(file);
  }
  return kept.reverse();
}

/** The files that are read. */
function readOnly<D extends Draft>(of: D): D {
  return { ...of, attachments: of.attachments.filter((file) => !unread.peek().has(file)) };
}

/** Milliseconds from a change in the field to the time when it is kept. */
const KEEP_FIELD_MS = 300;

/**
 * Brings back what was in the fields before the page was loaded again, and keeps them from now on. What belonged to `gone`,
 * a conversation that is no more, comes into a new one.
 */
export function keepDrafts(gone: string | null): void {
  for (const [of, field] of keptFields()) {
    const to = of === gone ? '' : of;
    if (isEmpty(fields.get(to) ?? NOTHING)) fields.set(to, field);
  }
  if (isEmpty(readField())) restoreField();
  const keep = (): void => {
    const all = new Map(fields).set(fieldKey(open.peek()), readField());
    for (const [of, field] of all) {
      const kept = { ...readOnly(field), aside: readOnly(field.aside) };
      if (isEmpty(kept) && kept.editing === null) all.delete(of);
      else all.set(of, kept);
    }
    keepFields(all);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    void [draft.value, attachments.value, unread.value, editing.value, open.value];
    clearTimeout(timer);
    timer = setTimeout(keep, KEEP_FIELD_MS);
  });
  window.addEventListener('pagehide', keep);
}

/** Answers the last message of the branch that is shown. */
export function answer(): void {
  if (!sendable.value) return;
  const { tree } = open.value;
  const mine = message(tree.value, 'assistant', '');
  begun(append(tree.value, mine), mine);
}

/** Goes on with the last answer of the branch that is shown, if it was cut. */
export function goOn(): void {
  const last = shown.value.at(-1);
  if (!sendable.value || last === undefined || !isCut(last)) return;
  // Space at the end is for the model to write: templates may leave it out. But the library trims what reasoning begins with.
  const content = last.content.trimEnd();
  const space = content === '' ? ' ' : '';
  const mine = { ...last, content, reasoning: last.reasoning.trimEnd() + space };
  begun(update(conversation.value, last.id, { finish: null }), mine);
}

/** Begins to write `mine`, which is in the conversation already, from its text on. */
function begun(tree: Conversation, mine: Message): void {
  const into = open.value;
  const { id, content, reasoning } = mine;
  batch(() => {
    problem.value = null;
    setFailure(into, null);
    into.tree.value = tree;
    answering.value = {
      ...{ in: into, id, content: signal(content), reasoning: signal(reasoning) },
      ...{ since: performance.now(), thought: null, first: null, tokens: signal(0) },
    };
    into.interrupt = finish;
    into.collect = collect;
    void begin((abort) => write(abort, into, mine));
  });
}

async function write(abort: AbortSignal, into: Open, mine: Message): Promise<void> {
  const now = answering.value;
  if (now === null) return;
  let ending: Partial<Message> = {};
  const outcome = await withEngine(
    abort,
    async (by) => {
      batch(() => {
        now.content.value = mine.content;
        now.reasoning.value = mine.reasoning;
        now.tokens.value = 0;
      });
      now.first = now.thought = null;
      ending = await stream(by, abort, into, mine, now);
    },
    chosenModel(),
  );
  const text = { content: now.content.value, reasoning: now.reasoning.value };
  batch(() => {
    if (outcome.kind !== 'done' && text.content === '' && text.reasoning === '') {
      into.tree.value = remove(into.tree.value, mine.id);
    } else {
      const how =
        outcome.kind === 'aborted' ? 'aborted' : outcome.kind === 'done' ? 'stop' : 'error';
      into.tree.value = update(into.tree.value, mine.id, { finish: how, ...ending, ...text });
    }
    if (outcome.kind === 'failed') {
      // It belongs to this conversation alone.
      setFailure(into, problem.peek());
      problem.value = null;
    }
    answering.value = null;
    into.interrupt = async () => undefined;
    into.collect = () => undefined;
    if (outcome.kind === 'aborted' && !into.deleted.value)
      announcement.value = t.value.talk.stopped;
  });
  // After the batch: what keeps the conversation has to see its last state first.
  if (into !== open.peek()) into.leave();
}

/** A screen shows no more: several tokens of a quick model are drawn together. */
const FRAME_MS = 16;

/** From now on the conversation is one with this model. */
export function goOnWith({ tree }: Open, name: string, from: string): void {
  const had = tree.peek();
  if (had.from !== from || had.model !== name) tree.value = { ...had, model: name, from };
}

/** Reads an answer's chunks. Returns how it ended. */
async function stream(
  by: Engine,
  abort: AbortSignal,
  into: Open,
  mine: Message,
  now: Answering,
): Promise<Partial<Message>> {
  // Named here, so that the answer can be had again.
  const seed = settings.value.seed ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  let ending: Partial<Message> = {};
  let dropped = 0;
  let spoken = mine.content.length;
  const name = model.value === null ? '' : modelName(model.value);
  const called = model.value === null ? '' : shownName(model.value);
  if (model.value !== null) goOnWith(into, name, refOf(model.value.source));
  // Of an answer that goes on, what is there already.
  const there = mine.content + mine.reasoning;
  const had = there === '' ? 0 : (mine.figures?.tokens ?? (await by.countTokens(there)));
  const parts = ask(by, {
    ...{ conversation: into.tree.value, mine, settings: settings.value, seed },
    ...{ signal: abort, onProgress: onReading, story: tellsStories(model.value) },
  });
  let came = { content: '', reasoning: '', tokens: 0 };
  const take = (): void => {
    const { content, reasoning, tokens } = came;
    if (tokens === 0) return;
    came = { content: '', reasoning: '', tokens: 0 };
    batch(() => {
      onToken(by);
      now.tokens.value += tokens;
      now.reasoning.value += reasoning;
      now.content.value += content;
    });
    if (into === open.value) spoken = speak(now.content.value, spoken, false);
  };
  const pacer = new Pacer(take, () => FRAME_MS);
  try {
    for await (const part of parts) {
      const { content = '', reasoning = '', timings } = part;
      dropped = part.dropped ?? dropped;
      if (part.given !== undefined) now.content.value += part.given;
      if (content !== '' || reasoning !== '') {
        came.tokens += 1;
        came.reasoning += reasoning;
        came.content += content;
        if (content !== '' && mine.content === '') now.thought ??= performance.now();
        if (now.first === null) {
          now.first = performance.now();
          take();
        } else {
          pacer.changed();
        }
      }
      if (part.finish != null) ending = { ...ending, finish: part.finish };
      if (timings !== undefined) {
        ending = { ...ending, figures: figuresOf(timings, now, seed, called, had) };
        const { predicted_n: tokens, predicted_per_second: tokensPerSecond } = timings;
        learnFrom({ tokens, tokensPerSecond, bytesPerToken: by.stats.bytesPerToken });
      }
    }
  } finally {
    // What was stopped or failed keeps what came.
    pacer.stop();
    take();
  }
  if (into === open.value) speak(now.content.value, spoken, true);
  return { ...ending, dropped };
}

function figuresOf(
  timings: Timings,
  now: Answering,
  seed: number,
  model: string,
  had: number,
): Figures {
  const { prompt_n, cache_n, predicted_n, predicted_per_second } = timings;
  return {
    promptTokens: Math.max(0, prompt_n + cache_n - had),
    ...{ reusedTokens: cache_n, tokens: predicted_n + had },
    tokensPerSecond: predicted_per_second,
    ttftMs: Math.round((now.first ?? now.since) - now.since),
    ...{ seed, model },
  };
}

/** Milliseconds between two times at which what is being written is put into the conversation, so that it is kept. */
const KEEP_MS = 500;

/** Puts what is written so far into its conversation, so that it is kept. */
function collect(): void {
  const now = answering.peek();
  if (now === null) return;
  const { in: into, id, content, reasoning } = now;
  const so = { content: content.peek(), reasoning: reasoning.peek() };
  const had = messageOf(into.tree.peek(), id);
  if (had?.content === so.content && had.reasoning === so.reasoning) return;
  into.tree.value = update(into.tree.peek(), id, so);
}

/** Keeps what is written so far, in case the page goes away. */
export function keepWhatIsWritten(): void {
  effect(() => {
    if (answering.value === null) return undefined;
    const timer = setInterval(collect, KEEP_MS);
    return () => clearInterval(timer);
  });
}

/** What the answer that is shown is doing, for the line above the field. */
export const doing = computed(() => (answering.value?.in === open.value ? run.value : 'idle'));
