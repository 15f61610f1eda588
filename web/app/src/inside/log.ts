// The tokens of a text as they come, and what they were chosen from where somebody looked.
import { signal } from '@preact/signals';
import type { RawLogits } from './trace';

/** What a token tells of itself when it comes. */
export interface Told {
  id: number;
  text: string;
  logprob: number;
  raw?: RawLogits | undefined;
}

/** Tokens that were written, or given, in one go. */
export interface RunLog {
  /** Characters of the text before them. */
  begun: number;
  /** What the run was begun from: the text, or the ids of all tokens before. 'reader': these tokens are the reader's own choice. */
  from: 'text' | 'ids' | 'reader';
  ids: number[];
  /** Characters of each. */
  lengths: number[];
  /** Of each, by the model alone; NaN: not known. */
  logprobs: number[];
  /** Of each; null: nobody looked. */
  raws: (RawLogits | null)[];
  /** Null: not known yet, or none was drawn from. */
  seed: number | null;
  /** As settingsText() writes them. */
  settings: string;
  /** Tokens that stood before them; null: not known. */
  promptTokens: number | null;
  /** Of a file: the options of the library, more than the settings say. */
  options?: Readonly<Record<string, unknown>>;
}

/** What of a run is kept over a reload. */
export type KeptRun = Pick<RunLog, 'begun' | 'from' | 'ids' | 'lengths' | 'seed' | 'settings'>;

export class TokenLog {
  readonly runs: RunLog[] = [];
  /** Changes with each token, and with what is found out about one. */
  readonly version = signal(0);
  /** Whether the last run goes on. */
  #open = false;

  constructor(kept: readonly KeptRun[] = []) {
    this.#take(kept);
  }

  /** Takes the runs that were kept of its text, if it has none. */
  take(kept: readonly KeptRun[]): void {
    if (this.runs.length > 0) return;
    this.#take(kept);
    this.version.value += 1;
  }

  #take(kept: readonly KeptRun[]): void {
    for (const run of kept) {
      const { length } = run.ids;
      this.runs.push({
        ...run,
        logprobs: Array.from({ length }, () => NaN),
        raws: Array.from({ length }, () => null),
        promptTokens: null,
      });
    }
  }

  get length(): number {
    return this.runs.reduce((sum, { ids }) => sum + ids.length, 0);
  }

  /** A run begins, in the place of one that has not ended: that is begun anew. */
  begin(begun: number, from: 'text' | 'ids', settings: string): void {
    if (this.#open) this.runs.pop();
    this.#open = true;
    const none = { ids: [], lengths: [], logprobs: [], raws: [] };
    this.runs.push({ begun, from, ...none, seed: null, settings, promptTokens: null });
    this.version.value += 1;
  }

  /** A token of the last run. */
  add({ id, text, logprob, raw }: Told): void {
    const run = this.runs.at(-1);
    if (run === undefined) return;
    run.ids.push(id);
    run.lengths.push(text.length);
    run.logprobs.push(logprob);
    run.raws.push(raw ?? null);
    this.version.value += 1;
  }

  /** The last run has ended, of a prompt of so many tokens. One that has added nothing is forgotten. */
  end(seed: number | null, promptTokens: number | null = null): void {
    const run = this.runs.at(-1);
    if (run === undefined || !this.#open) return;
    this.#open = false;
    if (run.ids.length === 0) this.runs.pop();
    else Object.assign(run, { seed, promptTokens });
    this.version.value += 1;
  }

  /** `seed`: of a run that goes on. */
  kept(seed: number | null = null): KeptRun[] {
    return this.runs
      .filter(({ ids }) => ids.length > 0)
      .map(({ begun, from, ids, lengths, seed: own, settings }) => ({
        begun,
        from,
        ids: [...ids],
        lengths: [...lengths],
        seed: own ?? (from === 'reader' ? null : seed),
        settings,
      }));
  }

  /**
   * A log of its first tokens, so many from the first one of run `first` on, and then one that the reader has chosen. `length`: the
   * characters of that one; `logprob`: by the model alone.
   */
  branch(
    first: number,
    tokens: number,
    chosen: { id: number; length: number; logprob: number },
  ): TokenLog {
    const log = new TokenLog();
    let left = tokens;
    let begun = this.runs[first]?.begun ?? 0;
    for (const run of this.runs.slice(first)) {
      if (left === 0) break;
      const take = Math.min(left, run.ids.length);
      const lengths = run.lengths.slice(0, take);
      log.runs.push({
        ...run,
        ids: run.ids.slice(0, take),
        lengths,
        logprobs: run.logprobs.slice(0, take),
        raws: run.raws.slice(0, take),
      });
      begun = run.begun + lengths.reduce((sum, one) => sum + one, 0);
      left -= take;
    }
    const at = this.#find(first, tokens);
    log.runs.push({
      begun,
      from: 'reader',
      ids: [chosen.id],
      lengths: [chosen.length],
      logprobs: [chosen.logprob],
      raws: [at?.run.raws[at.place] ?? null],
      seed: null,
      settings: at?.run.settings ?? '',
      promptTokens: null,
    });
    return log;
  }

  #find(first: number, token: number): { run: RunLog; place: number } | null {
    let place = token;
    for (const run of this.runs.slice(first)) {
      if (place < run.ids.length) return { run, place };
      place -= run.ids.length;
    }
    return null;
  }
}
