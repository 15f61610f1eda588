// Traces as files: JSON lines, as `sluice run --trace` writes them and `sluice replay` reads them. The first line says what
// the text was chosen by, then there is one for each token, and last one on how it ended:
//   {"event":"trace","version":1,"model":{..},"prompt":{"text","ids","pieces"},"options":{..},"kernels":".."}
//   {"event":"token","id","text","logprob","raw":{"logSum","entropy","draws","best":[[id,logit],..]},"pieces":{"id":"..",..}}
//   {"event":"done","finish":".."}
// `pieces` of a token are of ids that no line before has named. A file comes from anywhere: every number is checked.
import { GENERATE_RULES, type Rule } from '@sluice/engine';
import { Pace, type PaceOptions } from '../history/pace';
import { MOST_KEPT, type RawLogits, type Trace, type TraceToken } from './trace';

/** Bytes of a file, characters of one line, and tokens: of the prompt and of the text. */
export const MOST_BYTES = 256 * 2 ** 20;
export const MOST_LINE = 32 * 2 ** 20;
export const MOST_TOKENS = 200_000;
/** Entries of a vocabulary, layers of a model. */
const MOST_VOCAB = 2 ** 24;
const MOST_LAYERS = 10_000;
/** Characters of a name, of one token's text and of all pieces together. */
const MOST_NAME = 1000;
const MOST_PIECE = 10_000;
const MOST_PIECES = 32 * 2 ** 20;

/**
 * 'size': the file has more than MOST_BYTES. 'empty': there is nothing in it. 'json': a line is no JSON object. 'first': the
 * file does not begin as a trace. 'version': a newer program has written it. 'long': a line, or a text in it, is too long;
 * 'many': there are too many tokens; 'field': a line lacks a field, or there is something else in it than may be;
 * 'after': something follows the last line. 'unread': the browser can't read the file.
 */
export type TraceFileCode =
  'size' | 'empty' | 'json' | 'first' | 'version' | 'long' | 'many' | 'field' | 'after' | 'unread';

export class TraceFileError extends Error {
  override readonly name = 'TraceFileError';
  constructor(
    readonly code: TraceFileCode,
    /** The line's number, from 1 on; 0: of the whole file. */
    readonly line = 0,
    /** The field that is wrong, such as raw.best; ''. */
    readonly field = '',
    cause?: unknown,
  ) {
    super(`trace, line ${line}: ${code} ${field}`, { cause });
  }
}

/** A trace from a file. */
export interface ReadTrace {
  trace: Trace;
  /** How the text ended; null: the run was ended before it could say so. */
  finish: string | null;
  /** Whether the file ends within a line, which was left out. */
  cut: boolean;
}

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most;
}

/** The values of one line, each checked as it is taken. */
class Line {
  readonly #fields: Fields;
  readonly #number: number;
  readonly #path: string;

  constructor(fields: Fields, number: number, path = '') {
    this.#fields = fields;
    this.#number = number;
    this.#path = path;
  }

