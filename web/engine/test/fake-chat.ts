// The part of the module without wasm that answers chats. A prompt's tokens are its characters, and so are an answer's.
import { fakeRaw } from './fake-inside.js';
import type { Answer, PromptHandle, SessionHandle } from '../../../wasm/module.js';
import { makeNote } from '../src/shared/notes.js';

/** What a prompt gives from which messages were dropped. */
export const DROPPED = makeNote('unknown_role', 'dropped');

/** The options of a reply that the fake knows. */
export interface ReplyOptions {
  maxTokens?: number;
  seed?: number;
  stop?: string[];
  topLogprobs?: number;
  temperature?: number;
  trace?: number;
}

interface ReplyToken {
  text: string;
  reasoning?: boolean;
}

/** What the fake has seen of chats, and what it is to do. */
export interface ChatControl {
  contextSize: number;
  /** The answer to a chat, token by token, by the last message's text (or the prompt's) and the options. */
  reply: (text: string, options: ReplyOptions) => ReplyToken[];
  /** An error in the place of a reply's token number `i`, by session. */
  replyFails: (i: number, session: number) => Answer | null;
  /** While this returns true, replies work before token number `i`; 'weights': they wait for bytes, which never come. */
  replyWaits: (i: number) => boolean | 'weights';
  /** A session can only go on from so many tokens before its end, or from its beginning. */
  reach: number;
  /** What was asked for: the arguments of Prompt's functions, and those of startReply. */
  asked: unknown[][];
  replies: { session: number; reused: number; options: ReplyOptions; thinkingTokens: number }[];
  /** Messages that are dropped if the prompt must not have more than some tokens. */
  dropped: number;
  /** Prompts that live. */
  prompts: number;
  /** Called while a template is rendered. */
  renders: () => void;
  /** Whether the rendering is to end: what stopWhen() was given. */
  stopped: () => boolean;
}

export function makeChatControl(): ChatControl {
  return {
    contextSize: 100,
    reply: (text) => text.split(' ').map((word, i) => ({ text: i === 0 ? word : ` ${word}` })),
    replyFails: () => null,
    replyWaits: () => false,
    reach: Infinity,
    asked: [],
    replies: [],
    dropped: 0,
    prompts: 0,
    renders: () => {},
    stopped: () => false,
  };
}

/** The error of a template that was stopped while it was rendered; null: it was not. */
export function renderFails(control: ChatControl): Answer | null {
  control.renders();
  return control.stopped() ? errorAnswer('aborted', 'the template was interrupted') : null;
}

export function errorAnswer(code: string, message: string): Answer {
  return JSON.stringify({ event: 'error', code, message });
}

/** What a token of the fake stands for: that of id 8364 is a part of a character. */
export function fakeBytes(id: number): Uint8Array {
  const bytes = new TextEncoder().encode(String.fromCodePoint(id));
  return id === 8364 ? bytes.slice(0, 2) : bytes;
}

const codes = (text: string): number[] => Array.from(text, (c) => c.codePointAt(0) ?? 0);

/** Its tokens are the characters of the messages. Messages that begin with 'wrong' are refused. */
export class FakePrompt implements PromptHandle {
  text = '';
  ids: number[] = [];

