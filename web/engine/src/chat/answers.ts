// Answers in OpenAI's formats: whole, and as chunks of a stream.
import type { ChatBegun, ChatToken } from '../protocol.js';
import type { Finish, ModelInfo } from '../types.js';
import type { Figures } from './figures.js';
import type {
  ChatCompletion,
  ChatCompletionChoice,
  ChatCompletionChunk,
  ChatCompletionDelta,
  ChatLogprobs,
  FinishReason,
  TextChoice,
  TextCompletion,
  TextCompletionChunk,
  TextLogprobs,
  TokenLogprob,
} from './types.js';
import type { TakenRequest } from './request.js';

/** The library's version; a test compares it with the package's. */
export const VERSION = '0.1.0';

/** Receives the answers to a request, one after the other, in the order of their index. */
export interface Sink {
  begun(index: number, begun: ChatBegun): void;
  tokens(index: number, tokens: ChatToken[]): void;
  /** `figures`: the totals of the request; null except for the last answer. */
  ended(index: number, finish: Finish, figures: Figures | null): void;
}

/** What a request wants in its answer. */
export type Wanted = Pick<TakenRequest, 'logprobs' | 'tellsDropped' | 'includeUsage'>;

/** The first fields of a whole answer and of every chunk. */
export interface AnswerHead {
  id: string;
  created: number;
  model: string;
  system_fingerprint: string;
}

export function modelName({ name, architecture }: ModelInfo): string {
  return (name ?? '') || (architecture ?? '') || 'model';
}

/** FNV-1a (32 bits, hexadecimal). */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text))
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

export function headOf(prefix: 'chatcmpl' | 'cmpl', info: ModelInfo): AnswerHead {
  const random = crypto.getRandomValues(new Uint8Array(12));
  const id = Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const { architecture, fileBytes, memory } = info;
  const model = modelName(info);
  const backend = [VERSION, model, architecture, fileBytes, memory?.kvType].join('\n');
  return {
    id: `${prefix}-${id}`,
    created: Math.floor(Date.now() / 1000),
    model,
    system_fingerprint: `fp_${hashOf(backend)}`,
  };
}

/** The fields that are known when all answers have ended. */
type Rest = Pick<ChatCompletion, 'usage' | 'timings'>;

function reasonOf(finish: Finish): FinishReason {
  return finish === 'eos' || finish === 'stop' ? 'stop' : 'length';
}

function tokenLogprob(bytes: number[], logprob: number): TokenLogprob {
  const token = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  return { token, logprob, bytes };
}

function topOf({ top = [], topBytes = [] }: ChatToken): TokenLogprob[] {
  return top.map(([, logprob], i) => tokenLogprob(topBytes[i] ?? [], logprob));
}

function chatLogprobs(tokens: readonly ChatToken[]): ChatLogprobs {
  const content = tokens.map((token) => ({
    ...tokenLogprob(token.bytes ?? [], token.logprob),
    top_logprobs: topOf(token),
  }));
  return { content, refusal: null };
}

const isContent = (token: ChatToken): boolean => token.reasoning !== true;

export class WholeChat implements Sink {
  readonly #choices: ChatCompletionChoice[] = [];
  #rest: Rest | null = null;
  #dropped = 0;

  constructor(
    readonly head: AnswerHead,
    readonly wanted: Wanted,
  ) {}

  begun(index: number, { dropped }: ChatBegun): void {
    this.#dropped = dropped;
    const message = { role: 'assistant', content: '', refusal: null } as const;
    const logprobs = this.wanted.logprobs ? chatLogprobs([]) : null;
    this.#choices[index] = { index, message, logprobs, finish_reason: 'stop' };
  }

  tokens(index: number, tokens: ChatToken[]): void {
    const { message, logprobs } = this.#choices[index] as ChatCompletionChoice;
    for (const { text, reasoning } of tokens) {
      if (reasoning !== true) message.content += text;
      else if (text !== '') message.reasoning_content = (message.reasoning_content ?? '') + text;
    }
    logprobs?.content.push(...chatLogprobs(tokens.filter(isContent)).content);
  }

