// An answer of the conversation that is shown, as it can be looked into.
import { computed, untracked, type ReadonlySignal } from '@preact/signals';
import { withMore, type Parts } from '../history/parts';
import { messageOf, siblings, type Message } from '../history/tree';
import { encode, type Insight } from '../inside/library';
import { TokenLog } from '../inside/log';
import { opened } from '../inside/looks';
import type { Chosen, Related, Subject } from '../inside/subject';
import type { Lender } from '../model/lender';
import type { Settings } from '../settings/settings';
import { settingsText } from '../settings/text';
import { tellsStories } from './ask';
import type { TalkController } from './controller';
import { messagesOf, messagesToGoOnWith } from './request';

interface Needs {
  talk: TalkController;
  lender: Pick<Lender, 'model' | 'names'>;
  settings: ReadonlySignal<Settings>;
}

/** All that a message says, in the order in which it was written. */
export function wholeText(parts: Parts): string {
  return parts.map(({ text }) => text).join('');
}

/** The first characters of a message's parts. */
export function firstOf(parts: Parts, characters: number): Parts {
  let left = characters;
  let cut: Parts = [];
  for (const { part, text } of parts) {
    cut = withMore(cut, part, text.slice(0, left));
    left -= Math.min(left, text.length);
  }
  return cut;
}

/** The parts with another token in the place of what stands after so many characters. */
export function partsWith(parts: Parts, characters: number, token: string): Parts {
  let end = 0;
  const kind = parts.find(({ text }) => (end += text.length) > characters)?.part ?? 'text';
  return withMore(firstOf(parts, characters), kind, token);
}

/** The answer that is looked into. Stays the same object while tokens come. */
export function subjectOf({ talk, lender, settings }: Needs): ReadonlySignal<Subject | null> {
  const id = computed(() => {
    const what = opened.value;
    return what === null || what === 'text' ? null : what.answer;
  });
  const growing = computed(() => talk.answeringHere.value?.id === id.value && id.value !== null);
  /** What is kept of it does not change while it grows. */
  const kept = computed(() => messageOf(talk.conversation.value, id.value) ?? null);
  return computed((): Subject | null => {
    const message = kept.value;
    if (message === null) return null;
    void lender.model.value;
    const by = message.figures?.model || null;
    const own = growing.value || (by !== null && by === lender.names()?.shown);
    return untracked(() => subject({ talk, lender, settings }, message, growing.value, by, own));
  });
}

function subject(
  { talk, lender, settings }: Needs,
  message: Message,
  growing: boolean,
  by: string | null,
  own: boolean,
): Subject {
  const { id } = message;
  const log = talk.logOf(id) ?? new TokenLog();
  if (talk.logOf(id) === null) talk.keepLog(id, log);
  const parts = (): Parts => {
    const now = talk.answeringHere.peek();
    if (now?.id === id) return now.said();
    return messageOf(talk.conversation.peek(), id)?.parts ?? [];
  };
  const text = (): string => wholeText(parts());
  const prompt = async (of: Insight, begun: number): Promise<number[]> => {
    if (tellsStories(lender.model.peek())) return encode(of, text().slice(0, begun));
    const conversation = { ...talk.conversation.peek(), leaf: message.parent };
    const last =
      begun === 0 ? [] : messagesToGoOnWith({ ...message, parts: firstOf(parts(), begun) });
    const { reasoning } = settings.peek();
    const written = await of.applyTemplate([...messagesOf(conversation), ...last], {
      ...(last.length > 0 ? { continueFinalMessage: true } : {}),
      ...(reasoning === 'auto' ? {} : { kwargs: { enable_thinking: reasoning === 'on' } }),
    });
    return encode(of, written, true);
  };
  return {
    id,
    log,
    growing,
    by,
    own,
    related: relatedTo(talk, message, log),
    keptAs: { conversation: talk.conversation.peek().id, id },
    text,
    before: (begun) => text().slice(0, begun),
    encode: prompt,
    retell: (of) => retell(of, message, log, settingsText(settings.peek())),
    branch: (first, at, chosen) => branch(talk, id, parts(), log, first, at, chosen),
    show: (other) => {
      talk.switchTo(other);
      opened.value = { answer: other };
    },
  };
}

function branch(
  talk: TalkController,
  id: string,
  parts: Parts,
  log: TokenLog,
  first: number,
  at: number,
  { id: token, text, logprob }: Chosen,
): boolean {
  const other = log.branch(first, at, { id: token, length: text.length, logprob });
  const begun = other.runs.at(-1)?.begun ?? 0;
  return talk.branch(id, partsWith(parts, begun, text), other);
}

/** Where the reader chose another token in an answer of this visit. */
function chosenIn(log: TokenLog | null) {
  return log?.runs.find(({ from }) => from === 'reader') ?? null;
}

/** The answers beside this one that begin as it does up to a token that the reader chose. */
function relatedTo(talk: TalkController, message: Message, log: TokenLog): Related[] {
  const conversation = talk.conversation.peek();
  const own = wholeText(message.parts);
  const mine = chosenIn(log);
  return siblings(conversation, message.id).flatMap((id): Related[] => {
    const other = messageOf(conversation, id);
    if (other === undefined || id === message.id) return [];
    const whole = wholeText(other.parts);
    const theirs = chosenIn(talk.logOf(id));
    const chosen = theirs ?? mine;
    if (chosen === null || whole.slice(0, chosen.begun) !== own.slice(0, chosen.begun)) return [];
    const at = chosen.begun;
    const text = (theirs === null ? own : whole).slice(at, at + (chosen.lengths[0] ?? 0));
    return [{ id, at, text, kind: theirs === null ? 'parent' : 'branch' }];
  });
}

/**
 * Makes tokens of an answer that was written in another visit: as the model cuts its text, which may be another way than it was
 * written. Of one that was thought about nothing is known. Resolves with whether there are some now.
 */
async function retell(
  by: Insight,
  { parts, figures }: Message,
  log: TokenLog,
  settings: string,
): Promise<boolean> {
  const text = wholeText(parts);
  if (text === '' || parts.some(({ part }) => part !== 'text')) return false;
  const ids = await by.tokenize(text);
  const pieces = await by.pieces(ids);
  const [first = '', ...rest] = pieces;
  const whole = pieces.join('');
  // Some models put a space before a text.
  if (whole === ` ${text}`) pieces.splice(0, 1, first.slice(1));
  else if (whole !== text || rest.length + 1 !== ids.length) return false;
  if (log.runs.length > 0) return true;
  log.begin(0, 'text', settings);
  for (const [i, id] of ids.entries()) log.add({ id, text: pieces[i] ?? '', logprob: NaN });
  log.end(figures?.seed ?? null, figures?.promptTokens ?? null);
  return true;
}
