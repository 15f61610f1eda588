// In the engine worker: the sessions and their runs, which are scheduled round-robin in slices of about 10 ms.
import type { EngineHandle, SessionHandle } from '../../../../wasm/module.js';
import { parseAnswer } from './module-answers.js';
import { SluiceError } from '../shared/errors.js';
import { PromptNews } from './prompt-news.js';
import { buffersOf, rawOfEvent, type RawEvent } from './raw-logits.js';
import type { RunEnd, RunItem } from '../shared/calls.js';
import type { ChatToken, CoreStats } from '../shared/protocol.js';
import type { Reply } from '../shared/replies.js';
import type { Finish } from '../shared/types.js';

export const SLICE_MS = 10;
/** How often a run sends its figures while it has no tokens to send. */
const STATS_MS = 100;

type TokenEvent = { event: 'token' } & Omit<ChatToken, 'raw'> & { raw?: RawEvent };

/** What step() answers. */
type StepEvent = { event: 'working' | 'waiting' } | TokenEvent | { event: 'done'; finish: Finish };

function tokenOf({ event: _, raw, ...token }: TokenEvent): ChatToken {
  return raw === undefined ? token : { ...token, raw: rawOfEvent(raw) };
}

/** What a run tells, and to whom. */
export interface RunReport {
  /** The run is to pause after its next token: the reader's queue has no room for more. */
  readonly held: boolean;
  /** Its tokens, its news, or only its figures; null: it sends nothing by itself. */
  item: ((item: RunItem, stats?: CoreStats, transfer?: Transferable[]) => void) | null;
  /** It has ended. This may delete the session. */
  done(handle: SessionHandle, finish: Finish): void;
  failed(error: SluiceError): void;
}

/** The report of a run whose tokens are a call's items. */
export function tokensTo(reply: Reply<RunEnd, RunItem>): RunReport {
  return {
    get held() {
      return reply.held;
    },
    item: (item, stats, transfer) => reply.item(item, stats, transfer),
    done: (handle, finish) => reply.end({ finish }, coreStats(handle)),
    failed: (error) => reply.fail(error),
  };
}

/** What a run may have besides. */
export interface RunExtras {
  /** Whether the page wants the prompt's progress. */
  progress: boolean;
  /** Adds the fields to its tokens that the page wants. */
  dress: ((tokens: ChatToken[]) => void) | null;
  /** Restarts the run after an error; false: it can't. */
  again: ((error: SluiceError) => boolean) | null;
  /** Called after each slice that did not end it. */
  advanced: (() => void) | null;
  /** Called after its end was reported: normally, or with an error. */
  ended: ((normally: boolean) => void) | null;
}

/** What is running in a session. */
interface Run extends RunExtras {
  report: RunReport;
  /** The run is paused. Only after a token, where it keeps nothing that other runs wait for. */
  rests: boolean;
  /** When the page last got its figures. */
  lastStats: number;
  /** Reports the prompt's progress until the first token; null if the page doesn't want it. */
  prompt: PromptNews | null;
  /** Tokens that were sent to the page; after a restart, tokens to skip because the page has them. */
  sent: number;
  skip: number;
}

/** A session, and what runs in it. */
export interface RunSession {
  readonly handle: SessionHandle;
  run: Run | null;
}

export interface RunsHooks {
  /** Requests the weights that are wanted now. */
  ask(): void;
  /** Whether bytes may arrive, which are taken between two steps. */
  loading(): boolean;
  /** There is work: slice() is to be called. */
  wake(): void;
  /** A run was cancelled: others may want weights now. */
  moved(): void;
}

export function coreStats(engine: Pick<EngineHandle, 'stats'>): CoreStats {
  return JSON.parse(engine.stats()) as CoreStats;
}

export class Runs {
  /** By session number. Runs get their slices in this order, round-robin. */
  readonly #sessions = new Map<number, RunSession>();
  #over = false;

  constructor(readonly hooks: RunsHooks) {}

