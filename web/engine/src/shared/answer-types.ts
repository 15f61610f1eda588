// The types of answers: the native stream of what a model writes in a conversation.
import type { ChatMessageParam } from './chat-types.js';
import type { GenerateOptions } from './option-table.js';
import type { AsyncStream, ChatMessage, EngineStats, Finish, Token } from './types.js';

/** A token of an answer. */
export interface AnswerToken extends Token {
  /** With the option `bytes`: the token's own bytes, which may be a part of a character. */
  bytes?: number[];
  /** With `bytes` and `topLogprobs`: the bytes of each token in `top`. */
  topBytes?: number[][];
}

/** A token of what the model says. */
export interface TextPart extends AnswerToken {
  part: 'text';
}

/** A token of what the model thinks before it answers. */
export interface ReasoningPart extends AnswerToken {
  part: 'reasoning';
}

/**
 * What comes of an answer, token by token. A token that only marks where reasoning begins or ends has the text ''. Later versions
 * may have other kinds of parts, such as calls of tools: ignore those that you don't know.
 */
export type AnswerPart = TextPart | ReasoningPart;

/** An answer as a message. It can be given back in `messages`. */
export interface AnswerMessage {
  role: 'assistant';
  content: string;
  /** What the model thought before; '' for nothing. */
  reasoning: string;
}

/** How a text ended. */
export interface TextEnd {
  /** The ids of its tokens. */
  tokens: number[];
  finish: Finish;
  /** As `engine.stats`, or `session.stats`, at its end. */
  stats: EngineStats;
}

/** A whole text. */
export interface Completion extends TextEnd {
  text: string;
}

/** A whole answer. */
export interface Answer extends TextEnd {
  message: AnswerMessage;
  /** With `truncate`: how many messages were left out of the prompt. */
  dropped: number;
}

/** The stream of a text, and its end. */
export interface TextStream<Item, End extends TextEnd> extends AsyncStream<Item> {
  [Symbol.asyncIterator](): TextStream<Item, End>;
  /**
   * Resolves when the text has ended, with all that was written. If the loop was left, that is what came until then, with the
   * finish 'aborted'. Rejects with what the loop throws. Stays pending while the stream is not read.
   */
  readonly ending: Promise<End>;
}

/** The parts of an answer. Leaving the loop over them ends it. They can be read once. */
export type AnswerStream = TextStream<AnswerPart, Answer>;

/** An answer's messages and options. Those of `generate` are the same here, but the template decides what is special. */
export interface AnswerRequest extends Omit<GenerateOptions, 'special'> {
  /**
   * The whole conversation, with contents of text. A message's `reasoning` is given to the template as `reasoning_content`, the
   * name that templates know.
   */
  messages: readonly (ChatMessage | ChatMessageParam | AnswerMessage)[];
  /** Reasoning on or off, if the model has the choice. Default: what the template does. */
  thinking?: boolean | undefined;
  /** The most tokens of reasoning. Then it is ended, and the model answers. Default: no limit. */
  thinkingTokens?: number | undefined;
  /** More variables for the template. */
  kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** A Jinja template to use instead of the file's default, or the name of another one in the file. */
  chatTemplate?: string | undefined;
  /** The last message is the assistant's, and the model continues it. The parts are what is new. */
  continueFinalMessage?: boolean | undefined;
  /**
   * If the prompt leaves no room for an answer, the oldest turns are left out, but never the system's message. Without it such a
   * prompt fails with `context_full`.
   */
  truncate?: boolean | undefined;
  /** Also gives the bytes of each token. */
  bytes?: boolean | undefined;
  /**
   * The name under which this device keeps the conversation's state, of 1 to 200 characters: see `states`. Not for
   * `session.answer`: a session is saved with `save`.
   */
  state?: string | undefined;
}
