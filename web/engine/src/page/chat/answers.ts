// Answers, and the order in which they are written: engine.answer, session.answer, and what OpenAI's shapes are made of.
import type { Answer, AnswerPart } from '../../shared/answer-types.js';
import type { Ask } from '../../shared/caller.js';
import type { EngineCalls } from '../../shared/calls.js';
import { abortReason } from '../../shared/errors.js';
import type { Note } from '../../shared/notes.js';
import type { ChatBegun, ChatToken, CoreStats } from '../../shared/protocol.js';
import type { EngineStats, Finish, ModelInfo } from '../../shared/types.js';
import { failedReader, lazyReader, type EndingReader } from '../read-queue.js';
import { runToEnd, type Ending, type RunFigures } from '../run.js';
import { NO_RUN, type PageSession } from '../session.js';
import { takeAnswerRequest, type TakenAnswer } from './answer-request.js';
import { Line } from './line.js';
import { foldParts } from './parts.js';

/** What answers use of their engine. */
export interface AnswerHooks {
  /** Throws if the engine has ended, or if its model makes no text. */
  admit(): void;
  ask: Ask<EngineCalls>;
  /** An answer begins that is in no session of the page's: shows its figures in the engine's stats. */
  begin(): RunFigures;
  /** The engine's figures now. */
  core(): CoreStats;
  complete(stats: CoreStats, finish: Finish): EngineStats;
  note(notes: readonly Note[]): void;
  info(): ModelInfo;
}

/** What becomes of an answer. */
export interface AnswerEvents {
  begun(begun: ChatBegun): void;
  /** The parts of a slice. Returns a promise if the reader's queue is full: the answer rests until that resolves. */
  parts(parts: AnswerPart[]): Promise<void> | null;
  /** Its figures now. */
  stats?(stats: CoreStats): void;
}

/** The part that a token is. */
function partOf({ reasoning, ...token }: ChatToken): AnswerPart {
  return reasoning === true ? { part: 'reasoning', ...token } : { part: 'text', ...token };
}

export class Answers {
  readonly #line: Line;

  /** `queueLimit`: answers that may wait while one is written. */
  constructor(
    readonly hooks: AnswerHooks,
    queueLimit: number,
  ) {
    this.#line = new Line(queueLimit);
  }

  /** The engine has ended: rejects what waits. The answer that is written ends with its run. */
  end(error: unknown): void {
    this.#line.end(error);
  }

  /**
   * Resolves when answers may be written, with what is to be called after them. Answers in a session (null: one that the
   * engine keeps by itself) don't wait: `busy` while it generates.
   */
  async enter(session: PageSession | null, signal: AbortSignal): Promise<() => void> {
    this.hooks.admit();
    if (session === null) return this.#line.enter(signal);
    session.admitRun();
    return () => {};
  }

  /** Writes an answer, after enter(). */
  async write(
    taken: TakenAnswer,
    session: PageSession | null,
    events: AnswerEvents,
    signal: AbortSignal,
  ): Promise<Ending> {
    const { hooks } = this;
    hooks.admit();
    if (signal.aborted) throw abortReason(signal);
    const { onPromptProgress, ...args } = taken;
    const call = {
      ...args,
      session: session?.session,
      progress: onPromptProgress !== undefined,
    };
    const start: Parameters<typeof runToEnd>[0] = (options) => hooks.ask('chat', call, options);
    const run: Parameters<typeof runToEnd>[1] = {
      begun: (begun) => {
        hooks.note(begun.warnings);
        events.begun(begun);
      },
      tokens: (tokens) => events.parts(tokens.map(partOf)),
      stats: (stats) => events.stats?.(stats),
      progress: onPromptProgress,
    };
    return session === null
      ? runToEnd(start, run, hooks.begin(), signal)
      : session.run(start, run, {}, signal);
  }

  /** The stream of an answer. The work begins with the first part asked for, and errors in the request are thrown there. */
  answer(request: unknown, session: PageSession | null): EndingReader<AnswerPart, Answer> {
    let taken: ReturnType<typeof takeAnswerRequest>;
    try {
      taken = takeAnswerRequest(request, session === null);
    } catch (error) {
      return failedReader(error);
    }
    const { hooks } = this;
    const ids: number[] = [];
    let message = foldParts([]);
    let dropped = 0;
    let last: CoreStats = { ...(session?.core ?? hooks.core()), ...NO_RUN };
    const ended = (finish: Finish): Answer => ({
      message,
      tokens: ids,
      dropped,
      finish,
      stats: hooks.complete(last, finish),
    });
    return lazyReader(
      async (out, signal) => {
        const events: AnswerEvents = {
          begun: (begun) => {
            dropped = begun.dropped;
          },
          parts: (parts) => {
            message = foldParts(parts, message);
            for (const part of parts) {
              ids.push(part.id);
              out.push(part);
            }
            return out.room();
          },
          stats: (stats) => {
            last = stats;
          },
        };
        const leave = await this.enter(session, signal);
        try {
          const { finish } = await this.write(taken.answer, session, events, signal);
          return ended(finish);
        } finally {
          leave();
        }
      },
      () => ended('aborted'),
      taken.signal,
    );
  }
}
