// In the engine worker: the sessions for chat and completion requests. A request uses the session that can reuse the most
// tokens for its prompt, so that a continued conversation computes only its new tokens.
import type {
  EngineHandle,
  PromptHandle,
  SessionHandle,
  SluiceModule,
} from '../../../../wasm/module.js';
import { check, parseAnswer } from './module-answers.js';
import { SluiceError } from '../shared/errors.js';
import type { Note } from '../shared/notes.js';
import type { EngineCalls } from '../shared/calls.js';
import type { ChatBegun, ChatPrompt, ChatToken } from '../shared/protocol.js';
import { coreStats } from './runs.js';
import type { MemoryPlan } from '../shared/types.js';

/** The session number of chat requests. The page's own sessions are numbered from 0 on. */
export const CHAT_SESSION = -1;

/** The most sessions to keep, if there is memory for them. */
const KEPT = 2;
/** A prompt that drops fewer of a session's tokens than this number, or this share, uses the session itself and no clone. */
const LITTLE = { tokens: 32, share: 1 / 8 };
/** The share of the context reserved for the answer when old turns are dropped: without `maxTokens`, and at most with it. */
const ROOM = { usual: 1 / 4, most: 1 / 2 };

/** A reply that has been started. */
export interface Begun {
  handle: SessionHandle;
  begun: ChatBegun;
  /** Adds each token's bytes; null if the request doesn't want them. */
  dress: ((tokens: ChatToken[]) => void) | null;
  /** After `out_of_memory`: frees other memory and starts the reply again. False: none could be freed, or it failed again. */
  again(error: SluiceError): boolean;
}

/** The arguments of a chat. */
export type ChatArgs = EngineCalls['chat']['args'];
type OpenedChat = Omit<ChatBegun, 'promptTokens'> & { tokens: number };

export class ChatSessions {
  /** The least recently used first. */
  readonly #kept: SessionHandle[] = [];
  readonly #most: number;
  /** The last request's prompt: the reply may have to be started again. */
  #prompt: PromptHandle | null = null;
  #opened: OpenedChat | null = null;

  constructor(
    readonly module: SluiceModule,
    readonly engine: EngineHandle,
    memory: MemoryPlan | null,
    /** Frees memory that something else holds and can do without; false: there was none. */
    readonly spare: () => boolean,
  ) {
    const roomy =
      memory !== null && (memory.budget === 0 || memory.total + memory.session <= memory.budget);
    this.#most = roomy ? KEPT : 1;
  }

  /** Frees all sessions. */
  end(): void {
    this.#prompt?.delete();
    for (const handle of this.#kept.splice(0)) handle.delete();
  }

  /** Opens the prompt of a request. No reply may run. */
  open({ prompt, maxTokens }: ChatArgs): PromptHandle {
    this.#prompt?.delete();
    const opening = new this.module.Prompt(this.engine);
    this.#prompt = opening;
    this.#opened = parseAnswer<OpenedChat>(this.#openPrompt(opening, prompt, maxTokens));
    return opening;
  }

  /** The number of a prompt's tokens, and its warnings. Of one that is far longer than the context about the number. */
  count(prompt: ChatPrompt): { tokens: number; warnings: Note[] } {
    const opening = new this.module.Prompt(this.engine);
    try {
      return parseAnswer<OpenedChat>(this.#openPrompt(opening, prompt, null));
    } catch (error) {
      const tokens = error instanceof SluiceError && error.facts.tokens;
      if (!tokens) throw error;
      return { tokens, warnings: [] };
    } finally {
      opening.delete();
    }
  }

  /** How many of the opened prompt's first tokens the best session need not compute again. */
  get reusable(): number {
    const prompt = this.#prompt;
    if (prompt === null) return 0;
    return Math.max(0, ...this.#kept.map((handle) => prompt.reusable(handle)));
  }

  /** Adds a session that was restored for the opened prompt. */
  adopt(handle: SessionHandle): void {
    this.makeRoom();
    this.#kept.push(handle);
  }

  /** Opens a request's prompt and starts the reply in a session that is not one of these. */
  startIn(
    handle: SessionHandle,
    { prompt, options, maxTokens, thinkingTokens, bytes }: ChatArgs,
  ): Omit<Begun, 'handle' | 'again'> {
    const opening = new this.module.Prompt(this.engine);
    try {
      const opened = parseAnswer<OpenedChat>(this.#openPrompt(opening, prompt, maxTokens));
      check(handle.startReply(opening, options, thinkingTokens));
      return this.#begun(opened, bytes);
    } finally {
      opening.delete();
    }
  }

  #begun(
    { tokens, dropped, reasoning, warnings }: OpenedChat,
    bytes: boolean,
  ): Omit<Begun, 'handle' | 'again'> {
    return {
      begun: { promptTokens: tokens, dropped, reasoning, warnings },
      dress: bytes ? (some) => this.#addBytes(some) : null,
    };
  }

  /** Starts the reply to the prompt that was opened. */
  start({ options, thinkingTokens, bytes }: ChatArgs): Begun {
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
    return { ...this.#begun(opened, bytes), handle, again };
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

  /** Chooses the session for this prompt, and makes it the most recently used. */
  #choose(prompt: PromptHandle): SessionHandle {
    let best: SessionHandle | null = null;
    let reusable = 0;
    for (const handle of this.#kept) {
      const tokens = prompt.reusable(handle);
      // If two can reuse as many tokens, the more recently used one.
      if (best !== null && tokens < reusable) continue;
      best = handle;
      reusable = tokens;
    }
    const handle = (best === null ? null : this.#from(best, reusable)) ?? this.#fresh();
    const at = this.#kept.indexOf(handle);
    if (at >= 0) this.#kept.splice(at, 1);
    this.#kept.push(handle);
    return handle;
  }

  /** The session itself if the prompt drops few of its tokens, otherwise a clone; null if it can reuse none. */
  #from(best: SessionHandle, reusable: number): SessionHandle | null {
    const { length } = best.tokens();
    const lost = length - reusable;
    if (lost < LITTLE.tokens || lost < length * LITTLE.share) return best;
    // With no free slot, the least recently used session would be evicted: this one.
    if (this.#kept.length >= this.#most && this.#kept[0] === best) return best;
    if (reusable === 0) return null;
    this.makeRoom();
    return best.clone() ?? best;
  }

  #fresh(): SessionHandle {
    this.makeRoom();
    return new this.module.Session(this.engine);
  }

  /** Evicts the least recently used sessions until a slot is free. */
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
