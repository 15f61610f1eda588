// The calls that look inside the model, one after the other, in a session of their own. Each is made of runs beside those of the
// other sessions (inside-tasks.ts says of which).
import type { EngineHandle, SessionHandle, SluiceModule } from '../../../../wasm/module.js';
import { SluiceError, toErrorData, type ErrorData } from '../shared/errors.js';
import type { Reply } from '../shared/replies.js';
import type { Task } from './inside-tasks.js';
import type { RunReport, RunSession, Runs } from './runs.js';

/** The number of the session. */
const INSIDE_SESSION = -3;

/** A call that has not ended. */
interface Call {
  reply: Pick<Reply<never>, 'fail' | 'oncancel' | 'onhold' | 'held' | 'over'>;
  task: Task;
  /** It has its session. */
  begun: boolean;
}

/** Of the sessions without a run, the one that begins with most of these ids; null: none begins with any. */
function longest(sessions: Iterable<RunSession>, ids: readonly number[]): SessionHandle | null {
  let best: SessionHandle | null = null;
  let most = 0;
  for (const { handle, run } of sessions) {
    if (run !== null) continue;
    const has = handle.tokens();
    let same = 0;
    while (same < has.length && has[same] === ids[same]) same += 1;
    if (same <= most) continue;
    best = handle;
    most = same;
  }
  return best;
}

export class InsideRuns {
  readonly #calls: Call[] = [];
  /** The session of all calls; it has no run between two of theirs. */
  #session: RunSession | null = null;
  /** The call whose run is under way. */
  #running: Call | null = null;

  constructor(
    readonly module: SluiceModule,
    readonly engine: EngineHandle,
    readonly runs: Runs,
    /** There is work, or a session has advanced. */
    readonly moved: () => void,
    /** The worker's own error from this script's. */
    readonly told: (data: ErrorData) => SluiceError,
  ) {}

  /** The call to go on with: the first one, but those whose readers are behind. */
  get #next(): Call | undefined {
    return this.#calls.find(({ reply }) => !reply.held);
  }

  /** Whether slice() has something to do. */
  get busy(): boolean {
    return this.#running === null && this.#next !== undefined;
  }

  /** Takes a call, which comes after those before it. */
  add(reply: Call['reply'], task: Task): void {
    const call = { reply, task, begun: false };
    reply.oncancel = () => {
      this.#end(call);
      this.moved();
    };
    reply.onhold = () => this.moved();
    this.#calls.push(call);
    this.moved();
  }

  /** Prepares and starts runs until that time, or until one has begun. */
  slice(until: number): void {
    do this.#step();
    while (this.busy && performance.now() < until);
  }

  #step(): void {
    const call = this.busy ? this.#next : undefined;
    if (call === undefined) return;
    this.#work(call, () => {
      const session = this.#sessionFor(call);
      if (call.task.next(session.handle)) this.#run(call, session);
    });
  }

  /** The session, at a call's beginning one that has as much as possible of what it begins with. */
  #sessionFor(call: Call): RunSession {
    if (call.begun && this.#session !== null) return this.#session;
    call.begun = true;
    const found = longest(this.runs.all, call.task.ids);
    if (this.#session !== null && (found === null || found === this.#session.handle))
      return this.#session;
    const handle = found?.clone() ?? new this.module.Session(this.engine);
    this.runs.remove(INSIDE_SESSION)?.delete();
    this.#session = this.runs.add(INSIDE_SESSION, handle);
    return this.#session;
  }

  /** The run of a call that was started. */
  #run(call: Call, session: RunSession): void {
    const { handle } = session;
    this.#running = call;
    const report: RunReport = {
      held: false,
      item: null,
      done: () => {
        this.#running = null;
        this.#work(call, () => call.task.done(handle));
        this.moved();
      },
      failed: (error) => this.#fail(call, error),
    };
    this.runs.begin(session, report, { advanced: () => call.task.advanced?.(handle) });
  }

  /** Works on a call, which may end it. */
  #work(call: Call, work: () => void): void {
    try {
      work();
      if (call.reply.over) this.#end(call);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.#fail(call, this.told(toErrorData(error)));
    }
  }

  #fail(call: Call, error: SluiceError): void {
    this.#end(call);
    call.reply.fail(error);
  }

  /** The call has ended: frees what it had. */
  #end(call: Call): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
    call.task.end?.();
    const runs = this.#running === call;
    if (runs) this.#running = null;
    if (!runs && this.#calls.length > 0) return;
    this.#session = null;
    this.runs.remove(INSIDE_SESSION)?.delete();
  }

  /** Frees what is not a session's. */
  end(): void {
    for (const { task } of this.#calls) task.end?.();
  }
}
