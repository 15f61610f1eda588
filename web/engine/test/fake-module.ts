// A module without wasm, to test the code around the module. Its file is "GGUF" and then any bytes: the header has
// HEADER_BYTES, the rest is weights. Its text is the prompt's words, again and again.
// With Control.rereads, each token needs bytes of the file that are read again, and its text is made of them.
import type {
  Answer,
  EncodingHandle,
  EngineHandle,
  HeaderHandle,
  PromptHandle,
  PromptProgress,
  SessionHandle,
  SessionReaderHandle,
  SessionWriterHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import type { AnalysisScript } from '../src/engine/analysis.js';
import type { OpenModule } from '../src/engine/module.js';
import { makeNote, type Note } from '../src/shared/notes.js';
import type { MemoryPlan } from '../src/shared/types.js';
import type { Makes } from '../src/shared/vector-types.js';
import {
  DROPPED,
  FakePrompt,
  beginReply,
  errorAnswer,
  fakeBytes,
  makeChatControl,
  renderFails,
  type ChatControl,
  type FakeReply,
  type ReplyOptions,
} from './fake-chat.js';

import {
  FakeInside,
  INSIDE,
  fakeRaw,
  makeInsideControl,
  type InsideControl,
} from './fake-inside.js';

export { DROPPED, errorAnswer };

export const HEADER_BYTES = 16;
export const FILE_BYTES = 200_000;

/** A file that the fake module accepts. */
export function makeFile(bytes = FILE_BYTES): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  for (let i = 0; i < bytes; ++i) file[i] = (i * 31) & 255;
  file.set(new TextEncoder().encode('GGUF'));
  return file;
}

/** The id of the mask, which is written '*'. */
const MASK = 42;

/** Bytes that a token needs, if not all stay in memory. */
export const REREAD_BYTES = 100;

/** Where the bytes are that a session needs for its token number `i`. Sessions need different ones. */
export function rereadOffset(session: number, i: number, rows: boolean): number {
  return 10_000 * session + (rows ? 1000 : 5000) + REREAD_BYTES * (i % 20);
}

/** Bytes that a fake session waits for. */
export interface Reread {
  offset: number;
  ptr: number;
  rows: boolean;
  state: 'new' | 'wanted' | 'here';
}

/** What a fake engine has seen, and what it is to do. */
/** What a template without a name of its own gives. */
export const GUESSED = makeNote('no_chat_template', 'guessed');

export interface Control extends ChatControl, InsideControl {
  /** The bytes of the file as they came. */
  taken: number[];
  /** step() throws this, like a module that traps. */
  trap: string | null;
  /** step() answers with this error. */
  fail: Answer | null;
  /** While this returns true, step() answers that it works on the prompt. */
  working: () => boolean;
  promptTokensPerSecond: number;
  /** What a session says of its prompt. */
  prompt: () => PromptProgress;
  /** Bytes that the first token needs. */
  needed: number;
  /** The size of the engine's places. */
  placeBytes: number;
  starts: { prompt: string | number[]; options: unknown }[];
  opened: { options: unknown; fileSize: number; access: string }[];
  cancels: number;
  /** The arguments of applyTemplate, of each call. */
  templates: unknown[][];
  /** The core's notes about the model. */
  notes: Note[];
  /** The number of sessions. */
  sessions: number;
  /** Not all weights stay: loaded() is never true, and each token needs bytes that are read again. */
  rereads: boolean;
  /** Bytes of the file that progress() doesn't count: those of a table of which only rows are read. */
  leftOut: number;
  /** What is needed now, of all sessions. */
  pending: Set<Reread>;
  /** The sessions, by number, in the order in which they computed tokens. */
  computed: number[];
  /** The texts of each startVectors. */
  groups: number[][][];
  /** What inspect() says that the model makes. */
  makes: Makes[];
  /** EngineHandle.slots. */
  slots: number[];
  /** What the stats of a session say. */
  waitedMs: number;
  /** What takePacked() gives next: it empties it. */
  packed: number[];
  /** keepsPacked() said so. */
  keepsPacked: boolean;
  /** The ranges of filled() that were packed, offset and length each. */
  tookPacked: [number, number][];
  /** filled() refuses what is packed. */
  refusesPacked: boolean;
  /** How often slots() was called. */
  looks: number;
  /** What inspect() says of memory. */
  memory: Partial<MemoryPlan>;
  /** Whether the model can be identified. */
  identified: () => boolean;
  decodeRate: (eightBits: boolean, threads: number) => number;
  /** Waited for before the script of embed(), fillMask() and what looks inside is loaded. */
  loadsAnalysis: () => Promise<void>;
  /** Called when a session is cloned, with the number of its tokens. */
  cloned: (tokens: number) => void;
  /** Of the model, as pieces name it. */
  identity: number;
  /** How often stopIdentifying() was called. */
  stops: number;
  /** The session files that are being written or read. */
  files: number;
  /** The number of texts being tokenized; one that begins with 'endless' never ends. */
  encodings: number;
  /** Called when a text is tokenized, again and again if that never ends. */
  encodes: () => void;
}

