// In the engine worker: what each call that looks inside the model does: which runs it starts, and what becomes of their results.
import type {
  EncodingHandle,
  EngineHandle,
  SessionHandle,
  SluiceModule,
} from '../../../../wasm/module.js';
import type { EngineCalls } from '../shared/calls.js';
import { SluiceError } from '../shared/errors.js';
import type { Attention, Choice, LensCell } from '../shared/inside-types.js';
import type { ModelInfo } from '../shared/types.js';
import type { CallReply } from './analysis.js';
import { check, parseAnswer } from './module-answers.js';
import { buffersOf, numbersOf, rawOfNumbers } from './raw-logits.js';

/** A call that is worked on, in slices and runs, until its answer has ended. What its functions throw is the call's error. */
export interface Task {
  /** Ids that it begins with: a session is of use that has the state of some of them. */
  readonly ids: readonly number[];
  /** Does a slice, or starts the next run. Returns whether it has started one. */
  next(handle: SessionHandle): boolean;
  /** The run is done. What it gave is to be taken now: the next run may be another call's. */
  done(handle: SessionHandle): void;
  /** The run has advanced. */
  advanced?(handle: SessionHandle): void;
  /** Frees what is not a session's: the call has ended. */
  end?(): void;
}

/** The most bytes of logits at a time, and of the states of a group of prompts. Of one position or prompt there may be more. */
const LOGITS_BYTES = 8 << 20;
const STATES_BYTES = 16 << 20;
/** A group of prompts has so many prompts or tokens, or a few more. */
const GROUP = { prompts: 512, tokens: 32768 };
/** How often the page gets news. */
const NEWS_MS = 100;
/** The positions of a piece of a text whose logits are wanted. */
const PIECE = 1024;
/** The core's numbers. */
const AT = { residual: 0, attention: 1, ffn: 2 } as const;
const OF = { last: 0, mean: 1, all: 2 } as const;

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_argument', message);
}

/** Throws if there are no ids. */
function checkSome({ length }: readonly number[]): void {
  if (length === 0) throw invalid('ids is empty; give at least one token id');
}

/** Checks a list of numbers below `end`, which must ascend. Without a list: all of them. */
function ascending(
  given: readonly number[] | undefined,
  end: number,
  name: string,
): readonly number[] {
  if (given === undefined) return Array.from({ length: end }, (_, i) => i);
  let last = -1;
  for (const one of given) {
    if (one <= last || one >= end)
      throw invalid(
        `${name} holds ${one}${last < 0 ? '' : ` after ${last}`}; give whole numbers from 0 to ${end - 1}, ascending, each once`,
      );
    last = one;
  }
  if (given.length === 0) throw invalid(`${name} is empty; give some, or leave it out`);
  return given;
}

/** A task of one run over ids. `done` answers the call. */
function oneRun(
  ids: readonly number[],
  start: (handle: SessionHandle) => void,
  done: Task['done'],
): Task {
  return { ids, next: (handle) => (start(handle), true), done };
}

/** As choice_json writes it. null: minus infinity, or no place. */
type ChoiceAnswer =
  | { enough: false }
  | (Omit<Choice, 'candidates'> & {
      enough: true;
      candidates: [number, number | null, number | null, number, number][];
    });

const NOT_ENOUGH: Choice = {
  enough: false,
  steps: [],
  candidates: [],
  nucleus: 0,
  mass: 0,
  place: null,
  taken: -1,
};

function choiceFrom(answer: string): Choice {
  const choice = parseAnswer<ChoiceAnswer>(answer);
  if (!choice.enough) return NOT_ENOUGH;
  const candidates = choice.candidates.map(([id, logprob, changed, cut, p]) => ({
    id,
    logprob: logprob ?? -Infinity,
    changed: changed ?? -Infinity,
    cut: cut < 0 ? null : cut,
    p,
  }));
  return { ...choice, candidates };
}

/** engine.choice: at once, by any session. */
export function choiceOf(
  handle: SessionHandle,
  engine: EngineHandle,
  { raw, before, promptTokens, options, draws, most }: EngineCalls['choice']['args'],
): Choice {
  const numbers = numbersOf(raw);
  return choiceFrom(handle.choice(engine, numbers, before, promptTokens, options, draws, most));
}

/** engine.pieces: at once. */
export function piecesOf(engine: EngineHandle, ids: readonly number[]): string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return parseAnswer<number[][]>(engine.tokenBytes(ids)).map((bytes) =>
    decoder.decode(Uint8Array.from(bytes)),
  );
}

/** The last layer: its states are what the head gets. */
const lastOf = ({ layers }: ModelInfo): number => (layers ?? 1) - 1;