  /** Whether a run has something to do. */
  get any(): boolean {
    for (const { run } of this.#sessions.values()) if (run?.rests === false) return true;
    return false;
  }

  /** The sessions are called no more. */
  stop(): void {
    this.#over = true;
  }

  /** Adds a session, whose handle is freed at the end, unless it is removed before. */
  add(number: number, handle: SessionHandle): RunSession {
    const session = { handle, run: null };
    this.#sessions.set(number, session);
    return session;
  }

  /** Removes a session and ends its run. The handle belongs to the caller. */
  remove(number: number): SessionHandle | null {
    const session = this.#sessions.get(number);
    this.#sessions.delete(number);
    if (session !== undefined) session.run = null;
    return session?.handle ?? null;
  }

  find(number: number): RunSession | undefined {
    return this.#sessions.get(number);
  }

  /** Throws if there is no such session. */
  get(number: number): RunSession {
    const session = this.#sessions.get(number);
    if (session === undefined)
      throw new SluiceError('closed', 'this session is closed; take a new one');
    return session;
  }

  /** All sessions. */
  get all(): Iterable<RunSession> {
    return this.#sessions.values();
  }

  /** Frees all sessions. */
  end(): void {
    for (const { handle } of this.#sessions.values()) handle.delete();
    this.#sessions.clear();
  }

  /** As begin(), for a run that a call can hold up and cancel. */
  serve(
    session: RunSession,
    reply: Pick<Reply<RunEnd, RunItem>, 'onhold' | 'oncancel'>,
    report: RunReport,
    extras: Partial<RunExtras> = {},
  ): void {
    reply.oncancel = () => {
      if (this.#cancel(session, report)) this.hooks.moved();
    };
    reply.onhold = (on) => {
      const { run } = session;
      if (!on && run?.report === report) run.rests = false;
      this.hooks.wake();
    };
    this.begin(session, report, extras);
    this.hooks.wake();
  }

  /** Adds the run of a handle that was started: slice() does its steps from now on. */
  begin(session: RunSession, report: RunReport, extras: Partial<RunExtras> = {}): void {
    // Its figures are sent with its tokens, or after its first slice. A message now would keep the page's thread, and so
    // a core, busy for a good part of a short prompt.
    const run: Run = {
      report,
      progress: extras.progress ?? false,
      dress: extras.dress ?? null,
      again: extras.again ?? null,
      advanced: extras.advanced ?? null,
      ended: extras.ended ?? null,
      rests: false,
      lastStats: -Infinity,
      prompt: null,
      sent: 0,
      skip: 0,
    };
    session.run = run;
    if (run.progress) {
      run.prompt = new PromptNews(
        () => (this.#over || session.run !== run ? null : session.handle.promptProgress()),
        (progress) => report.item?.({ kind: 'prompt', progress }),
      );
    }
  }

  /**
   * Ends a session's run, if that has this report. False: it has ended. A new run of the same session may be the next call.
   */
  #cancel(session: RunSession, report: RunReport): boolean {
    const { handle, run } = session;
    if (run?.report !== report) return false;
    handle.cancel();
    parseAnswer(handle.step());
    session.run = null;
    report.done(handle, 'aborted');
    run.ended?.(true);
    return true;
  }

  /** Does a slice of one run. False: there is none, or all wait for weights. */
  slice(): boolean {
    for (const [number, session] of [...this.#sessions]) {
      const { run } = session;
      if (run === null || run.rests || !this.#runSlice(session, run)) continue;
      // Moves it to the end of the order.
      if (this.#sessions.delete(number)) this.#sessions.set(number, session);
      return true;
    }
    return false;
  }

  #tellStatsIfDue(run: Run, handle: SessionHandle): void {
    const { item } = run.report;
    if (item === null || performance.now() - run.lastStats < STATS_MS) return;
    run.lastStats = performance.now();
    item({ kind: 'figures' }, coreStats(handle));
  }

  #send(run: Run, handle: SessionHandle, tokens: ChatToken[]): void {
    const again = tokens.splice(0, Math.min(run.skip, tokens.length));
    run.skip -= again.length;
    if (tokens.length === 0) return;
    run.dress?.(tokens);
    run.sent += tokens.length;
    run.lastStats = performance.now();
    const buffers = buffersOf(tokens.map(({ raw }) => raw));
    run.report.item?.({ kind: 'tokens', tokens: tokens.splice(0) }, coreStats(handle), buffers);
  }

  /** Does a slice of a session's run. Returns false if it only waited for weights. */
  #runSlice(session: RunSession, run: Run): boolean {
    const { handle } = session;
    const { hooks } = this;
    const until = performance.now() + SLICE_MS;
    const tokens: ChatToken[] = [];
    let worked = false;
    try {
      do {
        const event = parseAnswer<StepEvent>(handle.step());
        // Also if it waits: the step may want new weights.
        hooks.ask();
        if (event.event === 'waiting') {
          // The next bytes start the loop again.
          this.#send(run, handle, tokens);
          run.advanced?.();
          this.#tellStatsIfDue(run, handle);
          run.prompt?.changed(true);
          return worked;
        }
        worked = true;
        if (event.event === 'token') {
          run.prompt?.done();
          run.prompt = null;
          tokens.push(tokenOf(event));
          run.rests = run.report.held;
          if (run.rests) break;
        } else if (event.event === 'done') {
          this.#send(run, handle, tokens);
          session.run = null;
          run.report.done(handle, event.finish);
          run.ended?.(true);
          return true;
        }
        // While weights may arrive, they are taken between two steps.
      } while (performance.now() < until && !hooks.loading());
      this.#send(run, handle, tokens);
      run.advanced?.();
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.#send(run, handle, tokens);
      handle.cancel();
      handle.step();
      if (run.again?.(error) === true) {
        run.skip = run.sent;
        return true;
      }
      session.run = null;
      run.report.failed(error);
      run.ended?.(false);
      return true;
    }
    this.#tellStatsIfDue(run, handle);
    run.prompt?.changed(false);
    return true;
  }
}
