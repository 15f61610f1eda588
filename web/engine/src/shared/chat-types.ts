// The types of chat and completions: OpenAI's shapes, and what Sluice adds to them.
import type { AsyncStream, ChatMessage, Session } from './types.js';
import type { PromptProgress } from './progress-types.js';

/** The fields of both kinds of request. Null and undefined stand for the default; the model's own (`info.sampling`) goes before the one named here. */
export interface SamplingRequest {
  /** Ignored: an engine has one model. */
  model?: string | null | undefined;
  /** Tokens of the answer at most. Default: until the text or the context ends. */
  max_tokens?: number | null | undefined;
  /** Answers to write, one after the other, with the seeds `seed`, `seed + 1` and so on; 1 to 128. Default: 1. */
  n?: number | null | undefined;
  /** The same seed gives the same answer. Default: a random one. */
  seed?: number | null | undefined;
  /** The answer ends before this text; several may be given. */
  stop?: string | readonly string[] | null | undefined;
  stream_options?: StreamOptions | null | undefined;
  /** 0 to 100. Default: 0.8. */
  temperature?: number | null | undefined;
  /** Default: 0.95. */
  top_p?: number | null | undefined;
  /** Lowers the logit of each token that is in the answer; -2 to 2. Default: 0. */
  presence_penalty?: number | null | undefined;
  /** Lowers a token's logit once for each time that it is in the answer; -2 to 2. Default: 0. */
  frequency_penalty?: number | null | undefined;
  /** Added to the logits of tokens, by token id: -100 bans a token, 100 forces it. */
  logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** Sluice's own. Default: 40. */
  top_k?: number | null | undefined;
  /** Sluice's own. Default: 0.05. */
  min_p?: number | null | undefined;
  /** Sluice's own: `repeatPenalty` of `generate`. Default: 1. */
  repetition_penalty?: number | null | undefined;
  /** Sluice's own, like those down to `dry_sequence_breakers`: the options of `generate` with these names. Default: 64. */
  repeat_last_n?: number | null | undefined;
  top_n_sigma?: number | null | undefined;
  typical_p?: number | null | undefined;
  xtc_probability?: number | null | undefined;
  xtc_threshold?: number | null | undefined;
  dry_multiplier?: number | null | undefined;
  dry_base?: number | null | undefined;
  dry_allowed_length?: number | null | undefined;
  dry_penalty_last_n?: number | null | undefined;
  dry_sequence_breakers?: string | readonly string[] | null | undefined;
  /** Ignored. */
  user?: string | null | undefined;
  /** Ends the request, also while it waits. */
  signal?: AbortSignal | null | undefined;
  /** As `onPromptProgress` of `generate`. */
  on_prompt_progress?: ((progress: PromptProgress) => void) | null | undefined;
}

export interface StreamOptions {
  /** Sends the usage at the end, in a chunk without choices. */
  include_usage?: boolean | null | undefined;
  /** Ignored. */
  include_obfuscation?: boolean | null | undefined;
}

/** A message as OpenAI's own types have it. */
export interface ChatMessageParam {
  role: string;
  content?: string | null | readonly object[] | undefined;
  name?: string | undefined;
}

/** A request to `engine.chat.completions.create`. Other fields of OpenAI's are refused by name unless they change nothing. */
export interface ChatCompletionRequest extends SamplingRequest {
  messages: readonly (ChatMessage | ChatMessageParam)[];
  stream?: boolean | null | undefined;
  /** The newer name of `max_tokens`. If both are given, both hold. */
  max_completion_tokens?: number | null | undefined;
  /** Gives the log-probability of each token of the content. */
  logprobs?: boolean | null | undefined;
  /** The number of likeliest tokens at each position whose log-probabilities are given too; 0 to 20. */
  top_logprobs?: number | null | undefined;
  /** 'none': no reasoning; the others go to the template, and switch reasoning on. */
  reasoning_effort?:
    'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  /** Sluice's own: reasoning on or off, if the model has the choice, and the most reasoning tokens. */
  reasoning?: { enabled?: boolean | null; max_tokens?: number | null } | null | undefined;
  /** Sluice's own: more variables for the template. */
  chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined;
  /** Sluice's own: a Jinja template to use instead of the file's default, or the name of another one in the file. */
  chat_template?: string | null | undefined;
  /**
   * Sluice's own. 'auto': if the prompt leaves no room for an answer, the oldest turns are left out, but never the system's
   * message. 'disabled', the default: such a prompt fails with `context_full`.
   */
  truncation?: 'auto' | 'disabled' | null | undefined;
  /**
   * Sluice's own: the name under which this device keeps the conversation's state, of 1 to 200 characters. The next request
   * with it computes only what is new, also after a reload. See `states`.
   */
  state?: string | null | undefined;
}

export type ChatCompletionStreamRequest = ChatCompletionRequest & { stream: true };
export type ChatCompletionWholeRequest = ChatCompletionRequest & {
  stream?: false | null | undefined;
};

/** A request to `engine.completions.create`. */
export interface CompletionRequest extends SamplingRequest {
  /** A text or token ids, or a list of these: then each has answers of its own. */
  prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  stream?: boolean | null | undefined;
  /** The number of the likeliest tokens to give for each token; 0 to 20. */
  logprobs?: number | null | undefined;
}

export type CompletionStreamRequest = CompletionRequest & { stream: true };
export type CompletionWholeRequest = CompletionRequest & { stream?: false | null | undefined };

export interface TokenLogprob {
  token: string;
  logprob: number;
  /** The token's own bytes, which may be a part of a character. */
  bytes: number[];
}