  ended(index: number, finish: Finish, figures: Figures | null): void {
    (this.#choices[index] as ChatCompletionChoice).finish_reason = reasonOf(finish);
    if (figures !== null) this.#rest = { usage: figures.usage, timings: figures.timings };
  }

  /** Read it after all answers have ended. */
  get whole(): ChatCompletion {
    return {
      ...{ ...this.head, object: 'chat.completion', choices: this.#choices },
      ...(this.#rest as Rest),
      ...(this.wanted.tellsDropped ? { dropped_messages: this.#dropped } : {}),
    };
  }
}

export class ChatChunks implements Sink {
  constructor(
    readonly head: AnswerHead,
    readonly wanted: Wanted,
    readonly push: (chunk: ChatCompletionChunk) => void,
  ) {}

  #push(
    index: number,
    delta: ChatCompletionDelta,
    more: Partial<ChatCompletionChunk> = {},
    logprobs: ChatLogprobs | null = null,
    finish_reason: FinishReason | null = null,
  ): void {
    this.push({
      ...{ ...this.head, object: 'chat.completion.chunk' },
      choices: [{ index, delta, logprobs, finish_reason }],
      ...(this.wanted.includeUsage ? { usage: null } : {}),
      ...more,
    });
  }

  begun(index: number, { dropped }: ChatBegun): void {
    const tells = index === 0 && this.wanted.tellsDropped;
    this.#push(
      index,
      { role: 'assistant', content: '' },
      tells ? { dropped_messages: dropped } : {},
    );
  }

  tokens(index: number, tokens: ChatToken[]): void {
    for (const token of tokens) {
      const content = isContent(token);
      const logprobs = this.wanted.logprobs && content ? chatLogprobs([token]) : null;
      if (token.text === '' && logprobs === null) continue;
      const delta = content ? { content: token.text } : { reasoning_content: token.text };
      this.#push(index, delta, {}, logprobs);
    }
  }

  ended(index: number, finish: Finish, figures: Figures | null): void {
    const timings = figures === null ? {} : { timings: figures.timings };
    this.#push(index, {}, timings, null, reasonOf(finish));
    if (figures === null || !this.wanted.includeUsage) return;
    const last = { ...this.head, object: 'chat.completion.chunk', choices: [] } as const;
    this.push({ ...last, choices: [], usage: figures.usage });
  }
}

/** The log-probabilities of tokens that begin at `offset` of the text. */
function textLogprobs(tokens: readonly ChatToken[], offset: number): TextLogprobs {
  const found: TextLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
  let at = offset;
  for (const token of tokens) {
    found.tokens.push(tokenLogprob(token.bytes ?? [], 0).token);
    found.token_logprobs.push(token.logprob);
    // Tokens may have the same text, and the last entry wins: so the likeliest comes last.
    const top = topOf(token).reverse();
    found.top_logprobs.push(Object.fromEntries(top.map((one) => [one.token, one.logprob])));
    found.text_offset.push(at);
    at += token.text.length;
  }
  return found;
}

export class WholeText implements Sink {
  readonly #choices: TextChoice[] = [];
  #rest: Rest | null = null;

  constructor(
    readonly head: AnswerHead,
    readonly wanted: Wanted,
  ) {}

  begun(index: number): void {
    const logprobs = this.wanted.logprobs ? textLogprobs([], 0) : null;
    this.#choices[index] = { index, text: '', logprobs, finish_reason: 'stop' };
  }

  tokens(index: number, tokens: ChatToken[]): void {
    const choice = this.#choices[index] as TextChoice;
    if (choice.logprobs !== null) {
      const more = textLogprobs(tokens, choice.text.length);
      choice.logprobs.tokens.push(...more.tokens);
      choice.logprobs.token_logprobs.push(...more.token_logprobs);
      choice.logprobs.top_logprobs.push(...more.top_logprobs);
      choice.logprobs.text_offset.push(...more.text_offset);
    }
    for (const { text } of tokens) choice.text += text;
  }

  ended(index: number, finish: Finish, figures: Figures | null): void {
    (this.#choices[index] as TextChoice).finish_reason = reasonOf(finish);
    if (figures !== null) this.#rest = { usage: figures.usage, timings: figures.timings };
  }

  get whole(): TextCompletion {
    return {
      ...{ ...this.head, object: 'text_completion', choices: this.#choices },
      ...(this.#rest as Rest),
    };
  }
}

export class TextChunks implements Sink {
  /** The length of the text so far. */
  #length = 0;

  constructor(
    readonly head: AnswerHead,
    readonly wanted: Wanted,
    readonly push: (chunk: TextCompletionChunk) => void,
  ) {}

  #push(choices: TextCompletionChunk['choices'], more: Partial<TextCompletionChunk> = {}): void {
    const usage = this.wanted.includeUsage ? { usage: null } : {};
    this.push({ ...this.head, object: 'text_completion', choices, ...usage, ...more });
  }

  begun(): void {
    this.#length = 0;
  }

  tokens(index: number, tokens: ChatToken[]): void {
    for (const token of tokens) {
      const { text } = token;
      const logprobs = this.wanted.logprobs ? textLogprobs([token], this.#length) : null;
      this.#length += text.length;
      if (text !== '' || logprobs !== null)
        this.#push([{ index, text, logprobs, finish_reason: null }]);
    }
  }

  ended(index: number, finish: Finish, figures: Figures | null): void {
    const timings = figures === null ? {} : { timings: figures.timings };
    this.#push([{ index, text: '', logprobs: null, finish_reason: reasonOf(finish) }], timings);
    if (figures !== null && this.wanted.includeUsage) this.#push([], { usage: figures.usage });
  }
}
