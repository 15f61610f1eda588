// The tokens of a text in one line, with the ids of all that stood before them.
import { samplersOf } from '../settings/presets';
import { SAMPLER_NAMES, type Samplers } from '../settings/settings';
import { settingsFrom } from '../settings/text';
import type { Insight } from './library';
import type { RunLog, TokenLog } from './log';
import type { Subject } from './subject';
import type { RawLogits, Trace } from './trace';

export interface ChainToken {
  id: number;
  /** Where its text begins, and how long it is, in characters of the text. */
  begun: number;
  length: number;
  logprob: number;
  raw: RawLogits | null;
  /** Its run, and its place in that. */
  run: RunLog;
  place: number;
}

export class Chain {
  readonly log: TokenLog;
  /** The first run whose tokens are known to follow `prompt`. */
  readonly first: number;
  readonly prompt: readonly number[];
  /** Whether these are the tokens that the model was given, as far as it is known. */
  readonly sure: boolean;

  constructor(log: TokenLog, first: number, prompt: readonly number[], sure = true) {
    this.log = log;
    this.first = first;
    this.prompt = prompt;
    this.sure = sure;
  }

  get runs(): readonly RunLog[] {
    return this.log.runs.slice(this.first);
  }

  get length(): number {
    return this.runs.reduce((sum, { ids }) => sum + ids.length, 0);
  }

  /** The token at this place; null: there is none. */
  at(token: number): ChainToken | null {
    let place = token;
    for (const run of this.runs) {
      const id = run.ids[place];
      if (place < run.ids.length && id !== undefined) {
        let { begun } = run;
        for (let i = 0; i < place; ++i) begun += run.lengths[i] ?? 0;
        const length = run.lengths[place] ?? 0;
        const logprob = run.logprobs[place] ?? NaN;
        return { id, begun, length, logprob, raw: run.raws[place] ?? null, run, place };
      }
      place -= run.ids.length;
    }
    return null;
  }

  /** The ids of its first tokens, with all that stood before. */
  ids(tokens: number): number[] {
    const all = [...this.prompt];
    for (const { ids } of this.runs) for (const id of ids) all.push(id);
    return all.slice(0, this.prompt.length + tokens);
  }

  /** The first token whose logits are not known and can be computed; null: there is none. */
  missing(): number | null {
    if (!this.sure) return null;
    let before = 0;
    // Nothing stands before the first token of all.
    const least = this.prompt.length === 0 ? 1 : 0;
    for (const { raws } of this.runs) {
      const at = raws.indexOf(null, Math.max(0, least - before));
      if (at >= 0) return before + at;
      before += raws.length;
    }
    return null;
  }

  /** Takes the logits of a token that were computed afterwards. */
  learn(token: number, raw: RawLogits): void {
    const found = this.at(token);
    if (found === null) return;
    const { run, place, id } = found;
    // What was seen while it was written also says how many numbers were drawn.
    if (run.raws[place] != null) return;
    run.raws[place] = raw;
    const at = raw.ids.indexOf(id);
    if (at >= 0) run.logprobs[place] = (raw.logits[at] ?? NaN) - raw.logSum;
  }

  /** Takes what was kept of its first tokens, as far as they are the same. */
  take({ promptIds, tokens }: Pick<Trace, 'promptIds' | 'tokens'>): void {
    const { prompt } = this;
    if (promptIds.length !== prompt.length || promptIds.some((id, i) => id !== prompt[i])) return;
    let at = 0;
    for (const run of this.runs) {
      for (const [place, id] of run.ids.entries()) {
        const token = tokens[at++];
        if (token?.id !== id) return;
        run.raws[place] ??= token.raw;
        if (Number.isNaN(run.logprobs[place])) run.logprobs[place] = token.logprob;
      }
    }
  }

  /** The token whose text holds this character; the last one if none does. */
  tokenAt(character: number): number {
    let before = 0;
    for (const { begun, lengths } of this.runs) {
      let at = begun;
      for (const [i, length] of lengths.entries()) {
        if (character < at + length) return before + i;
        at += length;
      }
      before += lengths.length;
    }
    return Math.max(0, before - 1);
  }
}

/**
 * The tokens of a subject, as far back as they are known to have been before the model: where a run was begun from a text, that is
 * made tokens anew, and these may be others than those that were written. Null: there is no model to ask.
 */
export async function chainOf(by: Insight | null, subject: Subject): Promise<Chain | null> {
  const { log, file } = subject;
  if (file !== undefined) return new Chain(log, 0, file.promptIds);
  if (by === null) return null;
  let first = 0;
  let prompt = await subject.encode(by, log.runs[0]?.begun ?? 0);
  let all = [...prompt];
  for (const [i, run] of log.runs.entries()) {
    if (i > first && run.from === 'text') {
      const anew = await subject.encode(by, run.begun);
      if (anew.length !== all.length || anew.some((id, k) => id !== all[k])) {
        first = i;
        prompt = anew;
        all = [...anew];
      }
    }
    for (const id of run.ids) all.push(id);
  }
  const told = log.runs[first]?.promptTokens ?? null;
  return new Chain(log, first, prompt, told === null || told === prompt.length);
}

/** The samplers with which a run was written. */
export function samplersOfRun({
  settings,
  options = {},
}: Pick<RunLog, 'settings' | 'options'>): Samplers {
  const samplers = samplersOf(settingsFrom(settings));
  const others = SAMPLER_NAMES.filter((name) => typeof options[name] === 'number');
  return { ...samplers, ...Object.fromEntries(others.map((name) => [name, options[name]])) };
}
