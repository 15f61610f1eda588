// A module without wasm, to test the code around the module. Its file is "GGUF" and then any bytes: the header has
// HEADER_BYTES, the rest is weights. Its text is the prompt's words, again and again.
// With Control.rereads, each token needs bytes of the file that are read again, and its text is made of them.
import type {
  Answer,
  EncodingHandle,
  EngineHandle,
  HeaderHandle,
  SessionHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import type { OpenModule } from '../src/module.js';
import type { MemoryPlan } from '../src/types.js';

export const HEADER_BYTES = 16;
export const FILE_BYTES = 200_000;

/** A file that the fake module accepts. */
export function makeFile(bytes = FILE_BYTES): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  for (let i = 0; i < bytes; ++i) file[i] = (i * 31) & 255;
  file.set(new TextEncoder().encode('GGUF'));
  return file;
}

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
export interface Control {
  /** The bytes of the file as they came. */
  taken: number[];
  /** step() throws this, like a module that traps. */
  trap: string | null;
  /** step() answers with this error. */
  fail: Answer | null;
  /** While this returns true, step() answers that it works on the prompt. */
  working: () => boolean;
  promptTokensPerSecond: number;
  /** Bytes that the first token needs. */
  needed: number;
  /** The size of the engine's places. */
  placeBytes: number;
  starts: { prompt: string | number[]; options: unknown }[];
  opened: { options: unknown; fileSize: number; arrival: string }[];
  cancels: number;
  /** The core's notes about the model. */
  notes: string[];
  /** The number of sessions. */
  sessions: number;
  /** Not all weights stay: loaded() is never true, and each token needs bytes that are read again. */
  rereads: boolean;
  /** What is needed now, of all sessions. */
  pending: Set<Reread>;
  /** The sessions, by number, in the order in which they computed tokens. */
  computed: number[];
  /** EngineHandle.slots. */
  slots: number[];
  /** What the stats of a session say. */
  waitedMs: number;
  /** How often slots() was called. */
  looks: number;
  /** What inspect() says of memory. */
  memory: Partial<MemoryPlan>;
  /** The number of texts being tokenized; one that begins with 'endless' never ends. */
  encodings: number;
}

export function makeControl(): Control {
  return {
    taken: [],
    trap: null,
    fail: null,
    working: () => false,
    promptTokensPerSecond: 0,
    needed: FILE_BYTES,
    placeBytes: 5000,
    starts: [],
    opened: [],
    cancels: 0,
    notes: [],
    sessions: 0,
    rereads: false,
    pending: new Set(),
    computed: [],
    slots: [],
    waitedMs: 0,
    looks: 0,
    memory: {},
    encodings: 0,
  };
}

export function errorAnswer(code: string, message: string): Answer {
  return JSON.stringify({ event: 'error', code, message });
}

const PLACE_PTR = 1024;
/** Of bytes that are read again. */
const REREAD_PTR = PLACE_PTR + HEADER_BYTES + FILE_BYTES;

class FakeEngine implements EngineHandle {
  #wanted = false;
  #understood = false;
  /** Bytes by their offset, which came before others of a smaller one. */
  readonly #early = new Map<number, Uint8Array>();

  constructor(
    readonly control: Control,
    readonly memory: WebAssembly.Memory,
  ) {}

