import { describe, expect, it } from 'vitest';
import type { EngineHandle } from '../../../wasm/module.js';
import { Feed, type HostPort } from '../src/engine/feed.js';
import { PACKED_BYTES, type LoaderToEngine, type EngineToLoader } from '../src/shared/protocol.js';
import {
  FILE_BYTES,
  HEADER_BYTES,
  fakeModule,
  makeControl,
  makeFile,
  type Control,
} from './fake-module.js';

/** The port of a loader, which the test plays. */
class Line implements HostPort {
  onmessage: ((event: MessageEvent<LoaderToEngine>) => void) | null = null;
  readonly heard: EngineToLoader[] = [];

  postMessage(message: EngineToLoader): void {
    this.heard.push(message);
  }

  say(data: LoaderToEngine): void {
    this.onmessage?.({ data } as MessageEvent<LoaderToEngine>);
  }
}

const LAYOUT = 7;
const OPENED: LoaderToEngine = {
  type: 'opened',
  sizes: [0],
  exact: false,
  network: false,
  access: 'sequential',
  unproven: false,
};

describe('with shared memory', () => {
  it('the places of the weights are granted before the vocabulary is built', () => {
    const line = new Line();
    const feed = new Feed(line);
    line.say(OPENED);
    const control = makeControl();
    const { module, memory } = fakeModule(control, true);
    const engine = new module.Engine();
    const grants: (boolean | null)[] = [];
    const post = line.postMessage.bind(line);
    line.postMessage = (message) => {
      grants.push(message.type === 'want' ? engine.hasTokenizer() : null);
      post(message);
    };
    feed.drive(engine, memory, true, LAYOUT);
    new Uint8Array(memory.buffer, 1024, HEADER_BYTES).set(makeFile().subarray(0, HEADER_BYTES));
    line.say({ type: 'filled', offset: 0, length: HEADER_BYTES, rows: false, packed: false });
    expect(engine.hasTokenizer()).toBe(true);
    expect(line.heard.map((message) => 'once' in message && message.once)).toEqual([true, false]);
    expect(grants).toEqual([false, false]);
  });
});

/** An engine that is driven by what the test says. */
function driven(network = false): {
  line: Line;
  engine: EngineHandle;
  memory: WebAssembly.Memory;
  control: Control;
  errors: unknown[];
} {
  const line = new Line();
  const feed = new Feed(line);
  const errors: unknown[] = [];
  feed.onerror = (error) => errors.push(error);
  line.say({ ...OPENED, network } as LoaderToEngine);
  const control = makeControl();
  const { module, memory } = fakeModule(control, false);
  const engine = new module.Engine();
  feed.drive(engine, memory, false, LAYOUT);
  return { line, engine, memory, control, errors };
}

