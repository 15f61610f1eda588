// Asks the model, and gives what comes in one shape: the answer to a conversation, what follows an answer that was cut, or a
// story of a model that knows no conversation.
import type { Engine, PromptProgress, Timings } from '@sluice/engine';
import type { Conversation, Finish, Message } from '../history/tree';
import type { Settings } from '../settings/settings';
import { chatSampling } from '../settings/use';
import { messagesOf } from './request';

/** A part of an answer. */
export interface Part {
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
  settings: Settings;
  seed: number;
  signal: AbortSignal;
  onProgress(progress: PromptProgress): void;
}

/** Whether an answer ended before the model had ended it, so that it can go on. */
export function isCut({ role, finish, content, reasoning }: Message): boolean {
  return role === 'assistant' && finish !== 'stop' && content + reasoning !== '';
}

/** What templates take as the last message, in the middle of which the model goes on. */
function toGoOnWith({ content, reasoning }: Message): object[] {
  if (content !== '')
    return [{ role: 'assistant', content, ...(reasoning && { reasoning_content: reasoning }) }];
  return reasoning === ''
    ? []
    : [{ role: 'assistant', content: `<think>\n${reasoning.trimEnd()}` }];
}

export async function* ask(by: Engine, question: Question): AsyncGenerator<Part> {
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
