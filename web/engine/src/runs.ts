// In the engine worker: the sessions and their runs, which are scheduled round-robin in slices of about 10 ms.
import type { EngineHandle, SessionHandle } from '../../../wasm/module.js';
import { parseAnswer } from './answers.js';
import { SluiceError, toErrorData } from './errors.js';
import { PromptNews } from './prompt-news.js';
import type { ChatToken, CoreStats, FromEngine } from './protocol.js';
import type { Finish } from './types.js';

export const SLICE_MS = 10;
/** How often a run sends its figures while it has no tokens to send. */
const STATS_MS = 100;

/** What step() answers. */
type StepEvent =
  | { event: 'working' | 'waiting' }
  | ({ event: 'token' } & ChatToken)
  | { event: 'done'; finish: Finish };

export interface Run {
  id: number;
  /** The page's queue has no room for more tokens. */
  held: boolean;
  /** The run is paused. Only after a token, where it keeps nothing that other runs wait for. */
  rests: boolean;
  /** When the page last got its figures. */
  lastStats: number;
  /** Reports the prompt's progress until the first token; null if the page doesn't want it. */
  prompt: PromptNews | null;
  /** Tokens that were sent to the page; after a restart, tokens to skip because the page has them. */
  sent: number;
  skip: number;
  /** Adds the fields to its tokens that the page wants. */
  dress: ((tokens: ChatToken[]) => void) | null;
  /** Restarts the run after an error; false: it can't. */
  again: ((error: SluiceError) => boolean) | null;
  /** Reports its end in its own way, in place of 'done'. It may delete the session. */
  tell: ((handle: SessionHandle) => void) | null;
  /** Called after each slice that did not end it; then 'stats' messages are left out. */
  advanced: (() => void) | null;
  /** Called after its end was reported: normally, or with an error. */
  ended: ((normally: boolean) => void) | null;
}

/** The fields of a new run. */
export type NewRun = Pick<Run, 'id'> &
  Partial<Pick<Run, 'dress' | 'again' | 'tell' | 'advanced' | 'ended'>>;

export interface RunTimeline {
  readonly handle: SessionHandle;
  run: Run | null;
}

export interface RunsHooks {
  post(message: FromEngine): void;
  /** Requests the weights that are wanted now. */
  ask(): void;
  /** Whether bytes may arrive, which are taken between two steps. */
  loading(): boolean;
}

export function coreStats(engine: Pick<EngineHandle, 'stats'>): CoreStats {
  return JSON.parse(engine.stats()) as CoreStats;
}

export class Runs {
  /** By session number. Runs get their slices in this order, round-robin. */
  readonly #timelines = new Map<number, RunTimeline>();
  #over = false;

  constructor(readonly hooks: RunsHooks) {}

