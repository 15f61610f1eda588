// What the fake module says of its inside. The state of a token at a layer is [id, layer, at, position]; its head gives the tokens
// 0, 1, 2, .. with the logits 8, 7, 6, ..
import type { Answer, EngineHandle, SessionHandle } from '../../../wasm/module.js';

/** What a fake engine has seen of these calls. */
export interface InsideControl {
  /** The arguments of SessionHandle.choice, from `before` on. */
  choices: unknown[][];
  /** The texts of each startStates, the ids and the first position of each startHidden, the rows of each startHead. */
  states: number[][][];
  hidden: [string, number][];
  heads: number[];
}

export const makeInsideControl = (): InsideControl => ({
  choices: [],
  states: [],
  hidden: [],
  heads: [],
});

/** Numbers of a state, layers, and tokens of the vocabulary. */
export const INSIDE = { embedding: 4, layers: 3, vocab: 0x110000 } as const;

/** What a token was chosen from, with the option `trace`. */
export function fakeRaw(id: number, trace = 0): { raw?: object } {
  if (trace === 0) return {};
  const best = Array.from({ length: trace }, (_, i) => [id + i, 8 - i]);
  return { raw: { logSum: 0.5, entropy: 1.5, draws: id, best } };
}

/** Shows its arguments. */
function fakeChoice(
  control: InsideControl,
  before: ArrayLike<number>,
  promptTokens: number,
  options: string,
  draws: number,
  most: number,
): Answer {
  const ids = Array.from(before);
  control.choices.push([ids, promptTokens, JSON.parse(options), draws, most]);
  const candidates = [
    [7, -1, null, -1, 1],
    [8, -2, -3, 0, 0],
  ];
  const [nucleus, place, taken] = [1, 0.5, (ids.at(-1) ?? 0) + 1];
  if (options.includes('topNSigma')) return JSON.stringify({ enough: false });
  return JSON.stringify({ enough: true, steps: [], candidates, nucleus, mass: 1, place, taken });
}

const DONE = JSON.stringify({ event: 'done', finish: 'length' });
const WORKING = JSON.stringify({ event: 'working' });

type ChoiceRest = [ArrayLike<number>, number, string, number, number];

type Inside = Pick<
  SessionHandle,
  | 'startStates'
  | 'states'
  | 'startHidden'
  | 'hidden'
  | 'startHead'
  | 'rawLogits'
  | 'choice'
  | 'startLens'
  | 'lensDone'
  | 'lens'
  | 'startAttention'
  | 'attentionLayers'
  | 'attention'
>;

export abstract class FakeInside implements Inside {
  /** What the next steps do; empty: no such run. */
  #left: (() => void)[] = [];
  #states: number[] = [];
  #rows: number[] = [];
  #cells: { layers: number; positions: number; done: number } = {
    layers: 0,
    positions: 0,
    done: 0,
  };
  #looks = 0;

  constructor(readonly control: InsideControl) {}

  /** Says that a run has begun. */
  protected abstract runs(): void;

  #start(steps: (() => void)[]): Answer {
    this.#left = steps;
    this.runs();
    return '';
  }

  /** A step of such a run; null: there is none. */
  protected insideStep(): Answer | null {
    const next = this.#left.shift();
    if (next === undefined) return null;
    next();
    return this.#left.length > 0 ? WORKING : DONE;
  }

  protected endInside(): void {
    this.#left = [];
  }

  startStates(
    ids: ArrayLike<number>,
    lengths: ArrayLike<number>,
    at: number,
    of: number,
    layers: ArrayLike<number>,
  ): Answer {
    const all = Array.from(ids);
    const texts = Array.from(lengths, (length) => all.splice(0, length));
    this.control.states.push(texts.map((text) => [...text]));
    this.#states = [];
    const row = (layer: number, id: number, i: number): number[] => [id, layer, at, i];
    return this.#start(
      texts.map((text) => () => {
        const last = text.length - 1;
        const mean = text.reduce((sum, id) => sum + id, 0) / text.length;
        for (const layer of Array.from(layers)) {
          if (of === 2) this.#states.push(...text.flatMap((id, i) => row(layer, id, i)));
          else this.#states.push(...row(layer, of === 1 ? mean : (text[last] as number), last));
        }
      }),
    );
  }
  states(from: number): Float32Array<ArrayBuffer> {
    return Float32Array.from(this.#states.slice(from));
  }
  startHidden(ids: ArrayLike<number>, from: number, layer: number): Answer {
    this.control.hidden.push([Array.from(ids).join(' '), from]);
    this.#states = Array.from(ids).flatMap((id, i) => (i < from ? [] : [id, layer, 0, i]));
    return this.#start([() => {}]);
  }
  hidden(): Float32Array<ArrayBuffer> {
    return Float32Array.from(this.#states);
  }
  startHead(states: ArrayLike<number>, rows: number): Answer {
    this.#rows = Array.from(states);
    this.control.heads.push(rows);
    return this.#start([() => {}]);
  }
  /** The log-sum is the token's id, the entropy its layer. */
  rawLogits(most: number, row: number): Float64Array<ArrayBuffer> {
    const [id = 0, layer = 0] = this.#rows.slice(row * INSIDE.embedding);
    const best = Array.from({ length: most }, (_, i) => [i, 8 - i]).flat();
    return Float64Array.of(id, layer, ...best);
  }
  choice(
    _engine: EngineHandle,
    _raw: ArrayLike<number>,
    ...[before, promptTokens, options, draws, most]: ChoiceRest
  ): Answer {
    return fakeChoice(this.control, before, promptTokens, options, draws, most);
  }
  startLens(
    _engine: EngineHandle,
    _ids: ArrayLike<number>,
    layers: ArrayLike<number>,
    positions: ArrayLike<number>,
  ): Answer {
    this.#cells = { layers: layers.length, positions: positions.length, done: 0 };
    const steps = Array.from({ length: layers.length * positions.length }, () => () => {
      this.#cells.done += 1;
    });
    return this.#start(steps);
  }
  lensDone(): number {
    return this.#cells.done;
  }
  /** One token of each: the position's index, with the layer's. */
  lens(): Float64Array<ArrayBuffer> {
    const { layers, positions } = this.#cells;
    const cells = Array.from({ length: layers * positions }, (_, cell) => {
      const layer = Math.floor(cell / positions);
      const i = cell % positions;
      return [layer, i, i, layer];
    });
    return Float64Array.from(cells.flat());
  }
  startAttention(ids: ArrayLike<number>): Answer {
    this.#looks = ids.length;
    return this.#start([() => {}]);
  }
  attentionLayers(): Int32Array<ArrayBuffer> {
    return Int32Array.of(0, 2, 2, 1);
  }
  attention(): Float32Array<ArrayBuffer> {
    return Float32Array.from({ length: 3 * this.#looks }, (_, i) => i);
  }
}
