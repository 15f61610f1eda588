// Answers in OpenAI's formats: whole, and as chunks of a stream.
import type { AnswerMessage, AnswerPart } from '../../shared/answer-types.js';
import type { ChatBegun } from '../../shared/protocol.js';
import type { Finish, ModelInfo } from '../../shared/types.js';
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
} from '../../shared/chat-types.js';
import { foldParts } from './parts.js';
import type { TakenRequest } from './request.js';

/** The library's version; a test compares it with the package's. */
export const VERSION = '0.1.0';

/** Receives the answers to a request, one after the other, in the order of their index. */
export interface Sink {
  begun(index: number, begun: ChatBegun): void;
  parts(index: number, parts: readonly AnswerPart[]): void;
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

function topOf({ top = [], topBytes = [] }: AnswerPart): TokenLogprob[] {
  return top.map(([, logprob], i) => tokenLogprob(topBytes[i] ?? [], logprob));
}

const isContent = ({ part }: AnswerPart): boolean => part === 'text';

/** Of the content alone. */
function chatLogprobs(parts: readonly AnswerPart[]): ChatLogprobs {
  const content = parts.filter(isContent).map((token) => ({
    ...tokenLogprob(token.bytes ?? [], token.logprob),
    top_logprobs: topOf(token),
  }));
  return { content, refusal: null };
}

export class WholeChat implements Sink {
  readonly #choices: ChatCompletionChoice[] = [];
  #rest: Rest | null = null;
  #dropped = 0;
  /** The answer that is written. */
  #message: AnswerMessage = foldParts([]);

  constructor(
    readonly head: AnswerHead,
    readonly wanted: Wanted,
  ) {}

  begun(index: number, { dropped }: ChatBegun): void {
    this.#dropped = dropped;
    this.#message = foldParts([]);
    const message = { role: 'assistant', content: '', refusal: null } as const;
    const logprobs = this.wanted.logprobs ? chatLogprobs([]) : null;
    this.#choices[index] = { index, message, logprobs, finish_reason: 'stop' };
  }

  parts(index: number, parts: readonly AnswerPart[]): void {
    const { message, logprobs } = this.#choices[index] as ChatCompletionChoice;
    this.#message = foldParts(parts, this.#message);
    const { content, reasoning } = this.#message;
    message.content = content;
    if (reasoning !== '') message.reasoning_content = reasoning;
    logprobs?.content.push(...chatLogprobs(parts).content);
  }

  ended(index: number, finish: Finish, figures: Figures | null): void {
    (this.#choices[index] as ChatCompletionChoice).finish_reason = reasonOf(finish);
    if (figures !== null) this.#rest = { usage: figures.usage, timings: figures.timings };
  }

  /** Read it after all answers have ended. */
  get whole(): ChatCompletion {
    return {
      ...this.head,
      object: 'chat.completion',
      choices: this.#choices,
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
      ...this.head,
      object: 'chat.completion.chunk',
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

  parts(index: number, parts: readonly AnswerPart[]): void {
    for (const part of parts) {
      const content = isContent(part);
      const logprobs = this.wanted.logprobs && content ? chatLogprobs([part]) : null;
      if (part.text === '' && logprobs === null) continue;
      const delta = content ? { content: part.text } : { reasoning_content: part.text };
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
function textLogprobs(tokens: readonly AnswerPart[], offset: number): TextLogprobs {
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

  parts(index: number, parts: readonly AnswerPart[]): void {
    const choice = this.#choices[index] as TextChoice;
    if (choice.logprobs !== null) {
      const more = textLogprobs(parts, choice.text.length);
      choice.logprobs.tokens.push(...more.tokens);
      choice.logprobs.token_logprobs.push(...more.token_logprobs);
      choice.logprobs.top_logprobs.push(...more.top_logprobs);
      choice.logprobs.text_offset.push(...more.text_offset);
    }
    choice.text += foldParts(parts).content;
  }

  ended(index: number, finish: Finish, figures: Figures | null): void {
    (this.#choices[index] as TextChoice).finish_reason = reasonOf(finish);
    if (figures !== null) this.#rest = { usage: figures.usage, timings: figures.timings };
  }

  get whole(): TextCompletion {
    return {
      ...this.head,
      object: 'text_completion',
      choices: this.#choices,
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

  parts(index: number, parts: readonly AnswerPart[]): void {
    for (const part of parts) {
      const { text } = part;
      const logprobs = this.wanted.logprobs ? textLogprobs([part], this.#length) : null;
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