export function makeControl(): Control {
  return {
    taken: [],
    trap: null,
    fail: null,
    working: () => false,
    promptTokensPerSecond: 0,
    prompt: () => ({ computed: 0, total: 0, reused: 0, secondsLeft: -1, waiting: false }),
    needed: FILE_BYTES,
    placeBytes: 5000,
    starts: [],
    opened: [],
    cancels: 0,
    templates: [],
    notes: [],
    sessions: 0,
    rereads: false,
    leftOut: 0,
    pending: new Set(),
    computed: [],
    groups: [],
    makes: ['text', 'vectors'],
    slots: [],
    waitedMs: 0,
    packed: [],
    keepsPacked: false,
    tookPacked: [],
    refusesPacked: false,
    looks: 0,
    memory: {},
    decodeRate: (eightBits, threads) => threads * (eightBits ? 2e9 : 1e9),
    loadsAnalysis: () => Promise.resolve(),
    cloned: () => {},
    identity: 1,
    identified: () => true,
    stops: 0,
    files: 0,
    encodings: 0,
    encodes: () => {},
    ...makeChatControl(),
    ...makeInsideControl(),
  };
}

const PLACE_PTR = 1024;
/** Of bytes that are read again. */
const REREAD_PTR = PLACE_PTR + HEADER_BYTES + FILE_BYTES;

class FakeEngine implements EngineHandle {
  #wanted = false;
  #hasTokenizer = false;
  /** Bytes by their offset, which came before others of a smaller one. */
  readonly #early = new Map<number, Uint8Array>();

  constructor(
    readonly control: Control,
    readonly memory: WebAssembly.Memory,
  ) {}

