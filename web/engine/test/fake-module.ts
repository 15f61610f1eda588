// A module without wasm, to test the code around the module. Its file is "GGUF" and then any bytes: the header has
// HEADER_BYTES, the rest is weights. Its text is the prompt's words, again and again.
import type {
  Answer,
  EncodingHandle,
  EngineHandle,
  HeaderHandle,
  SessionHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import type { OpenModule } from '../src/module.js';

export const HEADER_BYTES = 16;
export const FILE_BYTES = 200_000;

/** A file that the fake module accepts. */
export function makeFile(bytes = FILE_BYTES): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  for (let i = 0; i < bytes; ++i) file[i] = (i * 31) & 255;
  file.set(new TextEncoder().encode('GGUF'));
  return file;
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
  opened: { options: unknown; fileSize: number }[];
  cancels: number;
  /** The core's notes about the model. */
  notes: string[];
  /** The number of sessions. */
  sessions: number;
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
    encodings: 0,
  };
}

export function errorAnswer(code: string, message: string): Answer {
  return JSON.stringify({ event: 'error', code, message });
}

const PLACE_PTR = 1024;

class FakeEngine implements EngineHandle {
  #wanted = false;
  #understood = false;

  constructor(
    readonly control: Control,
    readonly memory: WebAssembly.Memory,
  ) {}

  open(options: string, [fileSize = 0]: readonly number[]): Answer {
    this.control.opened.push({ options: JSON.parse(options), fileSize });
    return options.includes('nonsense')
      ? errorAnswer('invalid_argument', "unknown option 'nonsense'")
      : '';
  }
  /** Like the real one: a buffer that is reused for the header, then fixed places, each given once. */
  wants(): Float64Array {
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
  filled(offset: number, length: number): Answer {
    const { taken } = this.control;
    const ptr = PLACE_PTR + (this.headerRead() ? HEADER_BYTES + offset : 0);
    if (offset !== taken.length) return errorAnswer('invalid_argument', 'bytes out of order');
    for (const byte of new Uint8Array(this.memory.buffer, ptr, length)) taken.push(byte);
    const magic = String.fromCharCode(...taken.slice(0, 4));
    return 'GGUF'.startsWith(magic)
      ? ''
      : errorAnswer('bad_file', `the file begins with '${magic}', not with GGUF`);
  }
  endOfFile(size: number): Answer {
    return this.loaded() ? '' : errorAnswer('bad_file', `the file ends after ${size} bytes`);
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
  loaded(): boolean {
    return this.#understood && this.control.taken.length >= FILE_BYTES;
  }
  progress() {
    return { loaded: this.control.taken.length, total: FILE_BYTES, layersReady: 0, layersTotal: 2 };
  }
  inspect(): Answer {
    return inspectAnswer();
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

  constructor(readonly control: Control) {
    control.sessions += 1;
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
    const id = this.#next++;
    this.#tokens.push(id);
    return JSON.stringify({
      event: 'token',
      id,
      text: this.#words[id % this.#words.length],
      logprob: -1,
    });
  }
  cancel(): void {
    this.control.cancels += 1;
    this.#running = false;
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
    const copy = new FakeSession(this.control);
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

function inspectAnswer(): Answer {
  return JSON.stringify({
    architecture: 'llama',
    files: 1,
    fileBytes: FILE_BYTES,
    dataOffset: HEADER_BYTES,
    dataBytes: FILE_BYTES - HEADER_BYTES,
    supported: true,
    memory: { total: 2 * FILE_BYTES },
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
    return inspectAnswer();
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
        super(control);
      }
    },
    Header: FakeHeader,
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
