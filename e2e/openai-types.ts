// Compiled with the other tests: OpenAI's types and the library's fit each other.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  CompletionRequest,
  EmbeddingList,
  EmbeddingRequest,
  Engine,
  TextCompletion,
  TextCompletionChunk,
} from '@sluice/engine';
import { createOpenAIFetch } from '@sluice/engine';
import OpenAI from 'openai';

/** What we return is what OpenAI's client says that it returns. */
export const answers: [
  (ours: ChatCompletion) => OpenAI.ChatCompletion,
  (ours: ChatCompletionChunk) => OpenAI.ChatCompletionChunk,
  (ours: TextCompletion) => OpenAI.Completion,
  (ours: EmbeddingList) => OpenAI.CreateEmbeddingResponse,
] = [(ours) => ours, (ours) => ours, (ours) => ours, (ours) => ours];

/** A chunk of a text has no reason before its end, which OpenAI's types don't know. */
export const ending = (ours: TextCompletionChunk): Omit<OpenAI.Completion, 'choices' | 'usage'> =>
  ours;

/** What OpenAI's client takes, we take, so far as we know the fields. */
export const requests: [
  (theirs: OpenAI.ChatCompletionCreateParamsNonStreaming) => ChatCompletionRequest,
  (theirs: OpenAI.ChatCompletionCreateParamsStreaming) => ChatCompletionRequest,
  (theirs: OpenAI.CompletionCreateParamsNonStreaming & { prompt: string }) => CompletionRequest,
  (theirs: OpenAI.EmbeddingCreateParams) => EmbeddingRequest,
] = [(theirs) => theirs, (theirs) => theirs, (theirs) => theirs, (theirs) => theirs];

/** The loops over both are written alike, with the same options. */
export async function read(
  engine: Engine,
  client: OpenAI,
  options: OpenAI.RequestOptions,
): Promise<string> {
  const body = { messages: [{ role: 'user', content: 'Hi' }], model: '', stream: true } as const;
  let text = '';
  for await (const { choices } of await engine.chat.completions.create(body, options))
    text += choices[0]?.delta.content ?? '';
  const theirs = { ...body, messages: [...body.messages] };
  for await (const { choices } of await client.chat.completions.create(theirs, options))
    text += choices[0]?.delta.content ?? '';
  const whole = await engine.chat.completions.create({ messages: body.messages });
  return text + whole.choices[0]?.message.content;
}

export const clientOf = (engine: Engine): OpenAI =>
  new OpenAI({
    apiKey: 'none',
    baseURL: 'http://sluice.local/v1',
    dangerouslyAllowBrowser: true,
    fetch: createOpenAIFetch(engine),
  });
