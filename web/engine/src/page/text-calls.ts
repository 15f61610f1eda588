// The calls of Engine that turn texts, ids and messages into each other, or count them. The engine worker does the work.
import { takeChatRequest } from './chat/request.js';
import { abortReason } from '../shared/errors.js';
import {
  invalid,
  isMessages,
  takeCountOptions,
  takeDetokenizeOptions,
  takeIds,
  takePrompt,
  takeTemplateOptions,
  takeText,
  takeTokenizeOptions,
} from './options.js';
import type { EngineCalls } from '../shared/calls.js';
import type { Note } from '../shared/notes.js';
import type { ChatPrompt } from '../shared/protocol.js';
import type { Ask } from '../shared/caller.js';
import type {
  ChatMessage,
  CountOptions,
  DetokenizeOptions,
  ModelInfo,
  Prompt,
  TemplateOptions,
  TokenizeOptions,
} from '../shared/types.js';

/** What these calls use of their engine. */
export interface TextHooks {
  ask: Ask<EngineCalls>;
  info(): ModelInfo;
  note(notes: readonly Note[]): void;
}

/** Throws if an id is not in the vocabulary. The core does the same with a prompt. */
function checkIds(ids: readonly number[], { tokenizer }: ModelInfo): void {
  const wrong = ids.find((id) => id >= tokenizer.tokens);
  if (wrong === undefined) return;
  const last = tokenizer.tokens - 1;
  throw invalid(`token ${wrong} is not in the vocabulary, whose ids are 0 to ${last}`);
}

/** Checks token ids, which must be in the vocabulary. Returns a copy. */
export function takeKnownIds(given: unknown, info: ModelInfo, name = 'ids'): number[] {
  const ids = takeIds(given, name);
  checkIds(ids, info);
  return ids;
}

/** See Engine.tokenize. */
export async function tokenize(
  { ask }: TextHooks,
  given: string,
  options: TokenizeOptions,
): Promise<number[]> {
  const text = takeText(given, 'text');
  const { special = false, signal } = takeTokenizeOptions(options);
  return ask('tokenize', { text, special }, { signal });
}

/** See Engine.detokenize. */
export async function detokenize(
  { ask, info }: TextHooks,
  given: readonly number[],
  options: DetokenizeOptions,
): Promise<string> {
  const ids = takeKnownIds(given, info());
  const { signal } = takeDetokenizeOptions(options);
  return ask('detokenize', { ids }, { signal });
}

/** See Engine.applyTemplate. */
export async function applyTemplate(
  { ask, note }: TextHooks,
  messages: readonly ChatMessage[],
  options: TemplateOptions,
): Promise<string> {
  const { signal, ...taken } = takeTemplateOptions(messages, options);
  const { text, warnings } = await ask('applyTemplate', taken, { signal });
  note(warnings);
  return text;
}

/** See Engine.countTokens. */
export async function countTokens(
  { ask, info, note }: TextHooks,
  given: Prompt | readonly ChatMessage[],
  options: CountOptions,
): Promise<number> {
  const { special = false, kwargs, chatTemplate, signal } = takeCountOptions(options);
  if (isMessages(given)) {
    const body = { messages: given, chat_template_kwargs: kwargs, chat_template: chatTemplate };
    const prompt = takeChatRequest(body).prompts[0] as ChatPrompt;
    const { tokens, warnings } = await ask('countChat', { prompt }, { signal });
    note(warnings);
    return tokens;
  }
  const prompt = takePrompt(given);
  if (typeof prompt !== 'string') {
    if (signal?.aborted) throw abortReason(signal);
    checkIds(prompt, info());
    return prompt.length;
  }
  return ask('countText', { text: prompt, special }, { signal });
}
