// In the engine worker: the sessions on which chats and other requests of their kind are answered. A request gets the one that
// shares the most tokens with its prompt, so that a conversation that goes on computes only what is new.
import type {
  EngineHandle,
  PromptHandle,
  SessionHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import { check, parseAnswer } from './answers.js';
import { SluiceError } from './errors.js';
import type { Note } from './notes.js';
import type { ChatBegun, ChatPrompt, ChatToken, ToEngine } from './protocol.js';
import { coreStats } from './runs.js';
import type { MemoryPlan } from './types.js';

/** The number of the session that answers; the page's own are from 0 on. */
export const CHAT_SESSION = -1;

/** Sessions that are kept, if there is memory for so many. */
const KEPT = 2;
/** What may be lost of a session when a prompt goes another way: fewer tokens than this, or than this share of its tokens. */
const LITTLE = { tokens: 32, share: 1 / 8 };
/** The share of the context that is kept for an answer when old turns are dropped: without `maxTokens`, and with it at most. */
const ROOM = { usual: 1 / 4, most: 1 / 2 };

/** A reply that has been started. */
export interface Begun {
  handle: SessionHandle;
  begun: ChatBegun;
  /** Adds the bytes of tokens, if they are wanted. */
  dress: ((tokens: ChatToken[]) => void) | null;
  /** Starts it anew after an error, with fewer sessions; false: that wouldn't help. */
  again(error: SluiceError): boolean;
}

type ChatCall = ToEngine & { type: 'chat' };
type OpenedChat = Omit<ChatBegun, 'promptTokens'> & { tokens: number };

export class ChatSessions {
  /** The least recently used first. */
  readonly #kept: SessionHandle[] = [];
  readonly #most: number;
  /** Of the last request: it may have to be started again. */
  #prompt: PromptHandle | null = null;
  #opened: OpenedChat | null = null;

  constructor(
    readonly module: SluiceModule,
    readonly engine: EngineHandle,
    memory: MemoryPlan | null,
    /** Frees what else has memory and can go; false: there is nothing. */
    readonly spare: () => boolean,
  ) {
    const roomy =
      memory !== null && (memory.budget === 0 || memory.total + memory.session <= memory.budget);
    this.#most = roomy ? KEPT : 1;
  }

  /** Frees them. */
  end(): void {
    this.#prompt?.delete();
    for (const handle of this.#kept.splice(0)) handle.delete();
  }

  /** Opens the prompt of a request. No reply may run. */
  open({ prompt, maxTokens }: ChatCall): PromptHandle {
    this.#prompt?.delete();
    const opening = new this.module.Prompt(this.engine);
    this.#prompt = opening;
    this.#opened = parseAnswer<OpenedChat>(this.#openPrompt(opening, prompt, maxTokens));
    return opening;
  }

  /** How many tokens a prompt has, and what there is to say of it. */
  count(prompt: ChatPrompt): { tokens: number; warnings: Note[] } {
    const opening = new this.module.Prompt(this.engine);
    try {
      return parseAnswer<OpenedChat>(this.#openPrompt(opening, prompt, null));
    } finally {
      opening.delete();
    }
  }

  /** How many of the prompt's tokens a session has. */
  get shared(): number {
    const prompt = this.#prompt;
    return prompt === null ? 0 : Math.max(0, ...this.#kept.map((handle) => prompt.shared(handle)));
  }

  /** Takes a session for the prompt that was opened. */
  adopt(handle: SessionHandle): void {
    this.makeRoom();
    this.#kept.push(handle);
  }

  /** Starts the reply to the prompt that was opened. */
  start({ options, thinkingTokens, bytes }: ChatCall): Begun {
    const opening = this.#prompt as PromptHandle;
    const opened = this.#opened as OpenedChat;
    const handle = this.#choose(opening);
    const start = (): void => check(handle.startReply(opening, options, thinkingTokens));
    let tried = false;
    const again = (error: SluiceError): boolean => {
      if (error.code !== 'out_of_memory' || tried) return false;
      const spared = this.spare();
      if (!spared && this.#kept.length < 2) return false;
      tried = true;
      this.#freeAllBut(handle);
      try {
        start();
        return true;
      } catch (failure) {
        if (failure instanceof SluiceError) return false;
        throw failure;
      }
    };
    try {
      start();
    } catch (error) {
      if (!(error instanceof SluiceError) || !again(error)) throw error;
    }
    const { tokens, dropped, reasoning, warnings } = opened;
    return {
      handle,
      begun: { promptTokens: tokens, dropped, reasoning, warnings },
      dress: bytes ? (tokens) => this.#addBytes(tokens) : null,
      again,
    };
  }

  #openPrompt(opening: PromptHandle, prompt: ChatPrompt, maxTokens: number | null): string {
    if (prompt.kind === 'text') return opening.openText(prompt.text);
    if (prompt.kind === 'ids') return opening.openIds(prompt.ids);
    const { messages, kwargs, chatTemplate, truncate, thinking } = prompt;
    const now = new Date();
    return opening.openChat(
      messages,
      kwargs,
      chatTemplate,
      truncate ? this.#mostTokens(maxTokens) : 0,
      thinking,
      Math.floor(now.getTime() / 1000),
      -60 * now.getTimezoneOffset(),
    );
  }

  /** The longest prompt that leaves room for the answer. */
  #mostTokens(maxTokens: number | null): number {
    const { contextSize } = coreStats(this.engine);
    const room = Math.min(maxTokens ?? contextSize * ROOM.usual, contextSize * ROOM.most);
    return Math.max(1, Math.floor(contextSize - room));
  }

  /** The session for this prompt, which is now the most recently used. */
  #choose(prompt: PromptHandle): SessionHandle {
    let best: SessionHandle | null = null;
    let shared = 0;
    for (const handle of this.#kept) {
      const tokens = prompt.shared(handle);
      // Of two that are equally good, the one that was used last.
      if (best !== null && tokens < shared) continue;
      best = handle;
      shared = tokens;
    }
    const handle = (best === null ? null : this.#from(best, shared)) ?? this.#fresh();
    const at = this.#kept.indexOf(handle);
    if (at >= 0) this.#kept.splice(at, 1);
    this.#kept.push(handle);
    return handle;
  }

  /** The session itself if little of it would be lost, otherwise one with the same tokens; null: a new one is as good. */
  #from(best: SessionHandle, shared: number): SessionHandle | null {
    const { length } = best.tokens();
    const lost = length - shared;
    if (lost < LITTLE.tokens || lost < length * LITTLE.share) return best;
    // With all places taken, the least recently used goes.
    if (this.#kept.length >= this.#most && this.#kept[0] === best) return best;
    if (shared === 0) return null;
    this.makeRoom();
    return best.clone() ?? best;
  }

  #fresh(): SessionHandle {
    this.makeRoom();
    return new this.module.Session(this.engine);
  }

  /** Frees the least recently used sessions, so that there is a place for one. */
  makeRoom(): void {
    while (this.#kept.length >= this.#most) this.#kept.shift()?.delete();
  }

  #freeAllBut(handle: SessionHandle): void {
    for (const other of this.#kept.splice(0)) if (other !== handle) other.delete();
    this.#kept.push(handle);
  }

  #addBytes(tokens: ChatToken[]): void {
    const ids = tokens.flatMap(({ id, top = [] }) => [id, ...top.map(([other]) => other)]);
    const bytes = parseAnswer<number[][]>(this.engine.tokenBytes(ids));
    let at = 0;
    for (const token of tokens) {
      token.bytes = bytes[at++] ?? [];
      token.topBytes = (token.top ?? []).map(() => bytes[at++] ?? []);
    }
  }
}
