// The calls of Engine that turn texts, ids and messages into each other, or count them. The engine worker does the work.
import { takeChatRequest } from './chat/request.js';
import { abortReason } from './errors.js';
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
import type { ChatPrompt, ToEngine } from './protocol.js';
import type { Value } from './timeline.js';
import type {
  ChatMessage,
  CountOptions,
  DetokenizeOptions,
  ModelInfo,
  Prompt,
  TemplateOptions,
  TokenizeOptions,
} from './types.js';

/** Posts a request to the engine worker, and returns its result. */
type Ask = (message: (id: number) => ToEngine, signal: AbortSignal | undefined) => Promise<Value>;

/** Throws if an id is not in the vocabulary. The core does the same with a prompt. */
function checkIds(ids: readonly number[], { tokenizer }: ModelInfo): void {
  const wrong = ids.find((id) => id >= tokenizer.tokens);
  if (wrong === undefined) return;
  const last = tokenizer.tokens - 1;
  throw invalid(`token ${wrong} is not in the vocabulary, whose ids are 0 to ${last}`);
}

/** See Engine.tokenize. */
export async function tokenize(
  ask: Ask,
  given: string,
  options: TokenizeOptions,
): Promise<number[]> {
  const text = takeText(given, 'text');
  const { special = false, signal } = takeTokenizeOptions(options);
  const ids = await ask((id) => ({ type: 'tokenize', id, text, special, count: false }), signal);
  return ids as number[];
}

/** See Engine.detokenize. */
export async function detokenize(
  ask: Ask,
  info: ModelInfo,
  given: readonly number[],
  options: DetokenizeOptions,
): Promise<string> {
  const ids = takeIds(given, 'ids');
  const { signal } = takeDetokenizeOptions(options);
  checkIds(ids, info);
  return (await ask((id) => ({ type: 'detokenize', id, ids }), signal)) as string;
}

/** See Engine.applyTemplate. */
export async function applyTemplate(
  ask: Ask,
  messages: readonly ChatMessage[],
  options: TemplateOptions,
): Promise<string> {
  const { signal, ...taken } = takeTemplateOptions(messages, options);
  return (await ask((id) => ({ type: 'applyTemplate', id, ...taken }), signal)) as string;
}

/** See Engine.countTokens. */
export async function countTokens(
  ask: Ask,
  info: ModelInfo,
  given: Prompt | readonly ChatMessage[],
  options: CountOptions,
): Promise<number> {
  const { special = false, kwargs, chatTemplate, signal } = takeCountOptions(options);
  if (isMessages(given)) {
    const body = { messages: given, chat_template_kwargs: kwargs, chat_template: chatTemplate };
    const prompt = takeChatRequest(body).prompts[0] as ChatPrompt;
    return (await ask((id) => ({ type: 'countChat', id, prompt }), signal)) as number;
  }
  const prompt = takePrompt(given);
  if (typeof prompt !== 'string') {
    if (signal?.aborted) throw abortReason(signal);
    checkIds(prompt, info);
    return prompt.length;
  }
  const counting = { type: 'tokenize', text: prompt, special, count: true } as const;
  return (await ask((id) => ({ ...counting, id }), signal)) as number;
}