  constructor(readonly control: ChatControl) {
    control.prompts += 1;
  }
  openChat(messages: string, ...rest: unknown[]): Answer {
    this.control.asked.push(['chat', messages, ...rest]);
    const list = JSON.parse(messages) as { role: string; content: string }[];
    const failure = renderFails(this.control);
    if (failure !== null) return failure;
    this.text = list.at(-1)?.content ?? '';
    if (this.text.startsWith('wrong'))
      return errorAnswer('invalid_argument', 'line 1 of the template: no');
    const written = list.map(({ role, content }) => (role === 'user' ? `<${content}>` : content));
    const mostTokens = rest[2] as number;
    return this.#opened(codes(written.join('')), mostTokens > 0 ? this.control.dropped : 0);
  }
  openText(text: string): Answer {
    this.control.asked.push(['text', text]);
    this.text = text;
    return this.#opened(codes(text), 0);
  }
  openIds(ids: ArrayLike<number>): Answer {
    this.control.asked.push(['ids', ...Array.from(ids)]);
    this.text = 'ids';
    return this.#opened(Array.from(ids), 0);
  }
  #opened(ids: number[], dropped: number): Answer {
    this.ids = ids;
    const warnings = dropped > 0 ? [DROPPED] : [];
    return JSON.stringify({
      tokens: ids.length,
      dropped,
      template: 'fake',
      warnings,
      reasoning: true,
    });
  }
  reusable(session: SessionHandle): number {
    const tokens = session.tokens();
    const same = Math.max(0, Math.min(this.sharedWritten(tokens), this.ids.length - 1));
    return tokens.length - same > this.control.reach ? 0 : same;
  }
  sharedWritten(known: ArrayLike<number>): number {
    const end = this.ids.findIndex((id, i) => known[i] !== id);
    return end < 0 ? this.ids.length : end;
  }
  delete(): void {
    this.control.prompts -= 1;
  }
}

/** An answer that is being written. */
export class FakeReply {
  #next = 0;

  constructor(
    readonly control: ChatControl,
    readonly session: number,
    readonly written: readonly ReplyToken[],
    readonly options: ReplyOptions,
    readonly prompt: { tokens: number; reused: number },
  ) {}

  /** `tokens`: what the session has besides, from now on. */
  step(): { answer: Answer; over: boolean; tokens: number[] } {
    const i = this.#next;
    const { control, options } = this;
    const still = (answer: Answer): ReturnType<FakeReply['step']> => ({
      answer,
      over: false,
      tokens: [],
    });
    const failure = control.replyFails(i, this.session);
    if (failure !== null) return still(failure);
    const waits = control.replyWaits(i);
    if (waits !== false)
      return still(JSON.stringify({ event: waits === true ? 'working' : 'waiting' }));
    const token = this.written[i];
    if (token === undefined || i === options.maxTokens) {
      const finish = token === undefined ? 'eos' : 'length';
      return { answer: JSON.stringify({ event: 'done', finish }), over: true, tokens: [] };
    }
    this.#next += 1;
    const id = token.text.codePointAt(0) ?? 0;
    const { topLogprobs: count = 0 } = options;
    const top = Array.from({ length: count }, (_, k) => [id + k, -1 - k]);
    const raw = fakeRaw(id, options.trace);
    const event = {
      event: 'token',
      id,
      ...token,
      logprob: -1,
      ...(count > 0 ? { top } : {}),
      ...raw,
    };
    return { answer: JSON.stringify(event), over: false, tokens: codes(token.text) };
  }

  get stats(): object {
    const written = this.written.slice(0, this.#next);
    return {
      promptTokens: this.prompt.tokens,
      reusedTokens: this.prompt.reused,
      reasoningTokens: written.filter((token) => token.reasoning).length,
      ttftMs: 25,
      promptTokensPerSecond: 350,
      tokensPerSecond: 100,
      tokens: this.#next,
    };
  }
}

/** Begins a reply in a session, or says why it can't. */
export function beginReply(
  control: ChatControl,
  number: number,
  session: SessionHandle,
  prompt: FakePrompt,
  given: { options: ReplyOptions; thinkingTokens: number },
): FakeReply | Answer {
  const { length } = prompt.ids;
  if (length >= control.contextSize)
    return errorAnswer('context_full', `the prompt has ${length} tokens; use a shorter one`);
  const reused = prompt.reusable(session);
  control.replies.push({ session: number, reused, ...given });
  const written = control.reply(prompt.text, given.options);
  return new FakeReply(control, number, written, given.options, { tokens: length, reused });
}
