// An engine without wasm, which wants what a test says, through a whole loader.
import { vi } from 'vitest';
import type { ErrorData } from '../src/shared/errors.js';
import { runLoader } from '../src/loader/loader.js';
import type { Range } from '../src/shared/outstanding.js';
import type { FeedPort } from '../src/loader/outlet.js';
import type { EngineToLoader, LoaderSource, LoaderToEngine } from '../src/shared/protocol.js';
import { outcome } from './fake-server.js';
import { bytesOf, same } from './store-setup.js';

export const MODEL = 'https://models.example/m.gguf';
export const HEADER = 300_000;
export const TENSOR = 1 << 20;
export const COUNT = 40;

function modelOf(length: number): Uint8Array<ArrayBuffer> {
  const bytes = bytesOf(length);
  bytes.set(new TextEncoder().encode('GGUF'));
  return bytes;
}
export const WHOLE = modelOf(HEADER + COUNT * TENSOR);
export const tensor = (i: number): Range => ({
  from: HEADER + i * TENSOR,
  to: HEADER + (i + 1) * TENSOR,
});
export const TENSORS = Array.from({ length: COUNT }, (_, i) => tensor(i));

export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The tensors by turns, three at a time, a few times over, with rows of the first in between: as under a budget. */
export const TURNS: Step[] = Array.from({ length: 30 }, (_, i) => ({
  weights: [0, 1, 2].map((j) => tensor((i * 3 + j) % COUNT)),
  rows: i % 3 === 0 ? [{ from: HEADER + i * 2000, to: HEADER + i * 2000 + 1000 }] : [],
}));

/** Wants that come together; the next ones come when all of these are there. */
export interface Step {
  weights?: Range[];
  rows?: Range[];
}

/** The chunks of each tensor that lie whole in a range, of `size` bytes but the last. */
export function chunksIn({ from, to }: Range, size: number): Range[] {
  return TENSORS.flatMap((one) =>
    Array.from({ length: Math.ceil(TENSOR / size) }, (_, i) => ({
      from: one.from + i * size,
      to: Math.min(one.to, one.from + (i + 1) * size),
    })),
  ).filter((chunk) => chunk.from >= from && chunk.to <= to);
}

const packed = new Map<string, Uint8Array<ArrayBuffer>>();

/** What packing makes of a chunk: a part of it is nothing like that part packed, nor like the file's. */
export function packedOf({ from, to }: Range): Uint8Array<ArrayBuffer> {
  const name = `${from} ${to}`;
  const known = packed.get(name);
  if (known !== undefined) return known;
  const bytes = WHOLE.slice(from, to).reverse();
  bytes.forEach((byte, i) => {
    bytes[i] = byte ^ 0x5a;
  });
  packed.set(name, bytes);
  return bytes;
}

/** What must come: of packed chunks their packed bytes. */
function expected(range: Range, packed: boolean, size: number): Uint8Array {
  if (!packed) return WHOLE.subarray(range.from, range.to);
  return Buffer.concat(chunksIn(range, size).map(packedOf));
}

/** The address of a byte: weights have that of the file, rows have places of their own behind them. */
function placeOf(offset: number, rows: boolean): number {
  return rows ? WHOLE.length + offset : offset;
}

/**
 * An engine without wasm. Checks all bytes that come. With
 * `chunk`, the size of chunks, all weights are read again and again, and packed in place; 0: they stay.
 */
export class Steps implements FeedPort {
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null = null;
  error: ErrorData | null = null;
  /** What came, in its order. */
  readonly came: (Range & { rows: boolean; packed: boolean })[] = [];
  /** Called for each message of the loader. */
  onnews: (message: LoaderToEngine) => void = () => {};
  wrong = 0;
  over = false;
  /** It has refused packed chunks. */
  refused = false;
  readonly #memory: WebAssembly.Memory | null;
  readonly #left: Step[];
  /** Weights of this step that came. */
  #here: Range[] = [];
  #missing = 0;
  /** The loader keeps packed chunks; null: it hasn't said so. */
  keeps: boolean | null = null;
  /** Bytes of packed chunks that were passed on and not taken. */
  underway = 0;
  #header = 0;

  constructor(
    shared: boolean,
    steps: readonly Step[],
    readonly chunk: number,
  ) {
    const pages = Math.ceil((2 * WHOLE.length) / 65536);
    this.#memory = shared
      ? new WebAssembly.Memory({ initial: pages, maximum: pages, shared })
      : null;
    this.#left = [...steps];
  }