  open(options: string, [fileSize = 0]: readonly number[], arrival: string): Answer {
    this.control.opened.push({ options: JSON.parse(options), fileSize, arrival });
    return options.includes('nonsense')
      ? errorAnswer('invalid_argument', "unknown option 'nonsense'")
      : '';
  }
  /** Like the real one: a buffer that is reused for the header, then fixed places, each given once. */
  wants(): Float64Array {
    if (this.ready()) return this.#rereads(false);
    const { taken, placeBytes } = this.control;
    if (!this.headerRead()) return Float64Array.of(taken.length, PLACE_PTR, HEADER_BYTES);
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
  filled(offset: number, length: number): Answer {
    const { taken } = this.control;
    if (this.ready()) return this.#arrived(offset, length, false);
    const ptr = PLACE_PTR + (this.headerRead() ? HEADER_BYTES + offset : 0);
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
  headerRead(): boolean {
    return this.control.taken.length >= HEADER_BYTES;
  }
  buildVocabulary(): Answer {
    this.#understood = true;
    return this.headerRead() ? '' : errorAnswer('invalid_argument', 'the header is not read');
  }
  files(): Float64Array {
    return Float64Array.of(0, this.headerRead() ? FILE_BYTES : 0);
  }
  understood(): boolean {
    return this.#understood;
  }
  ready(): boolean {
    return this.#understood && this.control.taken.length >= FILE_BYTES;
  }
  loaded(): boolean {
    return this.ready() && !this.control.rereads;
  }
  slots(): Float64Array {
    this.control.looks += 1;
    return Float64Array.from(this.control.slots);
  }
  progress() {
    return { loaded: this.control.taken.length, total: FILE_BYTES, layersReady: 0, layersTotal: 2 };
  }
  inspect(): Answer {
    return inspectAnswer(this.control);
  }
  notes(): string {
    return JSON.stringify(this.control.notes);
  }
  detokenize(ids: ArrayLike<number>): string {
    return String.fromCharCode(...Array.from(ids));
  }
  stats(): string {
    return JSON.stringify({ kernels: 'fake', threads: 1, heapBytes: 65536, residentBytes: 1000 });
  }
  delete(): void {}
}

class FakeSession implements SessionHandle {
  #words: string[] = [];
  #next = 0;
  #max = Infinity;
  #running = false;
  #logits = false;
  #tokens: number[] = [];
  #needed: Reread | null = null;
  /** The bytes of the next token's row, when they are there. */
  #row: string | null = null;
  readonly #number: number;

  constructor(
    readonly control: Control,
    readonly memory: WebAssembly.Memory,
  ) {
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
    const parsed = JSON.parse(options) as { maxTokens?: number };
    this.control.starts.push({ prompt, options: parsed });
    if (words.length > 100)
      return errorAnswer('context_full', 'the prompt has 101 tokens; the context takes 100');
    if (this.#running) return errorAnswer('busy', 'a generation runs');
    this.#words = words;
    this.#next = 0;
    this.#max = parsed.maxTokens ?? Infinity;
    this.#logits = false;
    this.#running = true;
    return '';
  }
  startLogits(): Answer {
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
    });
  }
  cancel(): void {
    this.control.cancels += 1;
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
      promptTokens: this.#words.length,
      promptTokensPerSecond: this.control.promptTokensPerSecond,
      tokens: this.#next,
      heapBytes: 65536,
      residentBytes: 1000,
      seed: 1,
    });
  }
  clone(): SessionHandle | null {
    if (this.#running) return null;
    const copy = new FakeSession(this.control, this.memory);
    copy.#tokens = [...this.#tokens];
    return copy;
  }
  truncate(length: number): void {
    this.#tokens.length = Math.min(this.#tokens.length, length);
  }
  tokens(): Int32Array {
    return Int32Array.from(this.#tokens);
  }
  delete(): void {
    this.control.sessions -= 1;
  }
}

function inspectAnswer({ memory }: Control): Answer {
  return JSON.stringify({
    architecture: 'llama',
    files: 1,
    fileBytes: FILE_BYTES,
    dataOffset: HEADER_BYTES,
    dataBytes: FILE_BYTES - HEADER_BYTES,
    supported: true,
    memory: { all: 2 * FILE_BYTES, least: FILE_BYTES, rereadBytes: 0, ...memory },
  });
}

class FakeEncoding implements EncodingHandle {
  constructor(
    readonly control: Control,
    readonly text: string,
  ) {
    control.encodings += 1;
  }
  step(): boolean {
    return this.text.startsWith('endless');
  }
  take(): Int32Array {
    if (this.step()) return new Int32Array();
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
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 4, shared });
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
    Encoding: class extends FakeEncoding {
      constructor(_engine: EngineHandle, text: string) {
        super(control, text);
      }
    },
    allocate: () => PLACE_PTR,
    release: () => {},
  };
  return { module, memory, maxBytes: 1 << 30 };
}
