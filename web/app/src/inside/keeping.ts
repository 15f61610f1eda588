// Keeps what texts and answers were chosen from on this device, so that it need not be computed again at the next visit.
import { signal } from '@preact/signals';
import { HistoryError, type HistoryCode } from '../history/errors';
import { Traces, type TraceOwner } from '../history/traces';
import { readRuns } from './kept-runs';
import { bytesOf, pack, unpack } from './kept-trace';
import type { KeptRun } from './log';
import type { Subject } from './subject';
import type { Trace } from './trace';

/** What is kept of a text. */
export interface Known {
  trace: Trace;
  /** How its tokens came. */
  runs: KeptRun[];
}

/** Whether what was kept is of this text. */
export function isOf({ trace, runs }: Known, of: Subject): boolean {
  const text = trace.tokens.map((token) => token.text).join('');
  return of.text().slice(runs[0]?.begun ?? 0) === text;
}

/** About how many bytes a token takes in its run: its id and its length. */
const RUN_BYTES = 10;

export class Keeping {
  /** Why the last one could not be kept; null: it was. */
  readonly trouble = signal<HistoryCode | 'large' | null>(null);
  readonly #open: () => Traces;
  readonly #before: () => Promise<unknown>;
  #traces: Traces | null = null;

  /** `open` opens the place on the device; `before` is waited for before something is kept: the answer itself has to be. */
  constructor(
    open: () => Traces = () => new Traces(),
    before: () => Promise<unknown> = () => Promise.resolve(),
  ) {
    this.#open = open;
    this.#before = before;
  }

  #place(): Traces {
    return (this.#traces ??= this.#open());
  }

  /** What is kept; null: nothing that can be used. Never rejects. */
  async fetch(owner: TraceOwner): Promise<Known | null> {
    try {
      const value = await this.#place().get(owner);
      const trace = unpack(value);
      if (trace === null) return null;
      const length = trace.tokens.reduce((sum, { text }) => sum + text.length, 0);
      const kept = (value as { runs?: unknown }).runs;
      const [first] = Array.isArray(kept) ? (kept as { begun?: unknown }[]) : [];
      const runs = readRuns(kept, length + Number(first?.begun ?? 0));
      const ids = runs.flatMap((run) => run.ids);
      const same = ids.length === trace.tokens.length;
      if (!same || trace.tokens.some(({ id }, i) => id !== ids[i])) return null;
      return { trace, runs };
    } catch {
      // A browser that keeps nothing, or whose database a newer page has.
      return null;
    }
  }

  /** Keeps it; where that fails, `trouble` says why. False: what it is of is not kept itself. */
  async keep(owner: TraceOwner, { trace, runs }: Known): Promise<boolean> {
    try {
      await this.#before();
      const kept = pack(trace);
      const bytes = bytesOf(kept) + RUN_BYTES * trace.tokens.length;
      const did = await this.#place().put(owner, { ...kept, runs }, bytes);
      this.trouble.value = did === 'large' ? did : null;
      return did !== 'gone';
    } catch (error) {
      this.trouble.value = error instanceof HistoryError ? error.code : 'failed';
      return true;
    }
  }
}