  wrong(name: string, code: TraceFileCode = 'field'): TraceFileError {
    return new TraceFileError(code, this.#number, this.#path + name);
  }

  has(name: string): boolean {
    return this.#fields[name] != null;
  }

  at(name: string): unknown {
    return this.#fields[name];
  }

  within(name: string): Line {
    const value = this.#fields[name];
    if (!isFields(value)) throw this.wrong(name);
    return new Line(value, this.#number, `${this.#path}${name}.`);
  }

  entries(name: string): [string, unknown][] {
    const value = this.#fields[name];
    if (!isFields(value)) throw this.wrong(name);
    return Object.entries(value);
  }

  list(name: string, most: number): unknown[] {
    const value = this.#fields[name];
    if (!Array.isArray(value)) throw this.wrong(name);
    if (value.length > most) throw this.wrong(name, 'many');
    return value;
  }

  text(name: string, most: number): string {
    return this.textOf(this.#fields[name], name, most);
  }

  textOf(value: unknown, name: string, most: number): string {
    if (typeof value !== 'string') throw this.wrong(name);
    if (value.length > most) throw this.wrong(name, 'long');
    return value;
  }

  count(name: string, most: number): number {
    const value = this.#fields[name];
    if (!isCount(value, most)) throw this.wrong(name);
    return value;
  }

  /** A finite number. */
  real(name: string): number {
    const value = this.#fields[name];
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.wrong(name);
    return value;
  }
}

/** What is read of a file so far. */
class Reading {
  #trace: Trace | null = null;
  #finish: string | null = null;
  #done = false;
  #characters = 0;

  /** Takes a line. `last`: it is the file's end and has no line end: if it is no JSON, it is left out, and the answer is false. */
  take(text: string, number: number, last: boolean): boolean {
    if (text.trim() === '') return true;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (last && this.#trace !== null) return false;
      throw new TraceFileError(this.#trace === null ? 'first' : 'json', number);
    }
    if (!isFields(value)) throw new TraceFileError('json', number);
    this.#takeEvent(new Line(value, number), number);
    return true;
  }

  #takeEvent(line: Line, number: number): void {
    const event = line.at('event');
    if (this.#trace === null) {
      if (event !== 'trace') throw new TraceFileError('first', number);
      this.#trace = this.#head(line);
      return;
    }
    if (this.#done) throw new TraceFileError('after', number);
    if (event === 'token') this.#token(this.#trace, line);
    else if (event === 'done') {
      this.#finish = line.text('finish', MOST_NAME);
      this.#done = true;
    } else if (typeof event !== 'string' || event === 'trace') throw line.wrong('event');
    // Others say how a run goes, and nothing of its text.
  }

  /** The whole file was taken. */
  end(cut: boolean): ReadTrace {
    if (this.#trace === null) throw new TraceFileError('empty');
    return { trace: this.#trace, finish: this.#finish, cut };
  }

  #head(line: Line): Trace {
    const version = line.count('version', Number.MAX_SAFE_INTEGER);
    if (version !== 1) throw line.wrong('version', version > 1 ? 'version' : 'field');
    const model = line.within('model');
    const vocab = model.count('vocab', MOST_VOCAB);
    if (vocab === 0) throw model.wrong('vocab');
    const prompt = line.within('prompt');
    const promptIds = prompt.list('ids', MOST_TOKENS).map((id) => {
      if (!isCount(id, vocab - 1)) throw prompt.wrong('ids');
      return id;
    });
    const pieces = new Map<number, string>();
    if (prompt.has('pieces')) {
      const given = prompt.list('pieces', MOST_TOKENS);
      if (given.length !== promptIds.length) throw prompt.wrong('pieces');
      promptIds.forEach((id, i) => this.#piece(pieces, id, given[i], prompt));
    }
    const given = line.has('options') ? line.within('options') : null;
    const seed = given?.at('seed');
    if (given !== null && seed != null && !isSeed(seed)) throw given.wrong('seed');
    return {
      model: {
        name: model.text('name', MOST_NAME),
        architecture: model.has('architecture') ? model.text('architecture', MOST_NAME) : null,
        vocab,
        layers: model.has('layers') ? model.count('layers', MOST_LAYERS) : null,
      },
      promptText: prompt.text('text', MOST_LINE),
      promptIds,
      tokens: [],
      options: given === null ? {} : readOptions(given),
      seed: isSeed(seed) ? seed : null,
      pieces,
    };
  }

  #piece(pieces: Map<number, string>, id: number, value: unknown, line: Line): void {
    const text = line.textOf(value, 'pieces', MOST_PIECE);
    if (pieces.has(id)) return;
    this.#characters += text.length;
    if (this.#characters > MOST_PIECES) throw line.wrong('pieces', 'long');
    pieces.set(id, text);
  }

  #token(trace: Trace, line: Line): void {
    if (trace.tokens.length === MOST_TOKENS) throw line.wrong('', 'many');
    const last = trace.model.vocab - 1;
    const token: TraceToken = {
      id: line.count('id', last),
      text: line.text('text', MOST_PIECE),
      // Of a token that was written while nobody looked it may not be known.
      logprob: line.has('logprob') ? line.real('logprob') : NaN,
      raw: line.has('raw') ? readRaw(line.within('raw'), last) : null,
    };
    if (line.has('pieces')) {
      for (const [key, text] of line.entries('pieces')) {
        const id = Number(key);
        if (!/^\d+$/.test(key) || !isCount(id, last)) throw line.wrong('pieces');
        this.#piece(trace.pieces, id, text, line);
      }
    }
    trace.tokens.push(token);
  }
}

/** A whole number of at most 64 bits. */
function isSeed(value: unknown): value is number | string {
  if (typeof value === 'string') return /^\d{1,20}$/.test(value) && BigInt(value) < 2n ** 64n;
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isBetween(value: unknown, { least = -Infinity, most = Infinity }: Rule): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

/** Whether the library takes this value. */
function isAllowed(value: unknown, rule: Rule): boolean {
  const { kind, count = Infinity } = rule;
  if (kind === 'number') return isBetween(value, rule);
  if (kind === 'whole') return Number.isSafeInteger(value) && isBetween(value, rule);
  if (kind === 'boolean') return typeof value === 'boolean';
  if (kind === 'texts') {
    const texts: unknown[] = Array.isArray(value) ? value : [value];
    return (
      texts.length <= count &&
      texts.every((text) => typeof text === 'string' && isBetween(text.length, rule))
    );
  }
  if (kind !== 'biases' || !isFields(value)) return false;
  const pairs = Object.entries(value);
  return (
    pairs.length <= count && pairs.every(([id, n]) => /^\d{1,10}$/.test(id) && isBetween(n, rule))
  );
}

/** The seed stands by itself; the others are of the page's own calls. */
const LEFT_OUT: readonly string[] = ['seed', 'trace', 'topLogprobs', 'signal', 'onPromptProgress'];

/** The options of the library that the text was chosen with, without the seed. What the library doesn't know is left out. */
function readOptions(line: Line): Fields {
  const options: Fields = {};
  for (const [name, rule] of Object.entries<Rule>(GENERATE_RULES)) {
    const value = line.at(name);
    if (value == null || LEFT_OUT.includes(name)) continue;
    if (!isAllowed(value, rule)) throw line.wrong(name);
    options[name] = value;
  }
  return options;
}

/** What a token was chosen from; `last`: the largest id. */
function readRaw(line: Line, last: number): RawLogits {
  const best = line.list('best', MOST_KEPT);
  const ids = new Int32Array(best.length);
  const logits = new Float32Array(best.length);
  const seen = new Set<number>();
  let before = Infinity;
  for (const [i, pair] of best.entries()) {
    if (!Array.isArray(pair) || pair.length !== 2) throw line.wrong('best');
    const [id, logit] = pair as [unknown, unknown];
    if (!isCount(id, last) || seen.has(id) || typeof logit !== 'number') throw line.wrong('best');
    seen.add(id);
    ids[i] = id;
    logits[i] = logit;
    const kept = logits[i] ?? NaN;
    // Best first. (A number of the file may be too large for 32 bits.)
    if (!Number.isFinite(kept) || kept > before) throw line.wrong('best');
    before = kept;
  }
  if (best.length === 0) throw line.wrong('best');
  const entropy = line.real('entropy');
  if (entropy < 0) throw line.wrong('entropy');
  const draws = line.has('draws') ? line.count('draws', Number.MAX_SAFE_INTEGER) : null;
  return { logSum: line.real('logSum'), entropy, draws, ids, logits };
}

/**
 * Reads a trace, line by line, in slices. What is behind the last line end and is no JSON is of a run that was killed: it is
 * left out. Throws a TraceFileError that names the line; then nothing of the file is given.
 */
export async function readTrace(file: Blob, options?: PaceOptions): Promise<ReadTrace> {
  if (file.size > MOST_BYTES) throw new TraceFileError('size');
  const pace = new Pace(options);
  const reading = new Reading();
  const decoder = new TextDecoder();
  const reader = file.stream().getReader();
  let rest: string[] = [];
  let length = 0;
  let number = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new TraceFileError('unread', 0, '', error);
      });
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      let from = 0;
      for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
        number += 1;
        if (length + to - from > MOST_LINE) throw new TraceFileError('long', number);
        reading.take(rest.join('') + text.slice(from, to), number, false);
        rest = [];
        length = 0;
        from = to + 1;
        await pace.keep();
      }
      rest.push(text.slice(from));
      length += text.length - from;
      if (length > MOST_LINE) throw new TraceFileError('long', number + 1);
      if (done) return reading.end(!reading.take(rest.join(''), number + 1, true));
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** A decimal number of few digits that reads back to the same 32 bits. */
export function short(value: number): number {
  const eight = Number(value.toPrecision(8));
  return Math.fround(eight) === value ? eight : Number(value.toPrecision(9));
}

function rawFields({ logSum, entropy, draws, ids, logits }: RawLogits): Fields {
  const best = Array.from(ids, (id, i) => [id, short(logits[i] ?? 0)]);
  return { logSum, entropy, ...(draws !== null && { draws }), best };
}

/** The lines of a trace, each with its end. `finish`: how the text ended; null: the last line is left out. */
function* linesOf(trace: Trace, finish: string | null): Generator<string, void, undefined> {
  const { model, promptText: text, promptIds: ids, pieces, seed } = trace;
  const options = seed === null ? trace.options : { ...trace.options, seed };
  const prompt = { text, ids, pieces: ids.map((id) => pieces.get(id) ?? '') };
  yield `${JSON.stringify({ event: 'trace', version: 1, model, prompt, options })}\n`;
  const named = new Set(ids);
  for (const { id, text: said, logprob, raw } of trace.tokens) {
    const fresh: Record<string, string> = {};
    for (const one of [id, ...(raw?.ids ?? [])]) {
      const piece = pieces.get(one);
      if (piece === undefined || named.has(one)) continue;
      named.add(one);
      fresh[one] = piece;
    }
    const more = { ...(raw !== null && { raw: rawFields(raw) }), pieces: fresh };
    yield `${JSON.stringify({ event: 'token', id, text: said, logprob, ...more })}\n`;
  }
  if (finish !== null) yield `${JSON.stringify({ event: 'done', finish })}\n`;
}

/** A trace as a file that readTrace() and `sluice replay` read, bit by bit the same. Works in slices. */
export async function writeTrace(
  trace: Trace,
  finish: string | null,
  options?: PaceOptions,
): Promise<Blob> {
  const pace = new Pace(options);
  const parts: string[] = [];
  for (const line of linesOf(trace, finish)) {
    parts.push(line);
    await pace.keep();
  }
  return new Blob(parts, { type: 'application/jsonl' });
}