describe('by chunks', () => {
  it('asks for the header, then for all weights, and gives credit for what it took', () => {
    const { line, engine, control } = driven();
    const file = makeFile();
    expect(line.heard).toMatchObject([
      { type: 'want', memory: null, bases: [0], once: true },
      { type: 'sendMore' },
    ]);
    line.heard.length = 0;
    line.say({
      type: 'bytes',
      offset: 0,
      bytes: file.slice(0, HEADER_BYTES),
      rows: false,
      packed: false,
    });
    expect(line.heard).toMatchObject([
      { type: 'want', memory: null, bases: [0], once: false },
      { type: 'sendMore', length: HEADER_BYTES },
    ]);
    line.say({
      type: 'bytes',
      offset: HEADER_BYTES,
      bytes: file.slice(HEADER_BYTES),
      rows: false,
      packed: false,
    });
    expect(engine.loaded()).toBe(true);
    expect(control.taken).toEqual([...file]);
  });

  it('forgets the place of a header when that is read, though more was wanted there', () => {
    const { line, engine, memory } = driven();
    const file = makeFile();
    const wants = engine.wants.bind(engine);
    // As the real engine, which wants as much as its buffer holds.
    let wanted = 0;
    engine.wants = (most) => {
      const found = wants(most);
      if (!engine.hasLayout()) found[2] = 10 * HEADER_BYTES;
      wanted += 1;
      return found;
    };
    line.say({ type: 'bytes', offset: 0, bytes: file.slice(0, 8), rows: false, packed: false });
    line.say({
      type: 'bytes',
      offset: 8,
      bytes: file.slice(8, HEADER_BYTES),
      rows: false,
      packed: false,
    });
    expect(wanted).toBeGreaterThan(1);
    expect(engine.hasLayout()).toBe(true);
    const [ptr, length] = [1024, 10 * HEADER_BYTES];
    new Uint8Array(memory.buffer, ptr + HEADER_BYTES, length).fill(0);
    const before = [...new Uint8Array(memory.buffer, ptr, HEADER_BYTES)];
    // The weights' places are behind that of the header.
    const bytes = file.slice(HEADER_BYTES, 2 * HEADER_BYTES);
    line.say({ type: 'bytes', offset: HEADER_BYTES, bytes, rows: false, packed: false });
    expect([...new Uint8Array(memory.buffer, ptr, HEADER_BYTES)]).toEqual(before);
    expect(engine.progress().loaded).toBe(2 * HEADER_BYTES);
  });

  it.each([
    [true, 'download_failed', `ended after 50 of ${FILE_BYTES} bytes`],
    [false, 'bad_file', 'the file ends after 50 bytes'],
  ])('says that the file ended too soon (network: %s)', (network, code, text) => {
    const { line, errors, control } = driven(network);
    // What the engine doesn't load is missing all the same.
    control.leftOut = FILE_BYTES - 40;
    line.say({
      type: 'bytes',
      offset: 0,
      bytes: makeFile().slice(0, HEADER_BYTES),
      rows: false,
      packed: false,
    });
    line.say({ type: 'ended', file: 0, received: 50 });
    expect(errors).toMatchObject([{ code, message: expect.stringContaining(text) as string }]);
  });
});

describe('a file that is no model', () => {
  it('is refused: the loader is told to keep nothing of it', () => {
    const { line, errors } = driven();
    line.say({
      type: 'bytes',
      offset: 0,
      bytes: new TextEncoder().encode('PK, a zip archive'),
      rows: false,
      packed: false,
    });
    expect(errors).toMatchObject([{ code: 'bad_file' }]);
    expect(line.heard.at(-1)).toEqual({ type: 'stop', refused: 'useless' });
  });
});

describe('what a loader says before the engine is there', () => {
  it('is kept: an end without a byte, for loading and for probing', async () => {
    for (const probe of [false, true]) {
      const line = new Line();
      const feed = new Feed(line);
      const errors: unknown[] = [];
      feed.onerror = (error) => errors.push(error);
      line.say(OPENED);
      line.say({ type: 'ended', file: 0, received: 0 });
      const { module, memory } = fakeModule(makeControl(), false);
      if (probe) {
        const reading = feed.readHeader(new module.Header([0]), module, memory);
        await expect(reading).rejects.toMatchObject({ code: 'bad_file' });
      } else {
        feed.drive(new module.Engine(), memory, false, LAYOUT);
        expect(errors).toMatchObject([{ code: 'bad_file' }]);
      }
      // The loader gets only the message to stop.
      expect(line.heard).toEqual([{ type: 'stop', refused: 'useless' }]);
    }
  });
});