  send(data: EngineToLoader): void {
    this.onmessage?.({ data } as MessageEvent<EngineToLoader>);
  }

  #want(ranges: readonly Range[], rows: boolean, once = false): void {
    if (ranges.length === 0) return;
    const memory = this.#memory;
    for (const { from, to } of ranges)
      if (memory !== null) new Uint8Array(memory.buffer, placeOf(from, rows), to - from).fill(0);
    const wants = Float64Array.from(
      ranges.flatMap(({ from, to }) => [from, placeOf(from, rows), to - from]),
    );
    this.send({ type: 'want', memory, wants, bases: [0], once, rows, layout: this.chunk });
  }

  #next(): void {
    if (this.#header < HEADER) {
      const to = Math.min(this.#header + 100_000, HEADER);
      return this.#want([{ from: this.#header, to }], false, true);
    }
    const step = this.#left.shift();
    if (step === undefined) {
      this.over = true;
      return this.send({ type: 'enough' });
    }
    const { weights = [], rows = [] } = step;
    this.#missing = [...weights, ...rows].reduce((sum, { from, to }) => sum + to - from, 0);
    this.#here = [];
    this.#want(rows, true);
    this.#want(weights, false);
  }

  /** Weights came: passes the chunks on that it packs. */
  #took(range: Range, packed: boolean): void {
    if (this.#here.some(({ from, to }) => from < range.to && range.from < to)) ++this.wrong;
    this.#here.push(range);
    if (packed || this.keeps !== true) return;
    for (const chunk of chunksIn(range, this.chunk)) {
      const bytes = packedOf(chunk);
      this.underway += bytes.length;
      queueMicrotask(() => this.send({ type: 'packed', offset: chunk.from, bytes }));
    }
  }

  postMessage(message: LoaderToEngine): void {
    this.onnews(message);
    if (message.type === 'failed') this.error = message.error;
    if (message.type === 'opened') {
      if (this.#memory === null) this.send({ type: 'sendMore', length: 4 << 20 });
      queueMicrotask(() => this.#next());
    }
    if (message.type === 'keepsPacked') this.keeps = message.keeps;
    if (message.type === 'tookPacked') this.underway -= message.length;
    if (message.type !== 'bytes' && message.type !== 'filled') return;
    const { offset: from, rows, packed } = message;
    const length = message.type === 'bytes' ? message.bytes.length : message.length;
    const bytes =
      message.type === 'bytes'
        ? message.bytes
        : new Uint8Array((this.#memory as WebAssembly.Memory).buffer, placeOf(from, rows), length);
    const range = { from, to: from + length };
    if (!same(bytes, expected(range, packed, this.chunk))) ++this.wrong;
    if (message.type === 'bytes') queueMicrotask(() => this.send({ type: 'sendMore', length }));
    if (this.#header < HEADER) this.#header += length;
    else {
      this.came.push({ ...range, rows, packed });
      this.#missing -= length;
      if (!rows) this.#took(range, packed);
    }
    if (this.#header < HEADER || this.#missing === 0) queueMicrotask(() => this.#next());
  }
}

export type How = {
  shared?: boolean;
  cache?: 'opfs' | 'none';
  sha256?: string;
  asked?: boolean;
  chunk?: number;
};

export function run(steps: readonly Step[], how: How = {}, source?: LoaderSource) {
  const { shared = true, cache = 'opfs', sha256, asked = false, chunk = 0 } = how;
  const engine = new Steps(shared, steps, chunk);
  const remote: LoaderSource = {
    kind: 'url',
    addresses: [MODEL],
    headers: [],
    hub: 'https://hub.example',
    sha256: sha256 === undefined ? [] : [sha256],
    cache,
    asked,
    refresh: false,
    fetch: null,
  };
  const patiences = { stallTimeout: 30_000, retryTimeout: 60_000 };
  const request = { source: source ?? remote, patiences, probe: false };
  return { engine, work: runLoader(request, engine, () => {}) };
}

export async function ended(...given: Parameters<typeof run>): Promise<Steps> {
  const { engine, work } = run(...given);
  await outcome(work);
  for (let i = 0; i < 10; ++i) await vi.advanceTimersByTimeAsync(10);
  return engine;
}