  /** Whether a run has something to do. */
  get any(): boolean {
    for (const { run } of this.#timelines.values()) if (run?.rests === false) return true;
    return false;
  }

  /** The sessions are called no more. */
  stop(): void {
    this.#over = true;
  }

  /** Adds a session, whose handle is freed at the end, unless it is removed before. */
  add(session: number, handle: SessionHandle): RunTimeline {
    const timeline = { handle, run: null };
    this.#timelines.set(session, timeline);
    return timeline;
  }

  /** Removes a session and ends its run. The handle belongs to the caller. */
  remove(session: number): SessionHandle | null {
    const timeline = this.#timelines.get(session);
    this.#timelines.delete(session);
    if (timeline !== undefined) timeline.run = null;
    return timeline?.handle ?? null;
  }

  find(session: number): RunTimeline | undefined {
    return this.#timelines.get(session);
  }

  /** Throws if there is no such session. */
  get(session: number): RunTimeline {
    const timeline = this.#timelines.get(session);
    if (timeline === undefined)
      throw new SluiceError('closed', 'this session is closed; take a new one');
    return timeline;
  }

  /** Frees all sessions. */
  end(): void {
    for (const { handle } of this.#timelines.values()) handle.delete();
    this.#timelines.clear();
  }

  /** Adds the run of a handle that was started: slice() does its steps from now on. */
  begin(timeline: RunTimeline, begun: NewRun, progress: boolean): void {
    // Its figures are sent with its tokens, or after its first slice. A message now would keep the page's thread, and so
    // a core, busy for a good part of a short prompt.
    const run: Run = {
      ...{ held: false, rests: false, dress: null, again: null, tell: null, advanced: null },
      ...{ ended: null, lastStats: -Infinity, prompt: null, sent: 0, skip: 0 },
      ...begun,
    };
    timeline.run = run;
    if (progress) {
      run.prompt = new PromptNews(
        () => (this.#over || timeline.run !== run ? null : timeline.handle.promptProgress()),
        (progress) => this.hooks.post({ type: 'prompt', id: run.id, progress }),
      );
    }
  }

  /** Pauses this run after its next token, or resumes it. It may have ended. */
  hold(id: number, on: boolean): void {
    for (const { run } of this.#timelines.values()) {
      if (run?.id !== id) continue;
      run.held = on;
      if (!on) run.rests = false;
    }
  }

  /** Ends this run. False: there is none with this id. A new run of the same session may be the next message. */
  cancel(id: number): boolean {
    for (const timeline of this.#timelines.values()) {
      const { handle, run } = timeline;
      if (run?.id !== id) continue;
      handle.cancel();
      parseAnswer(handle.step());
      timeline.run = null;
      this.hooks.post({ type: 'done', id, finish: 'aborted', stats: coreStats(handle) });
      run.ended?.(true);
      return true;
    }
    return false;
  }

  /** Does a slice of one run. False: there is none, or all wait for weights. */
  slice(): boolean {
    for (const [session, timeline] of [...this.#timelines]) {
      const { run } = timeline;
      if (run === null || run.rests || !this.#runSlice(timeline, run)) continue;
      // Moves it to the end of the order.
      if (this.#timelines.delete(session)) this.#timelines.set(session, timeline);
      return true;
    }
    return false;
  }

  #tellStatsIfDue(run: Run, handle: SessionHandle): void {
    if (run.advanced !== null) return;
    if (performance.now() - run.lastStats < STATS_MS) return;
    run.lastStats = performance.now();
    this.hooks.post({ type: 'stats', id: run.id, stats: coreStats(handle) });
  }

  #send(run: Run, handle: SessionHandle, tokens: ChatToken[]): void {
    const again = tokens.splice(0, Math.min(run.skip, tokens.length));
    run.skip -= again.length;
    if (tokens.length === 0) return;
    run.dress?.(tokens);
    run.sent += tokens.length;
    run.lastStats = performance.now();
    const message = { type: 'tokens', id: run.id, tokens: tokens.splice(0) } as const;
    this.hooks.post({ ...message, stats: coreStats(handle) });
  }

  /** Does a slice of a session's run. Returns false if it only waited for weights. */
  #runSlice(timeline: RunTimeline, run: Run): boolean {
    const { handle } = timeline;
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
          const { event: _, ...token } = event;
          tokens.push(token);
          run.rests = run.held;
          if (run.rests) break;
        } else if (event.event === 'done') {
          this.#send(run, handle, tokens);
          timeline.run = null;
          if (run.tell !== null) run.tell(handle);
          else this.#tellDone(run, handle, event.finish);
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
      timeline.run = null;
      hooks.post({ type: 'error', id: run.id, error: toErrorData(error) });
      run.ended?.(false);
      return true;
    }
    this.#tellStatsIfDue(run, handle);
    run.prompt?.changed(false);
    return true;
  }

  #tellDone({ id }: Run, handle: SessionHandle, finish: Finish): void {
    this.hooks.post({ type: 'done', id, finish, stats: coreStats(handle) });
  }
}