  open(options: string, [fileSize = 0]: readonly number[], access: string): Answer {
    this.control.opened.push({ options: JSON.parse(options), fileSize, access });
    return options.includes('nonsense')
      ? errorAnswer('invalid_argument', "unknown option 'nonsense'")
      : '';
  }
  /** Like the real one: a buffer that is reused for the header, then fixed places, each given once. */
  wants(): Float64Array {
    if (this.ready()) return this.#rereads(false);
    const { taken, placeBytes } = this.control;
    if (!this.hasLayout()) return Float64Array.of(taken.length, PLACE_PTR, HEADER_BYTES);
    const wants: number[] = [];
    for (let at = this.#wanted ? FILE_BYTES : taken.length; at < FILE_BYTES; at += placeBytes) {
      // Not in the file's order, and not in the header's place.
      wants.unshift(at, PLACE_PTR + HEADER_BYTES + at, Math.min(placeBytes, FILE_BYTES - at));
    }
    this.#wanted = true;
    return Float64Array.from(wants);
  }
  #rereads(rows: boolean): Float64Array {
    const wants: number[] = [];
    for (const one of this.control.pending) {
      if (one.state !== 'new' || one.rows !== rows) continue;
      wants.push(one.offset, one.ptr, REREAD_BYTES);
      one.state = 'wanted';
    }
    return Float64Array.from(wants);
  }
  #arrived(offset: number, length: number, rows: boolean): Answer {
    const found = [...this.control.pending].filter(
      (one) => one.state === 'wanted' && one.rows === rows && one.offset === offset,
    );
    if (length !== REREAD_BYTES || found.length === 0)
      return errorAnswer('invalid_argument', `bytes ${offset} were not wanted`);
    for (const one of found) one.state = 'here';
    return '';
  }
  rowWants(): Float64Array {
    return this.#rereads(true);
  }
  rowsFilled(offset: number, length: number): Answer {
    return this.#arrived(offset, length, true);
  }
  keepsPacked(keeps: boolean): void {
    this.control.keepsPacked = keeps;
  }
  takePacked(): Float64Array {
    return Float64Array.from(this.control.packed.splice(0));
  }
  filled(offset: number, length: number, packed: boolean): Answer {
    const { taken, tookPacked } = this.control;
    if (packed && this.control.refusesPacked)
      return errorAnswer('invalid_argument', 'not whole chunks');
    if (packed) tookPacked.push([offset, length]);
    if (this.ready()) return this.#arrived(offset, length, false);
    const ptr = PLACE_PTR + (this.hasLayout() ? HEADER_BYTES + offset : 0);
    if (offset < taken.length || this.#early.has(offset))
      return errorAnswer('invalid_argument', `the bytes at ${offset} came twice`);
    this.#early.set(offset, new Uint8Array(this.memory.buffer, ptr, length).slice());
    for (let at = taken.length; this.#early.has(at); at = taken.length) {
      for (const byte of this.#early.get(at) ?? []) taken.push(byte);
      this.#early.delete(at);
    }
    const magic = String.fromCharCode(...taken.slice(0, 4));
    return 'GGUF'.startsWith(magic)
      ? ''
      : errorAnswer('bad_file', `the file begins with '${magic}', not with GGUF`);
  }
  endOfFile(size: number): Answer {
    return this.ready() ? '' : errorAnswer('bad_file', `the file ends after ${size} bytes`);
  }
  hasLayout(): boolean {
    return this.control.taken.length >= HEADER_BYTES;
  }
  buildTokenizer(): Answer {
    this.#hasTokenizer = true;
    return this.hasLayout() ? '' : errorAnswer('invalid_argument', 'the header is not read');
  }
  files(): Float64Array {
    return Float64Array.of(0, this.hasLayout() ? FILE_BYTES : 0);
  }
  hasTokenizer(): boolean {
    return this.#hasTokenizer;
  }
  ready(): boolean {
    return this.#hasTokenizer && this.control.taken.length >= FILE_BYTES;
  }
  loaded(): boolean {
    return this.ready() && !this.control.rereads;
  }
  identify(): Answer {
    return this.control.identified() ? '' : JSON.stringify({ event: 'waiting' });
  }
  stopIdentifying(): void {
    this.control.stops += 1;
  }
  slots(): Float64Array {
    this.control.looks += 1;
    return Float64Array.from(this.control.slots);
  }
  progress() {
    const { taken, leftOut } = this.control;
    const total = FILE_BYTES - leftOut;
    return { loaded: Math.min(taken.length, total), total, layersReady: 0, layersTotal: 2 };
  }
  inspect(): Answer {
    return inspectAnswer(this.control);
  }
  notes(): string {
    return JSON.stringify(this.control.notes);
  }
  stopWhen(stopped: () => boolean): void {
    this.control.stopped = stopped;
  }
  applyTemplate(messages: string, kwargs: string, chatTemplate: string, adapt: boolean): Answer {
    this.control.templates.push([messages, kwargs, chatTemplate, adapt]);
    const failure = renderFails(this.control);
    if (failure !== null) return failure;
    if (chatTemplate === 'wrong') return errorAnswer('invalid_argument', 'line 1 of the template');
    return JSON.stringify({ text: `${messages}!`, template: 'given', warnings: [GUESSED] });
  }
  detokenize(ids: ArrayLike<number>): string {
    return String.fromCharCode(...Array.from(ids));
  }
  tokenBytes(ids: ArrayLike<number>): Answer {
    return JSON.stringify(Array.from(ids, (id) => [...fakeBytes(id)]));
  }
  textPrefix(query: boolean): string {
    return query ? 'q:' : 'd:';
  }
  /** Brackets around it: '<' and '>'. */
  textIds(ids: ArrayLike<number>, most: number): Int32Array {
    const all = [60, ...Array.from(ids), 62];
    return Int32Array.from(most > 0 && all.length > most ? [...all.slice(0, most - 1), 62] : all);
  }
  mask(): number {
    return MASK;
  }
  tokenText(id: number): string {
    return String.fromCharCode(id);
  }
  stats(): string {
    const { contextSize } = this.control;
    return JSON.stringify({ kernels: 'fake', threads: 1, contextSize, heapBytes: 65536 });
  }
  delete(): void {}
}

class FakeSession extends FakeInside implements SessionHandle {
  #reply: FakeReply | null = null;
  #words: string[] = [];
  #next = 0;
  #max = Infinity;
  #trace = 0;
  #running = false;
  #logits = false;
  /** The texts whose vectors are not done, and those that are. */
  #texts: Float32Array<ArrayBuffer>[] | null = null;
  #vectors: Float32Array<ArrayBuffer>[] = [];
  #tokens: number[] = [];
  #needed: Reread | null = null;
  /** The bytes of the next token's row, when they are there. */
  #row: string | null = null;
  readonly #number: number;

  constructor(
    override readonly control: Control,
    readonly memory: WebAssembly.Memory,
  ) {
    super(control);
    this.#number = control.sessions;
    control.sessions += 1;
  }

  /** The bytes of the file for the next token: its row, then its layer. Null while they are awaited. */
  #reread(): string | null {
    const { pending } = this.control;
    const rows = this.#row === null;
    if (this.#needed === null) {
      const offset = rereadOffset(this.#number, this.#next, rows);
      const ptr = REREAD_PTR + REREAD_BYTES * (2 * this.#number + Number(rows));
      // A cancelled run may have wanted it.
      const known = [...pending].find((one) => one.offset === offset && one.ptr === ptr);
      this.#needed = known ?? { offset, ptr, rows, state: 'new' };
      pending.add(this.#needed);
    }
    if (this.#needed.state !== 'here') return null;
    const bytes = new Uint8Array(this.memory.buffer, this.#needed.ptr, REREAD_BYTES).join();
    pending.delete(this.#needed);
    this.#needed = null;
    if (rows) {
      this.#row = bytes;
      return this.#reread();
    }
    const text = `${this.#row};${bytes}`;
    this.#row = null;
    return text;
  }

  startText(prompt: string, options: string): Answer {
    return this.#start(prompt, prompt.split(' '), options);
  }
  startIds(prompt: ArrayLike<number>, options: string): Answer {
    return this.#start(Array.from(prompt), Array.from(prompt, String), options);
  }
  #start(prompt: string | number[], words: string[], options: string): Answer {
    const parsed = JSON.parse(options) as { maxTokens?: number; trace?: number };
    this.control.starts.push({ prompt, options: parsed });
    if (words.length > 100)
      return errorAnswer('context_full', 'the prompt has 101 tokens; the context takes 100');
    if (this.#running) return errorAnswer('busy', 'a generation runs');
    this.#reply = null;
    this.#words = words;
    this.#next = 0;
    this.#max = parsed.maxTokens ?? Infinity;
    this.#trace = parsed.trace ?? 0;
    this.#logits = false;
    this.#running = true;
    return '';
  }
  resume(options: string): Answer {
    if (this.#tokens.length === 0) return errorAnswer('invalid_argument', 'there are no tokens');
    return this.#start(this.#tokens, this.#tokens.map(String), options);
  }
  startReply(prompt: PromptHandle, options: string, thinkingTokens: number): Answer {
    if (this.#running) return errorAnswer('busy', 'a generation runs');
    const begun = beginReply(this.control, this.#number, this, prompt as FakePrompt, {
      options: JSON.parse(options) as ReplyOptions,
      thinkingTokens,
    });
    if (typeof begun === 'string') return begun;
    this.#reply = begun;
    this.#tokens = [...(prompt as FakePrompt).ids];
    this.#running = true;
    return '';
  }
  /** Each step computes a text. Its vector: its length, its first id, its last one, the pooling. */
  startVectors(ids: ArrayLike<number>, lengths: ArrayLike<number>, pooling: number): Answer {
    if (this.#running) return errorAnswer('busy', 'a generation runs');
    const all = Array.from(ids);
    const texts = Array.from(lengths, (length) => all.splice(0, length));
    this.control.groups.push(texts);
    this.#vectors = [];
    this.#texts = texts.map((text) =>
      Float32Array.of(text.length, text[0] as number, text.at(-1) as number, pooling),
    );
    this.#running = true;
    return '';
  }
  vectors(from: number): Float32Array<ArrayBuffer> {
    return Float32Array.from(this.#vectors.flatMap((one) => [...one]).slice(from));
  }
  protected runs(): void {
    this.#texts = null;
    this.#reply = null;
    this.#running = true;
  }
  startLogits(): Answer {
    this.#texts = null;
    this.#reply = null;
    this.#running = true;
    this.#logits = true;
    return '';
  }
  step(): Answer {
    if (this.control.trap !== null) throw new WebAssembly.RuntimeError(this.control.trap);
    if (this.control.fail !== null) return this.control.fail;
    if (!this.#running) return JSON.stringify({ event: 'done', finish: 'aborted' });
    if (this.control.taken.length < this.control.needed)
      return JSON.stringify({ event: 'waiting' });
    if (this.control.working()) return JSON.stringify({ event: 'working' });
    const inside = this.insideStep();
    if (inside !== null) {
      this.#running = !inside.includes('done');
      return inside;
    }
    if (this.#texts !== null) {
      const next = this.#texts.shift();
      if (next !== undefined) this.#vectors.push(next);
      if (this.#texts.length > 0) return JSON.stringify({ event: 'working' });
      this.#texts = null;
      this.#running = false;
      return JSON.stringify({ event: 'done', finish: 'length' });
    }
    if (this.#reply !== null) {
      const { answer, over, tokens } = this.#reply.step();
      this.#running = !over;
      this.#tokens.push(...tokens);
      return answer;
    }
    if (this.#logits || this.#next >= this.#max) {
      this.#running = false;
      return JSON.stringify({ event: 'done', finish: 'length' });
    }
    const again = this.control.rereads ? this.#reread() : '';
    if (again === null) return JSON.stringify({ event: 'waiting' });
    this.control.computed.push(this.#number);
    const id = this.#next++;
    this.#tokens.push(id);
    return JSON.stringify({
      event: 'token',
      id,
      text: again || this.#words[id % this.#words.length],
      logprob: -1,
      ...fakeRaw(id, this.#trace),
    });
  }
  cancel(): void {
    this.control.cancels += 1;
    this.endInside();
    this.#running = false;
    this.#needed = null;
    this.#row = null;
  }
  running(): boolean {
    return this.#running;
  }
  logits(top: number): Answer {
    return JSON.stringify({ hash: '0123456789abcdef', top: [[7, -0.5]].slice(0, top) });
  }
  stats(): string {
    return JSON.stringify({
      kernels: 'fake',
      threads: 1,
      waitedMs: this.control.waitedMs,
      memoryBudget: 0,
      contextSize: this.control.contextSize,
      promptTokens: this.#words.length,
      promptTokensPerSecond: this.control.promptTokensPerSecond,
      tokens: this.#next,
      reasoningTokens: 0,
      heapBytes: 65536,
      residentBytes: 1000,
      seed: 1,
      ...this.#reply?.stats,
    });
  }
  promptProgress(): PromptProgress {
    return this.control.prompt();
  }
  clone(): SessionHandle | null {
    if (this.#running) return null;
    this.control.cloned(this.#tokens.length);
    const copy = new FakeSession(this.control, this.memory);
    copy.#tokens = [...this.#tokens];
    return copy;
  }
  /** As if it had computed these. */
  become(tokens: readonly number[]): this {
    this.#tokens = [...tokens];
    return this;
  }
  truncate(length: number): void {
    this.#tokens.length = Math.min(this.#tokens.length, length);
  }
  tokens(): Int32Array {
    return Int32Array.from(this.#tokens);
  }
  pieces(): number {
    return Math.ceil(this.#tokens.length / POSITIONS);
  }
  pieceBytes(): number {
    return fakePiece(
      this.control,
      Array.from({ length: POSITIONS }, () => 0),
      0,
    ).length;
  }
  delete(): void {
    this.control.sessions -= 1;
  }
}

const POSITIONS = 256;
const PIECE_HEADER = 88;
/** The ends of prompts. */
const PIECE_KEPT = 12;

/** A piece as the core writes it, as far as its store looks into it: of each position the state is its token again. */
function fakePiece(control: Control, all: number[], piece: number): Uint8Array<ArrayBuffer> {
  const tokens = all.slice(piece * POSITIONS, (piece + 1) * POSITIONS);
  const bytes = new Uint8Array(PIECE_HEADER + PIECE_KEPT + 8 * tokens.length + 8);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode('SLUICEPC'));
  view.setUint32(24, control.identity, true);
  view.setUint32(48, tokens.length, true);
  view.setUint32(52, tokens.length, true);
  view.setUint32(60, piece * POSITIONS, true);
  view.setUint32(64, sumOf(all.slice(0, piece * POSITIONS)), true);
  for (const [i, token] of tokens.entries()) {
    view.setInt32(PIECE_HEADER + 4 * i, token, true);
    view.setInt32(PIECE_HEADER + PIECE_KEPT + 4 * (tokens.length + i), token, true);
  }
  view.setUint32(bytes.length - 8, sumOf([...bytes.subarray(0, -8)]), true);
  return bytes;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one, i) => (sum + (i + 1) * one) >>> 0, 0);
}

const PLAN = {
  contextSize: 100,
  all: 2 * FILE_BYTES,
  least: FILE_BYTES,
  total: FILE_BYTES,
  kv: 1000,
  session: 1200,
  budget: 0,
  rereadBytes: 0,
  bytesPerToken: 1000,
};

function inspectAnswer({ memory, makes }: Control): Answer {
  return JSON.stringify({
    architecture: 'llama',
    tokenizer: { tokens: 0x110000 }, // ids are code points
    files: 1,
    fileBytes: FILE_BYTES,
    dataOffset: HEADER_BYTES,
    dataBytes: FILE_BYTES - HEADER_BYTES,
    supported: true,
    memory: { ...PLAN, ...memory },
    metadata: {},
    makes,
    pooling: 'mean',
    dimensions: 4,
    ...INSIDE,
  });
}

/** Saved sessions are these and a byte for each token. */
export const SESSION_MAGIC = 'SESSION';
/** The most bytes of a piece. */
const WRITTEN = 1000;

class FakeWriter implements SessionWriterHandle {
  #bytes = new Uint8Array();
  #at = 0;

  constructor(
    readonly control: Control,
    readonly memory: WebAssembly.Memory,
  ) {
    control.files += 1;
  }
  open(session: SessionHandle): Answer {
    if (session.running()) return errorAnswer('busy', 'a generation runs');
    this.#bytes = Uint8Array.of(
      ...new TextEncoder().encode(SESSION_MAGIC),
      ...Array.from(session.tokens()),
    );
    return '';
  }
  openPiece(session: SessionHandle, piece: number): Answer {
    this.#bytes = fakePiece(this.control, Array.from(session.tokens()), piece);
    return '';
  }
  bytes(): number {
    return this.#bytes.length;
  }
  next(ptr: number, length: number): number {
    const part = this.#bytes.subarray(this.#at, this.#at + Math.min(length, WRITTEN));
    new Uint8Array(this.memory.buffer, ptr, part.length).set(part);
    this.#at += part.length;
    return part.length;
  }
  delete(): void {
    this.control.files -= 1;
  }
}

class FakeReader implements SessionReaderHandle {
  readonly #bytes: number[] = [];

  constructor(
    readonly control: Control,
    readonly memory: WebAssembly.Memory,
    readonly size: number,
    readonly onto: FakeSession | null,
  ) {
    control.files += 1;
  }
  push(ptr: number, length: number): Answer {
    for (const byte of new Uint8Array(this.memory.buffer, ptr, length)) this.#bytes.push(byte);
    if (this.onto !== null) return '';
    const magic = String.fromCharCode(...this.#bytes.slice(0, SESSION_MAGIC.length));
    return SESSION_MAGIC.startsWith(magic) ? '' : errorAnswer('bad_file', 'this is no session');
  }
  finish(): Answer {
    if (this.onto !== null) return this.#finishPiece(this.onto);
    const whole = this.#bytes.length === this.size && this.size >= SESSION_MAGIC.length;
    return whole ? '' : errorAnswer('bad_file', 'the session is cut short');
  }
  #finishPiece(onto: FakeSession): Answer {
    const bytes = Uint8Array.from(this.#bytes);
    const view = new DataView(bytes.buffer);
    const before = Array.from(onto.tokens());
    const n = bytes.length < PIECE_HEADER ? 0 : view.getUint32(48, true);
    const tokens = Array.from({ length: n }, (_, i) => view.getInt32(PIECE_HEADER + 4 * i, true));
    const right = fakePiece(this.control, [...before, ...tokens], before.length / POSITIONS);
    if (Buffer.compare(right, bytes) !== 0) return errorAnswer('bad_file', 'the piece is damaged');
    onto.become([...before, ...tokens]);
    return '';
  }
  take(): SessionHandle {
    const tokens = this.#bytes.slice(SESSION_MAGIC.length);
    return new FakeSession(this.control, this.memory).become(tokens);
  }
  delete(): void {
    this.control.files -= 1;
  }
}

class FakeEncoding implements EncodingHandle {
  constructor(
    readonly control: Control,
    readonly text: string,
  ) {
    control.encodings += 1;
  }
  step(): boolean {
    this.control.encodes();
    return this.#endless;
  }
  get #endless(): boolean {
    return this.text.startsWith('endless');
  }
  take(): Int32Array {
    if (this.#endless) return new Int32Array();
    return Int32Array.from(this.text, (c) => c.charCodeAt(0));
  }
  delete(): void {
    this.control.encodings -= 1;
  }
}

class FakeHeader implements HeaderHandle {
  #bytes = 0;

  constructor(readonly control: Control) {}

  position(): number {
    return this.#bytes;
  }
  files(): Float64Array {
    return Float64Array.of(0, this.done() ? FILE_BYTES : 0);
  }
  push(_ptr: number, length: number): Answer {
    this.#bytes += length;
    return '';
  }
  done(): boolean {
    return this.#bytes >= HEADER_BYTES;
  }
  endOfFile(): Answer {
    return this.done() ? '' : errorAnswer('bad_file', 'the file ends within its header');
  }
  inspect(): Answer {
    return inspectAnswer(this.control);
  }
  delete(): void {}
}

export function fakeModule(control: Control, shared: boolean): OpenModule {
  const memory = new WebAssembly.Memory({ initial: 8, maximum: 8, shared });
  const module: SluiceModule = {
    Engine: class extends FakeEngine {
      constructor() {
        super(control, memory);
      }
    },
    Session: class extends FakeSession {
      constructor() {
        super(control, memory);
      }
    },
    Header: class extends FakeHeader {
      constructor() {
        super(control);
      }
    },
    Prompt: class extends FakePrompt {
      constructor() {
        super(control);
      }
    },
    SessionWriter: class extends FakeWriter {
      constructor() {
        super(control, memory);
      }
    },
    SessionReader: class extends FakeReader {
      constructor(_engine: EngineHandle, size: number, onto: SessionHandle | null) {
        super(control, memory, size, onto as FakeSession | null);
      }
    },
    Encoding: class extends FakeEncoding {
      constructor(_engine: EngineHandle, text: string) {
        super(control, text);
      }
    },
    allocate: () => PLACE_PTR,
    release: () => {},
    packedLayout: () => 7,
    decodeRate: (eightBits, threads) => control.decodeRate(eightBits, threads),
  };
  const loadAnalysis = async (): Promise<AnalysisScript> => {
    await control.loadsAnalysis();
    return import('../src/engine/analysis-runs.js');
  };
  return { module, memory, maxBytes: 1 << 30, loadAnalysis };
}