/** engine.choiceAt */
export function choiceTask(
  { ids, promptTokens, options, draws, most }: EngineCalls['choiceAt']['args'],
  reply: CallReply<'choiceAt'>,
  info: ModelInfo,
  engine: EngineHandle,
): Task {
  checkSome(ids);
  let state: Float32Array | null = null;
  return {
    ids,
    next: (handle) => {
      if (state === null) check(handle.startHidden(ids, ids.length - 1, lastOf(info)));
      else check(handle.startHead(state, 1));
      return true;
    },
    done: (handle) => {
      if (state === null) state = handle.hidden();
      else
        reply.end(choiceFrom(handle.choice(engine, [], ids, promptTokens, options, draws, most)));
    },
  };
}

/** engine.rawLogits: computes the states after the last layer of a piece, then what the head makes of some of them at a time. */
export function logitsTask(
  { ids, from, top }: EngineCalls['rawLogits']['args'],
  reply: CallReply<'rawLogits'>,
  info: ModelInfo,
): Task {
  checkSome(ids);
  const width = info.embedding ?? 1;
  const mostRows = Math.max(1, Math.floor(LOGITS_BYTES / (4 * (info.vocab ?? 1))));
  /** A token is chosen from what the position before it gives. The positions before `at` are computed. */
  let at = from - 1;
  /** Of the positions of the piece whose logits are not known yet. */
  let states = new Float32Array();
  let rows = 0;
  return {
    ids: ids.slice(0, from),
    next: (handle) => {
      if (from >= ids.length) {
        reply.end(undefined);
        return false;
      }
      rows = Math.min(mostRows, states.length / width);
      if (rows > 0) check(handle.startHead(states.subarray(0, rows * width), rows));
      else {
        const end = Math.min(at + PIECE, ids.length - 1);
        check(handle.startHidden(ids.slice(0, end), at, lastOf(info)));
      }
      return true;
    },
    done: (handle) => {
      if (rows === 0) {
        states = handle.hidden();
        at += states.length / width;
        return;
      }
      states = states.subarray(rows * width);
      const raws = Array.from({ length: rows }, (_, row) =>
        rawOfNumbers(handle.rawLogits(top, row)),
      );
      reply.item(raws, undefined, buffersOf(raws));
      if (states.length === 0 && at === ids.length - 1) reply.end(undefined);
    },
  };
}

/** engine.lens */
export function lensTask(
  { ids, top, ...wanted }: EngineCalls['lens']['args'],
  reply: CallReply<'lens'>,
  info: ModelInfo,
  engine: EngineHandle,
): Task {
  checkSome(ids);
  const layers = ascending(wanted.layers, info.layers ?? 0, 'layers');
  const positions = ascending(wanted.positions, ids.length, 'positions');
  const total = layers.length * positions.length;
  let lastNews = performance.now();
  const tell = (done: number): void => {
    lastNews = performance.now();
    reply.item({ done, total });
  };
  const task = oneRun(
    ids,
    (handle) => check(handle.startLens(engine, ids, layers, positions, top)),
    (handle) => {
      const numbers = handle.lens();
      const size = numbers.length / total;
      const cells = layers.map((_, i) =>
        positions.map((__, k) => cellOf(numbers.subarray((i * positions.length + k) * size), size)),
      );
      tell(total);
      reply.end({ layers: [...layers], positions: [...positions], cells });
    },
  );
  const advanced = (handle: SessionHandle): void => {
    if (performance.now() - lastNews >= NEWS_MS) tell(handle.lensDone());
  };
  return { ...task, advanced };
}

/** A cell of so many numbers. */
function cellOf(numbers: Float64Array, size: number): LensCell {
  const [entropy = 0, divergence = 0] = numbers;
  const top = Array.from({ length: (size - 2) / 2 }, (_, i): [number, number] => [
    numbers[2 + 2 * i] as number,
    numbers[3 + 2 * i] as number,
  ]);
  return { top, entropy, divergence };
}

/** engine.attention */
export function attentionTask(
  { ids: all, position = all.length - 1 }: EngineCalls['attention']['args'],
  reply: CallReply<'attention'>,
): Task {
  checkSome(all);
  if (position >= all.length)
    throw invalid(`position is ${position}; give one of the ids, from 0 to ${all.length - 1}`);
  const ids = all.slice(0, position + 1);
  return oneRun(
    ids,
    (handle) => check(handle.startAttention(ids)),
    (handle) => {
      const pairs = Array.from(handle.attentionLayers());
      const layers = pairs.filter((_, i) => i % 2 === 0);
      const heads = pairs.filter((_, i) => i % 2 === 1);
      const numbers = handle.attention();
      let at = 0;
      const weights = heads.map((count) => numbers.slice(at, (at += count * ids.length)));
      const result: Attention = { position, layers, heads, weights };
      reply.end(
        result,
        undefined,
        weights.map(({ buffer }) => buffer),
      );
    },
  );
}

