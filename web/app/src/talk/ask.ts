// Asks the model, and gives what comes in one shape: the answer to a conversation, what follows an answer that was cut, or a
// story of a model that knows no conversation.
import type { Engine, PromptProgress, Timings } from '@sluice/engine';
import { messageOf, type Conversation, type Finish, type Message } from '../history/tree';
import type { Model } from '../model/state';
import type { Settings } from '../settings/settings';
import { chatSampling } from '../settings/use';
import { messagesOf } from './request';

/** A part of an answer. */
export interface Part {
  /** The beginning of a story, which the page gives. */
  given?: string;
  content?: string;
  reasoning?: string;
  finish?: Finish | null;
  /** Messages that were left out of the prompt. */
  dropped?: number;
  timings?: Timings;
}

export interface Question {
  conversation: Conversation;
  /** The answer, as it is when its next part is asked for. */
  mine: Message;
  /** The model knows no conversation, and tells a story. */
  story: boolean;
  settings: Settings;
  seed: number;
  signal: AbortSignal;
  onProgress(progress: PromptProgress): void;
}

/** Whether it is the page's own model, which has learned stories and nothing else. */
export function tellsStories(by: Model | null): boolean {
  return by?.source.kind === 'bundled' && !('tokenizer.chat_template' in by.info.metadata);
}

/** Whether an answer ended before the model had ended it, so that it can go on. */
export function isCut({ role, finish, content, reasoning }: Message): boolean {
  return role === 'assistant' && finish !== 'stop' && content + reasoning !== '';
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

/** What templates take as the last message, in the middle of which the model goes on. */
function toGoOnWith({ content, reasoning }: Message): object[] {
  if (content !== '')
    return [{ role: 'assistant', content, ...(reasoning && { reasoning_content: reasoning }) }];
  return reasoning === ''
    ? []
    : [{ role: 'assistant', content: `<think>\n${reasoning.trimEnd()}` }];
}

export function ask(by: Engine, question: Question): AsyncGenerator<Part> {
  return question.story ? tell(by, question) : talk(by, question);
}

/** Tells a story. An answer that is there already goes on. */
async function* tell(by: Engine, question: Question): AsyncGenerator<Part> {
  const { conversation, mine, settings, seed, signal, onProgress } = question;
  const { reasoning: _, ...sampling } = chatSampling(settings);
  const given =
    mine.content === '' ? beginning(messageOf(conversation, mine.parent)?.content ?? '') : '';
  if (given !== '') yield { given };
  const chunks = await by.completions.create({
    ...{ ...sampling, prompt: mine.content + given, seed, signal, on_prompt_progress: onProgress },
    ...{ stream: true, stream_options: { include_usage: true } },
  });
  for await (const { choices, timings } of chunks) {
    const [choice] = choices;
    yield {
      ...(choice && { content: choice.text, finish: choice.finish_reason as Finish | null }),
      ...(timings && { timings }),
    };
  }
}

async function* talk(by: Engine, question: Question): AsyncGenerator<Part> {
  const { conversation, mine, settings, seed, signal, onProgress } = question;
  const last = toGoOnWith(mine);
  const chunks = await by.chat.completions.create({
    ...chatSampling(settings),
    ...{ stream: true, stream_options: { include_usage: true } },
    messages: [...messagesOf({ ...conversation, leaf: mine.parent }), ...last] as never,
    chat_template_kwargs: last.length > 0 ? { continue_final_message: true } : null,
    // What is computed is kept on the device, so that a reload goes on from there.
    ...{ seed, state: conversation.id, truncation: 'auto' },
    ...{ signal, on_prompt_progress: onProgress },
  });
  for await (const { choices, dropped_messages: dropped, timings } of chunks) {
    const [choice] = choices;
    yield {
      ...(choice && {
        content: choice.delta.content ?? '',
        reasoning: choice.delta.reasoning_content ?? '',
        finish: choice.finish_reason as Finish | null,
      }),
      ...(dropped !== undefined && { dropped }),
      ...(timings && { timings }),
    };
  }
}
