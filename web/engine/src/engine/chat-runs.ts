// In the engine worker: chat and completion requests, answered one at a time, on sessions that are chosen for each
// (chat-sessions.ts) or restored from what the device keeps (kept-states.ts).
import type { EngineHandle, PromptHandle, SluiceModule } from '../../../../wasm/module.js';
import type { EngineCalls, RunEnd, RunItem } from '../shared/calls.js';
import { SluiceError } from '../shared/errors.js';
import type { ChatPrompt, CoreStats, StateRequest } from '../shared/protocol.js';
import type { Reply } from '../shared/replies.js';
import type { MemoryPlan } from '../shared/types.js';
import { CHAT_SESSION, ChatSessions, type ChatArgs } from './chat-sessions.js';
import type { Hold, KeptStates } from './kept-states.js';
import { tokensTo, type RunSession, type Runs } from './runs.js';

type RunReply = Reply<RunEnd, RunItem>;

export interface ChatRunsHooks {
  /** The engine's figures, for a request that is cancelled before it runs. */
  stats(): CoreStats;
  /** There is work. */
  wake(): void;
  /** The module can't be used any more. */
  broken(error: unknown): void;
}

export class ChatRuns {
  readonly #sessions: ChatSessions;
  readonly #runs: Runs;
  readonly #kept: KeptStates;
  readonly #hooks: ChatRunsHooks;
  /** The request whose state is being restored. */
  #starting: RunReply | null = null;
  #over = false;

  constructor(
    module: SluiceModule,
    engine: EngineHandle,
    memory: MemoryPlan | null,
    runs: Runs,
    kept: KeptStates,
    hooks: ChatRunsHooks,
  ) {
    this.#sessions = new ChatSessions(module, engine, memory, () => kept.spare());
    this.#runs = runs;
    this.#kept = kept;
    this.#hooks = hooks;
  }

  /** Nothing is started any more: the worker has failed. */
  stop(): void {
    this.#over = true;
  }

  /** Frees all sessions. */
  end(): void {
    this.stop();
    this.#runs.remove(CHAT_SESSION);
    this.#sessions.end();
  }

  /** The number of a prompt's tokens, and its warnings. */
  count(prompt: ChatPrompt): EngineCalls['countChat']['result'] {
    return this.#sessions.count(prompt);
  }

  /** Answers a request; `busy` while another one is answered. */
  answer(args: ChatArgs, reply: RunReply): void {
    if (this.#runs.find(CHAT_SESSION)?.run != null || this.#starting !== null)
      throw new SluiceError('busy', 'this engine answers another request; wait for its end');
    // The last chat's session may be evicted from now on.
    this.#runs.remove(CHAT_SESSION);
    const prompt = this.#sessions.open(args);
    const { state } = args;
    if (state === null) return this.#start(args, reply, null);
    this.#restore(args, reply, state, prompt).catch((error: unknown) => this.#hooks.broken(error));
  }

  /** Answers a request in a session of the page's, beside what else runs. The session has no run. */
  answerIn(session: RunSession, args: ChatArgs, reply: RunReply): void {
    const { begun, dress } = this.#sessions.startIn(session.handle, args);
    reply.item({ kind: 'begun', ...begun });
    this.#runs.serve(session, reply, tokensTo(reply), { progress: args.progress, dress });
  }

  /** Restores the conversation's stored state if its reply can reuse more tokens than in any session. Then answers. */
  async #restore(
    args: ChatArgs,
    reply: RunReply,
    state: StateRequest,
    prompt: PromptHandle,
  ): Promise<void> {
    this.#starting = reply;
    const live = (): boolean => this.#starting === reply && !this.#over;
    reply.oncancel = () => {
      this.#starting = null;
      reply.end({ finish: 'aborted' }, this.#hooks.stats());
      this.#hooks.wake();
    };
    const kept = this.#kept;
    const sessions = this.#sessions;
    const hold = await kept.hold(state);
    if (hold !== null && live()) {
      const session = await kept.restore(
        hold,
        prompt,
        () => sessions.reusable,
        live,
        () => sessions.makeRoom(),
      );
      if (live() && session !== null) sessions.adopt(session);
      else session?.delete();
    }
    if (!live()) {
      if (hold !== null) kept.release(hold);
      return;
    }
    this.#starting = null;
    try {
      this.#start(args, reply, hold);
    } catch (error) {
      if (hold !== null) kept.release(hold);
      if (!(error instanceof SluiceError)) throw error;
      reply.fail(error);
    }
  }

  /** Starts the answer. `hold`: the stored state to update after it. */
  #start(args: ChatArgs, reply: RunReply, hold: Hold | null): void {
    const { handle, begun, dress, again } = this.#sessions.start(args);
    reply.item({ kind: 'begun', ...begun });
    const ended = (normally: boolean): void => {
      if (hold === null) return;
      const copy = normally ? handle.clone() : null;
      if (copy === null) this.#kept.release(hold);
      else this.#kept.keep(hold, copy);
    };
    const session = this.#runs.add(CHAT_SESSION, handle);
    const { progress } = args;
    this.#runs.serve(session, reply, tokensTo(reply), { progress, dress, again, ended });
  }
}
