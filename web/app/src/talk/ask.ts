// Asks the model, and gives what comes in one shape: the answer to a conversation, what follows an answer that was cut, or a
// story of a model that knows no conversation.
import type { Answer, Engine, EngineStats, PromptProgress, Token } from '@sluice/engine';
import { textOf, type PartKind } from '../history/parts';
import { messageOf, type Conversation, type Finish, type Message } from '../history/tree';
import type { Looks } from '../inside/looks';
import type { Model } from '../model/state';
import type { Settings } from '../settings/settings';
import { answerSampling } from '../settings/use';
import { messagesOf, messagesToGoOnWith } from './request';

export interface Question {
  conversation: Conversation;
  /** The answer, as it is when its next part is asked for. */
  mine: Message;
  /** The model knows no conversation, and tells a story. */
  story: boolean;
  settings: Settings;
  seed: number;
  signal: AbortSignal;
  /** What is asked of each token beside its text: what it was chosen from, while somebody looks. */
  looks: Looks;
  onProgress(progress: PromptProgress): void;
  /** The beginning of a story, which the page gives. */
  onGiven(text: string): void;
  /** A token has come: of this part of the answer. */
  onToken(part: PartKind, token: Token): void;
}

/** What is known of an answer when it has ended. */
export interface Ending {
  finish: Finish;
  /** Messages that were left out of the prompt. */
  dropped: number;
  stats: EngineStats;
}

/** How the library says that a text ended, in a message's words. */
const FINISHES = {
  eos: 'stop',
  stop: 'stop',
  length: 'length',
  context: 'length',
  aborted: 'aborted',
} as const satisfies Record<Answer['finish'], Finish>;

/** Whether it is the page's own model, which has learned stories and nothing else. */
export function tellsStories(by: Model | null): boolean {
  return by?.source.kind === 'bundled' && !by.info.chatTemplate;
}

/** Whether an answer ended before the model had ended it, so that it can go on. */
export function isCut({ role, finish, parts }: Message): boolean {
  return role === 'assistant' && finish !== 'stop' && parts.length > 0;
}

/** The longest subject of a story. */
const MOST_SUBJECT = 80;

/** How the story begins that a message asks for. */
export function beginning(asked: string): string {
  const subject = /(?:^|\s)(?:about|über|von)\s+([^\s.!?,;:][^.!?,;:\n]*)/iu
    .exec(asked)?.[1]
    ?.trim();
  if (subject === undefined || subject.length > MOST_SUBJECT) return 'Once upon a time';
  return `Once upon a time, there was ${subject}.`;
}

/** Resolves when the answer has ended. Rejects with what the engine rejects with. */
export function ask(by: Engine, question: Question): Promise<Ending> {
  return question.story ? tell(by, question) : talk(by, question);
}

/** Tells a story. An answer that is there already goes on. */
async function tell(by: Engine, question: Question): Promise<Ending> {
  const { conversation, mine, settings, seed, signal } = question;
  const { thinking: _, thinkingTokens: __, ...sampling } = answerSampling(settings);
  let prompt = textOf(mine);
  if (prompt === '') {
    const asked = messageOf(conversation, mine.parent);
    prompt = beginning(asked === undefined ? '' : textOf(asked));
    question.onGiven(prompt);
  }
  const tokens = by.generate(prompt, {
    ...sampling,
    ...question.looks,
    seed,
    signal,
    onPromptProgress: question.onProgress,
  });
  for await (const token of tokens) question.onToken('text', token);
  const { finish, stats } = await tokens.ending;
  return { finish: FINISHES[finish], dropped: 0, stats };
}

async function talk(by: Engine, question: Question): Promise<Ending> {
  const { conversation, mine, settings, seed, signal } = question;
  const last = messagesToGoOnWith(mine);
  const parts = by.answer({
    ...answerSampling(settings),
    ...question.looks,
    messages: [...messagesOf({ ...conversation, leaf: mine.parent }), ...last],
    continueFinalMessage: last.length > 0,
    seed,
    // What is computed is kept on the device, so that a reload goes on from there.
    state: conversation.id,
    truncate: true,
    signal,
    onPromptProgress: question.onProgress,
  });
  for await (const token of parts) question.onToken(token.part, token);
  const { finish, dropped, stats } = await parts.ending;
  return { finish: FINISHES[finish], dropped, stats };
}
