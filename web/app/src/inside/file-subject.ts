// A trace from a file, as it is looked into: nothing of it is written on, and it needs no model.
import type { Insight } from './library';
import { TokenLog, type RunLog } from './log';
import type { Subject } from './subject';
import type { Trace } from './trace';

/** Of the options of a run those that say when it ends, and not what is chosen. */
const ENDS: readonly string[] = ['maxTokens', 'stop', 'special'];

/** Whether an engine has the model of a trace, as far as both say. */
export function hasModelOf(by: Insight, { model }: Trace): boolean {
  const { name, architecture, vocab, layers } = by.info;
  return (
    (name ?? '') === model.name &&
    vocab === model.vocab &&
    (model.architecture === null || architecture === model.architecture) &&
    (model.layers === null || layers === model.layers)
  );
}

/** A trace from a file, with what was computed since. */
export function fileWith(file: Trace, runs: readonly RunLog[]): Trace {
  const raws = runs.flatMap((run) => run.raws);
  return { ...file, tokens: file.tokens.map((token, i) => ({ ...token, raw: raws[i] ?? null })) };
}

/** `id`: another one for each file. */
export function subjectOfFile(id: string, trace: Trace): Subject {
  const { tokens, promptIds, promptText, options, seed } = trace;
  const log = new TokenLog();
  const text = tokens.map((token) => token.text).join('');
  log.runs.push({
    begun: 0,
    from: 'ids',
    ids: tokens.map((token) => token.id),
    lengths: tokens.map((token) => token.text.length),
    logprobs: tokens.map(({ logprob }) => logprob),
    raws: tokens.map(({ raw }) => raw),
    seed: typeof seed === 'number' ? seed : null,
    settings: '',
    promptTokens: promptIds.length,
    options: Object.fromEntries(Object.entries(options).filter(([name]) => !ENDS.includes(name))),
  });
  return {
    id,
    log,
    growing: false,
    by: trace.model.name,
    own: true,
    related: [],
    file: trace,
    text: () => text,
    before: (begun) => promptText + text.slice(0, begun),
    encode: async () => promptIds,
    branch: () => false,
    show: () => undefined,
  };
}