export interface ContentLogprob extends TokenLogprob {
  top_logprobs: TokenLogprob[];
}

export interface ChatLogprobs {
  content: ContentLogprob[];
  refusal: null;
}

export interface Usage {
  /** Of n answers to one prompt, the prompt counts once. */
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: {
    /** Tokens of the prompt that were not computed, because a session had their state. */
    cached_tokens: number;
  };
  completion_tokens_details: { reasoning_tokens: number };
}

/** Token counts and times, summed over the answers. The names are those of llama.cpp's server. */
export interface Timings {
  /** Prompt tokens that a session had already (`cache_n`), and that were computed (`prompt_n`). */
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  prompt_per_second: number;
  predicted_n: number;
  predicted_ms: number;
  predicted_per_second: number;
}

export type FinishReason = 'stop' | 'length';

export interface ChatCompletionMessage {
  role: 'assistant';
  content: string;
  refusal: null;
  /** If the model has reasoned. */
  reasoning_content?: string;
}

export interface ChatCompletionChoice {
  index: number;
  message: ChatCompletionMessage;
  logprobs: ChatLogprobs | null;
  finish_reason: FinishReason;
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  /** Seconds since 1970. */
  created: number;
  model: string;
  /** Changes with what may change an answer: the version, the model, the type of the KV cache. */
  system_fingerprint: string;
  choices: ChatCompletionChoice[];
  usage: Usage;
  timings: Timings;
  /** With `truncation: 'auto'`: how many messages were left out. */
  dropped_messages?: number;
}

export interface ChatCompletionDelta {
  role?: 'assistant';
  content?: string;
  reasoning_content?: string;
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  system_fingerprint: string;
  /** Empty in the chunk that `stream_options.include_usage` adds. */
  choices: {
    index: number;
    delta: ChatCompletionDelta;
    logprobs: ChatLogprobs | null;
    finish_reason: FinishReason | null;
  }[];
  /** With `stream_options.include_usage`: null except in the last chunk. */
  usage?: Usage | null;
  /** In the chunk that ends the last answer. */
  timings?: Timings;
  /** In the first chunk, with `truncation: 'auto'`. */
  dropped_messages?: number;
}

export interface TextLogprobs {
  tokens: string[];
  token_logprobs: number[];
  top_logprobs: Record<string, number>[];
  /** Where each token begins in the answer's text. */
  text_offset: number[];
}

export interface TextChoice {
  index: number;
  text: string;
  logprobs: TextLogprobs | null;
  finish_reason: FinishReason;
}

export interface TextCompletion {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  system_fingerprint: string;
  choices: TextChoice[];
  usage: Usage;
  timings: Timings;
}

export interface TextCompletionChunk extends Omit<TextCompletion, 'choices' | 'usage' | 'timings'> {
  choices: (Omit<TextChoice, 'finish_reason'> & { finish_reason: FinishReason | null })[];
  usage?: Usage | null;
  timings?: Timings;
}

/**
 * The second argument of `create`, as OpenAI's client has it. `signal` and `timeout` work as there. The other options concern the
 * network, which is not used: they are accepted and change nothing. Unknown names are `invalid_argument`.
 */
export interface RequestOptions {
  /** Ends the request, also while it waits. The body may have a signal besides. */
  signal?: AbortSignal | null | undefined;
  /**
   * Milliseconds, 0 to 2147483647: if the answer is not complete by then, or the stream has not begun, the request ends with a
   * DOMException named `TimeoutError`. Default: there is no limit.
   */
  timeout?: number | null | undefined;
  /**
   * Sluice's own: a session of the engine's, in which the answers are written as `session.answer` does. They don't wait for
   * others. Of several answers the last one stays in it. Not together with the body's `state`.
   */
  session?: Session | null | undefined;
  /** Changes nothing: a failure here would repeat. */
  maxRetries?: number | null | undefined;
  /** Changes nothing, like all that follow: nothing is sent. */
  headers?: unknown;
  idempotencyKey?: string | null | undefined;
  query?: unknown;
  fetchOptions?: unknown;
  method?: unknown;
  path?: string | null | undefined;
  defaultBaseURL?: string | null | undefined;
  /** The body's `stream` is what counts, as in OpenAI's client. */
  stream?: boolean | null | undefined;
}

/** The chunks of an answer. Leaving the loop over them ends the request. They can be read once. */
export type ChunkStream<Chunk> = AsyncStream<Chunk>;

export interface ChatCompletions {
  /**
   * Answers a chat. Requests wait in a queue, and one is answered at a time. A stream resolves when its answer begins.
   * `invalid_argument` for a field that is wrong or not supported; `context_full`; `busy` if too many wait (`queueLimit`).
   */
  create(
    body: ChatCompletionStreamRequest,
    options?: RequestOptions | null,
  ): Promise<ChunkStream<ChatCompletionChunk>>;
  create(
    body: ChatCompletionWholeRequest,
    options?: RequestOptions | null,
  ): Promise<ChatCompletion>;
  create(
    body: ChatCompletionRequest,
    options?: RequestOptions | null,
  ): Promise<ChatCompletion | ChunkStream<ChatCompletionChunk>>;
}

export interface Completions {
  /** Continues texts, as ChatCompletions.create answers chats. */
  create(
    body: CompletionStreamRequest,
    options?: RequestOptions | null,
  ): Promise<ChunkStream<TextCompletionChunk>>;
  create(body: CompletionWholeRequest, options?: RequestOptions | null): Promise<TextCompletion>;
  create(
    body: CompletionRequest,
    options?: RequestOptions | null,
  ): Promise<TextCompletion | ChunkStream<TextCompletionChunk>>;
}