/** The ids of a text with those that a prompt has before it. */
function prefixed(module: SluiceModule, engine: EngineHandle, ids: number[]): number[] {
  const empty = new module.Prompt(engine);
  try {
    const { tokens } = parseAnswer<{ tokens: number }>(empty.openText(''));
    const has = tokens === 0 || empty.sharedWritten(ids.slice(0, 1)) > 0;
    return has ? ids : [...engine.textIds([], 0).slice(0, tokens), ...ids];
  } finally {
    empty.delete();
  }
}

/** engine.hiddenStates */
export function statesTask(
  { prompts, of, at, ...wanted }: EngineCalls['hiddenStates']['args'],
  reply: CallReply<'hiddenStates'>,
  { embedding, memory, makes, layers: has }: ModelInfo,
  module: SluiceModule,
  engine: EngineHandle,
): Task {
  const layers = ascending(wanted.layers, has ?? 0, 'layers');
  const width = layers.length * (embedding ?? 1);
  const room = memory?.contextSize ?? Infinity;
  /** The next prompt to encode, and that one while it is encoded, with its ids so far. */
  let taken = 0;
  let encoding: EncodingHandle | null = null;
  let ids: number[] = [];
  /** The group's ids, one prompt after the other, and the numbers of the states of each prompt. */
  let group: { ids: number[]; lengths: number[]; sizes: number[] } = {
    ids: [],
    lengths: [],
    sizes: [],
  };
  /** Of the group: the prompts and numbers that the page has. */
  let sent = { prompts: 0, numbers: 0 };
  let lastNews = -Infinity;

  const add = (all: ArrayLike<number>): void => {
    const { length } = all;
    const what = prompts.length === 1 ? 'the prompt' : `prompt ${taken} of the list (from 0)`;
    if (length === 0) throw invalid(`${what} is empty; give at least one token`);
    if (length > room)
      throw new SluiceError(
        'context_full',
        `${what} has ${length} tokens; the context takes ${room}: give a shorter one, or load with a larger contextSize`,
        { facts: { tokens: length, room } },
      );
    for (let i = 0; i < length; ++i) group.ids.push(all[i] as number);
    group.lengths.push(length);
    group.sizes.push(width * (of === 'all' ? length : 1));
    taken += 1;
  };
  /** Encodes a piece of the next prompt. */
  const encode = (prompt: string): void => {
    encoding ??= new module.Encoding(engine, prompt, false);
    const more = encoding.step();
    for (const id of encoding.take()) ids.push(id);
    if (more) return;
    encoding.delete();
    encoding = null;
    add(makes.includes('text') ? prefixed(module, engine, ids) : engine.textIds(ids, 0));
    ids = [];
  };
  const full = (): boolean => {
    const bytes = 4 * group.sizes.reduce((sum, one) => sum + one, 0);
    const { lengths } = group;
    return (
      lengths.length >= GROUP.prompts || group.ids.length >= GROUP.tokens || bytes >= STATES_BYTES
    );
  };
  /** Sends the states of the prompts that are done. */
  const tell = (handle: SessionHandle): void => {
    lastNews = performance.now();
    const numbers = handle.states(sent.numbers);
    const states: Float32Array<ArrayBuffer>[] = [];
    let from = 0;
    for (;;) {
      const size = group.sizes[sent.prompts] ?? Infinity;
      if (from + size > numbers.length) break;
      states.push(numbers.slice(from, from + size));
      from += size;
      sent.prompts += 1;
    }
    sent.numbers += from;
    if (states.length === 0) return;
    const buffers = states.map(({ buffer }) => buffer);
    reply.item(states, undefined, buffers);
  };
  return {
    ids: [],
    next: (handle) => {
      const prompt = prompts[taken];
      if (prompt !== undefined && !full()) {
        if (typeof prompt === 'string') encode(prompt);
        else add(prompt);
        return false;
      }
      check(handle.startStates(group.ids, group.lengths, AT[at], OF[of], layers));
      return true;
    },
    advanced: (handle) => {
      if (performance.now() - lastNews >= NEWS_MS) tell(handle);
    },
    done: (handle) => {
      tell(handle);
      group = { ids: [], lengths: [], sizes: [] };
      sent = { prompts: 0, numbers: 0 };
      if (taken === prompts.length) reply.end(undefined);
    },
    end: () => encoding?.delete(),
  };
}