describe('chunks that the engine has packed', () => {
  /** An engine that has its header, and its port with what was said since. */
  function read(access: 'sequential' | 'rereadable', slots: number[]) {
    const line = new Line();
    const feed = new Feed(line);
    line.say({ ...OPENED, access } as LoaderToEngine);
    const control = makeControl();
    control.slots = slots;
    const { module, memory } = fakeModule(control, true);
    feed.drive(new module.Engine(), memory, true, LAYOUT);
    const file = makeFile();
    new Uint8Array(memory.buffer, 1024, FILE_BYTES).set(file);
    line.say({ type: 'filled', offset: 0, length: HEADER_BYTES, rows: false, packed: false });
    new Uint8Array(memory.buffer, 1024 + HEADER_BYTES, FILE_BYTES).set(file);
    return { line, control, memory };
  }
  const TURN = [1, 100, 0, 0, 1, 0];
  const STAYS = [0, 100, 0, 0, 0, 0];
  const filled = (offset: number): LoaderToEngine => ({
    type: 'filled',
    offset,
    length: 100,
    rows: false,
    packed: false,
  });

  it.each([
    ['rereadable', [...STAYS, ...TURN], LAYOUT],
    ['rereadable', STAYS, 0],
    ['sequential', [...STAYS, ...TURN], 0],
  ] as const)('are of a layout where weights are read again (%s, %s)', (access, slots, layout) => {
    const { line } = read(access, [...slots]);
    const layouts = line.heard.map((message) => (message.type === 'want' ? message.layout : null));
    expect(layouts).toEqual([0, layout]);
  });

  it('go to a loader that keeps them, as copies, as far as it takes them', () => {
    const { line, control, memory } = read('rereadable', TURN);
    line.heard.length = 0;
    control.packed = [20, 2000, 30];
    line.say(filled(16));
    expect(line.heard).toEqual([]);
    line.say({ type: 'keepsPacked', keeps: true });
    expect(control.keepsPacked).toBe(true);
    control.packed = [20, 2000, 30, 116, 3000, 50];
    line.say(filled(116));
    const heap = new Uint8Array(memory.buffer);
    expect(line.heard).toEqual([
      { type: 'packed', offset: 20, bytes: heap.slice(2000, 2030) },
      { type: 'packed', offset: 116, bytes: heap.slice(3000, 3050) },
    ]);
    for (const message of line.heard)
      if (message.type === 'packed') expect(message.bytes.buffer).toBeInstanceOf(ArrayBuffer);
    line.say({ type: 'keepsPacked', keeps: false });
    expect(control.keepsPacked).toBe(false);
    control.packed = [20, 2000, 30];
    line.say(filled(216));
    expect(line.heard).toHaveLength(2);
  });

  it('are left out while too many are under way', () => {
    const { line, control } = read('rereadable', TURN);
    line.say({ type: 'keepsPacked', keeps: true });
    line.heard.length = 0;
    const most = 200_000;
    const n = Math.floor(PACKED_BYTES / most);
    for (let i = 0; i < n + 5; ++i) {
      control.packed = [i, 0, most];
      line.say(filled(16 + 100 * i));
    }
    expect(line.heard).toHaveLength(n);
    line.say({ type: 'tookPacked', length: most });
    for (const i of [n + 5, n + 6]) {
      control.packed = [i, 0, most];
      line.say(filled(16 + 100 * i));
    }
    expect(line.heard.slice(n)).toMatchObject([{ type: 'packed', offset: n + 5 }]);
  });

  it.each([true, false])('that come back are told of as packed (shared memory: %s)', (shared) => {
    const line = new Line();
    const feed = new Feed(line);
    line.say({ ...OPENED, access: 'rereadable' } as LoaderToEngine);
    const control = makeControl();
    const { module, memory } = fakeModule(control, shared);
    feed.drive(new module.Engine(), memory, shared, LAYOUT);
    const file = makeFile();
    const give = (offset: number, length: number, packed: boolean): void => {
      const bytes = file.slice(offset, offset + length);
      if (!shared) return line.say({ type: 'bytes', offset, bytes, rows: false, packed });
      const ptr = 1024 + (offset === 0 ? 0 : HEADER_BYTES + offset);
      new Uint8Array(memory.buffer, ptr, length).set(bytes);
      line.say({ type: 'filled', offset, length, rows: false, packed });
    };
    give(0, HEADER_BYTES, false);
    give(HEADER_BYTES, 100, true);
    give(HEADER_BYTES + 100, 50, false);
    expect(control.tookPacked).toEqual([[HEADER_BYTES, 100]]);
    expect(control.taken).toEqual([...file.slice(0, HEADER_BYTES + 150)]);
  });

  it('that the engine refuses are of no use any more', () => {
    const { line, control } = read('rereadable', TURN);
    control.refusesPacked = true;
    line.heard.length = 0;
    line.say({ ...filled(16), packed: true } as LoaderToEngine);
    expect(line.heard).toEqual([{ type: 'packedRefused' }, { type: 'stop', refused: 'no' }]);
  });
});
