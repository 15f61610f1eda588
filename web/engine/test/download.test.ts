// Whole loads through the cache: what is fetched, what is kept, what comes out.
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ErrorData } from '../src/shared/errors.js';
import { runLoader } from '../src/loader/loader.js';
import type { Note } from '../src/shared/notes.js';
import type { FeedPort } from '../src/loader/outlet.js';
import type { LoaderNews } from '../src/shared/calls.js';
import type { EngineToLoader, LoaderToEngine, RemoteSource } from '../src/shared/protocol.js';
import type * as Hashes from '../src/loader/store/hashes.js';
import type { FakeOpfs } from './fake-opfs.js';
import { FakeServer, outcome } from './fake-server.js';
import { useLoaderFakes } from './loader-fakes.js';
import { bytesOf, same } from './store-setup.js';

const MODEL = 'https://models.example/m.gguf';
const BLOCK = 256 << 10;
const HEADER = 300_000;

function modelOf(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = bytesOf(length, seed);
  bytes.set(new TextEncoder().encode('GGUF'));
  return bytes;
}
const WHOLE = modelOf(10 * BLOCK + 1000);
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

vi.mock('../src/loader/store/hashes.js', async (original) =>
  (await import('./quick-hashes.js')).quickHashes(await original<typeof Hashes>()),
);

const fakes = useLoaderFakes(WHOLE);
let opfs: FakeOpfs;
let server: FakeServer;
beforeEach(() => ({ opfs, server } = fakes));
const { expectReleased } = fakes;

/** An engine without wasm: asks for the header little by little, then for all, and keeps what comes. */
class Taker implements FeedPort {
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null = null;
  readonly bytes: Uint8Array;
  readonly messages: LoaderToEngine[] = [];
  readonly #memory: WebAssembly.Memory | null;
  readonly #here = new Set<number>();
  #header = 0;
  #proven = true;
  taken = 0;

  /** `header`: bytes of the header. */
  constructor(
    readonly total: number,
    shared: boolean,
    readonly header = HEADER,
  ) {
    const pages = Math.ceil(total / 65536);
    this.#memory = shared
      ? new WebAssembly.Memory({ initial: pages, maximum: pages, shared })
      : null;
    this.bytes =
      this.#memory === null ? new Uint8Array(total) : new Uint8Array(this.#memory.buffer, 0, total);
  }

  send(data: EngineToLoader): void {
    this.onmessage?.({ data } as MessageEvent<EngineToLoader>);
  }

  #want(): void {
    const once = this.#header < this.header;
    const end = once ? Math.min(this.#header + 100_000, this.header) : this.total;
    const wants = Float64Array.of(this.#header, this.#header, end - this.#header);
    this.send({
      type: 'want',
      memory: this.#memory,
      wants,
      bases: [0],
      once,
      rows: false,
      layout: 0,
    });
  }

  postMessage(message: LoaderToEngine): void {
    this.messages.push(message);
    if (message.type === 'opened') {
      this.#proven = !message.unproven;
      this.#want();
      if (this.#memory === null) this.send({ type: 'sendMore', length: 4 << 20 });
    }
    if (message.type === 'proven') {
      this.#proven = true;
      this.#settle();
    }
    if (message.type === 'ended' && this.taken < this.total)
      queueMicrotask(() => this.send({ type: 'stop', refused: 'useless' }));
    if (message.type !== 'bytes' && message.type !== 'filled') return;
    const { offset } = message;
    const length = message.type === 'bytes' ? message.bytes.length : message.length;
    if (message.type === 'bytes') {
      this.bytes.set(message.bytes.subarray(0, this.total - offset), offset);
      // As the engine does, in messages of its own.
      queueMicrotask(() => this.send({ type: 'sendMore', length }));
    }
    if (this.#here.has(offset)) throw new Error(`the bytes at ${offset} came twice`);
    this.#here.add(offset);
    this.taken += Math.min(length, this.total - offset);
    if (this.#header < this.header) {
      this.#header += length;
      this.#want();
    }
    this.#settle();
  }

  #settle(): void {
    if (this.usable) this.send({ type: 'enough' });
  }

  /** It has all, and may compute. */
  get usable(): boolean {
    return this.taken >= this.total && this.#proven;
  }

  get error(): ErrorData | undefined {
    const failed = this.messages.find(({ type }) => type === 'failed');
    return failed?.type === 'failed' ? failed.error : undefined;
  }
}

interface Loaded {
  taker: Taker;
  told: LoaderNews[];
  notes: Note[];
  /** All bytes are there and right. */
  right: boolean;
}

type How = Partial<RemoteSource> & {
  shared?: boolean;
  probe?: boolean;
  header?: number;
  retryTimeout?: number;
};

function begin(how: How = {}): { taker: Taker; work: Promise<Loaded> } {
  const { shared = false, probe = false, header, retryTimeout = 60_000, ...more } = how;
  const source: RemoteSource = {
    kind: 'url',
    addresses: [MODEL],
    headers: [],
    hub: 'https://hub.example',
    sha256: [],
    cache: 'opfs',
    asked: false,
    refresh: false,
    fetch: null,
    ...more,
  };
  const { bytes } = server;
  const taker = new Taker(bytes.length, shared, header);
  const told: LoaderNews[] = [];
  const patiences = { stallTimeout: 30_000, retryTimeout };
  const work = runLoader({ source, patiences, probe }, taker, (news) =>
    told.push(structuredClone(news)),
  ).then(() => ({
    taker,
    told,
    notes: told.flatMap((news) => (news.kind === 'course' ? news.notes : [])),
    right: taker.taken === bytes.length && same(taker.bytes, bytes),
  }));
  return { taker, work };
}

/** Lets locks be released, and notes be written. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; ++i) await vi.advanceTimersByTimeAsync(10);
}

async function until(there: () => boolean): Promise<void> {
  await outcome(
    (async () => {
      while (!there()) await new Promise((resolve) => setTimeout(resolve, 1));
    })(),
  );
}

async function load(how: How = {}): Promise<Loaded> {
  const loaded = await outcome(begin(how).work);
  await settled();
  return loaded;
}

/** A load whose process is killed when it has written so many bytes. */
async function killedAt(bytes: number, how: How = {}): Promise<void> {
  opfs.killAfter(bytes);
  await outcome(begin(how).work);
  opfs.restart();
}

/** Flips a bit on the disk. */
function damage(block: number): void {
  const { bytes } = opfs.only('.gguf');
  bytes[block * BLOCK + 5] = (bytes[block * BLOCK + 5] ?? 0) ^ 1;
}

const requests = (): number => server.calls.length;

describe.each([false, true])('with shared memory: %s', (shared) => {
  it('the first visit keeps what it brings; the second fetches nothing', async () => {
    const first = await load({ shared });
    expect(first.right).toBe(true);
    expect(first.taker.error).toBeUndefined();
    expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
    expect(server.sent).toBe(WHOLE.length);
    expect(first.told.findLast(({ kind }) => kind === 'course')).toMatchObject({
      fromNetwork: WHOLE.length,
      fromCache: 0,
      kept: WHOLE.length,
      arrived: true,
    });
    const course = first.told.filter((news) => news.kind === 'course');
    expect(course[0]).toMatchObject({ kept: 0, arrived: false });
    expect(opfs.read_bytes, 'bytes read back').toBeLessThan(BLOCK);
    expect(first.told.filter(({ kind }) => kind === 'keeping').length).toBe(1);
    expectReleased();
    const before = requests();
    vi.stubGlobal('fetch', () => Promise.reject(new Error('there is no network')));
    const second = await load({ shared });
    expect(second.right).toBe(true);
    expect(requests()).toBe(before);
    expect(second.told.findLast(({ kind }) => kind === 'course')).toMatchObject({
      fromNetwork: 0,
      fromCache: WHOLE.length,
    });
    expectReleased();
  });

  it('goes on after a kill at any point, and fetches what is missing', async () => {
    for (const share of [0, 0.001, 0.1, 0.37, 0.62, 0.9, 0.999]) {
      opfs.files.clear();
      await killedAt(Math.floor(share * WHOLE.length), { shared });
      const kept = Math.max(0, Math.floor(share * WHOLE.length) - BLOCK);
      server.sent = 0;
      const again = await load({ shared });
      expect(again.right, String(share)).toBe(true);
      expect(server.sent, String(share)).toBeLessThanOrEqual(WHOLE.length - kept + BLOCK);
      expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
      expectReleased();
    }
  });

  it.each([0, 1, 5, 10])('fetches a damaged block alone: block %i', async (block) => {
    await load({ shared });
    damage(block);
    const before = requests();
    expect((await load({ shared })).right).toBe(true);
    const to = Math.min((block + 1) * BLOCK, WHOLE.length);
    expect(server.asked.slice(before)).toEqual([[block * BLOCK, to]]);
    expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
    const after = requests();
    expect((await load({ shared })).right).toBe(true);
    expect(requests()).toBe(after);
    expectReleased();
  });

  it.each([true, false])('compares a sha256 that is known (ranges: %s)', async (ranges) => {
    server.ranges = ranges;
    const sha256 = [sha256Of(WHOLE)];
    expect((await load({ shared, sha256 })).right).toBe(true);
    server.calls.length = 0;
    expect((await load({ shared, sha256 })).right).toBe(true);
    // Without the cache, too.
    expect((await load({ shared, sha256, cache: 'none' })).right).toBe(true);
    expectReleased();
  });

  it.each(['opfs', 'none'] as const)(
    'a wrong sha256 is told before the engine has all, and nothing stays (%s)',
    async (cache) => {
      const { taker } = await load({ shared, cache, sha256: ['0'.repeat(64)] });
      expect(taker.error?.code).toBe('download_corrupt');
      expect(taker.taken).toBeLessThan(WHOLE.length);
      expect(opfs.files.size).toBe(0);
      expectReleased();
    },
  );

  it('a wrong sha256 does not cost a file that was compared before', async () => {
    await load({ shared, sha256: [sha256Of(WHOLE)] });
    const before = requests();
    const wrong = await load({ shared, sha256: ['1'.repeat(64)] });
    expect(wrong.taker.error?.code).toBe('download_corrupt');
    expect(wrong.taker.error?.message).toContain('It stays');
    expect((await load({ shared, sha256: [sha256Of(WHOLE)] })).right).toBe(true);
    expect(requests()).toBe(before);
    expectReleased();
  });

  it('a sha256 that is given later is computed from the cache', async () => {
    await load({ shared });
    const before = requests();
    expect((await load({ shared, sha256: [sha256Of(WHOLE)] })).right).toBe(true);
    expect(requests()).toBe(before);
    expectReleased();
  });

  it('a wrong sha256 drops what was never compared', async () => {
    await load({ shared });
    const before = requests();
    const wrong = await load({ shared, sha256: ['1'.repeat(64)] });
    expect(wrong.taker.error?.code).toBe('download_corrupt');
    expect(wrong.taker.taken).toBeLessThan(WHOLE.length);
    expect(requests()).toBe(before);
    expect(opfs.files.size).toBe(0);
    expectReleased();
  });
});

describe('a small model, which the engine takes with its header', () => {
  it.each([
    ['opfs', false],
    ['opfs', true],
    ['none', false],
    ['none', true],
  ] as const)(
    'can not be used before its sha256 is compared (%s, no length: %s)',
    async (cache, unknown) => {
      if (unknown) {
        server.ranges = false;
        server.plan = () => ({ headers: { 'content-length': null } });
      }
      const header = WHOLE.length;
      const wrong = await load({ cache, header, sha256: ['b'.repeat(64)] });
      expect(wrong.taker.error?.code).toBe('download_corrupt');
      expect(wrong.taker.taken).toBe(WHOLE.length);
      expect(wrong.taker.usable).toBe(false);
      expect(opfs.files.size).toBe(0);
      const right = await load({ cache, header, sha256: [sha256Of(WHOLE)] });
      expect(right.taker.error).toBeUndefined();
      expect(right.right).toBe(true);
      expectReleased();
    },
  );
});

it.each([0, 5, 10])('a damaged block is not replaced by another one: block %i', async (block) => {
  const sha256 = [sha256Of(WHOLE)];
  // Nothing tells that the file there has changed.
  server.etag = '';
  await load({ sha256 });
  damage(block);
  server.bytes = WHOLE.slice();
  server.bytes.fill(7, block * BLOCK + 900, block * BLOCK + 910);
  const { taker } = await load({ sha256 });
  expect(taker.error?.code).toBe('download_corrupt');
  expect(taker.usable).toBe(false);
  expect(opfs.files.size).toBe(0);
  expectReleased();
});

it('a download that ends too soon is not taken for proven', async () => {
  server.ranges = false;
  const cut = WHOLE.length - 1000;
  server.plan = () => ({ headers: { 'content-length': null }, cut });
  for (const cache of ['opfs', 'none'] as const) {
    const { taker } = await load({ cache, sha256: [sha256Of(WHOLE)] });
    expect(taker.messages.at(-1)?.type).toBe('ended');
    expect(taker.messages.map(({ type }) => type)).not.toContain('proven');
    expect(taker.taken, 'without what is held back').toBeLessThan(cut);
  }
  expectReleased();
});

describe('a header that is longer than the first part', () => {
  it('is read to its end', async () => {
    server = new FakeServer(modelOf(18 << 20)).install();
    server.piece = 1 << 20;
    for (const cache of ['opfs', 'none'] as const) {
      const { right, taker } = await load({ cache, header: 17 << 20 });
      expect(taker.error).toBeUndefined();
      expect(right).toBe(true);
    }
    expectReleased();
  });
});

describe('several connections', () => {
  it('bring a large file, no byte twice', async () => {
    server = new FakeServer(modelOf(40 << 20)).install();
    server.piece = 1 << 20;
    const { right } = await load();
    expect(right).toBe(true);
    expect(server.sent).toBe(40 << 20);
    expect(requests()).toBeLessThan(12);
    expectReleased();
  });

  it('where the server sends parts no more: an error, or the right bytes', async () => {
    server = new FakeServer(modelOf(40 << 20)).install();
    server.piece = 1 << 20;
    server.plan = ({ range }, n) =>
      n > 0 && range !== null ? { headers: { 'content-encoding': 'gzip' } } : {};
    const { right, taker } = await load();
    expect(right || taker.error !== undefined).toBe(true);
    if (opfs.files.size > 0) {
      server.plan = () => {};
      expect((await load()).right).toBe(true);
    }
    expectReleased();
  });
});

describe('a server without ranges', () => {
  it('is read again and skipped after a kill', async () => {
    server.ranges = false;
    await killedAt(6 * BLOCK);
    const again = await load();
    expect(again.right).toBe(true);
    expect(again.told.findLast(({ kind }) => kind === 'course')).toMatchObject({
      fromCache: expect.any(Number) as number,
    });
    expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
    expectReleased();
  });

  it.each(['opfs', 'none'] as const)(
    'that names too many bytes once: all are taken, and the file is not kept (%s)',
    async (cache) => {
      server.ranges = false;
      server.foreign = true;
      const length = { 'content-length': String(WHOLE.length + 3000) };
      server.plan = (_, n) => (n === 0 ? { headers: length, cut: 9 * BLOCK } : {});
      const { taker, notes } = await load({ cache });
      expect(taker.error).toBeUndefined();
      expect(same(taker.bytes.subarray(0, WHOLE.length), WHOLE)).toBe(true);
      expect(opfs.files.size).toBe(0);
      const told = { code: 'model_not_kept', facts: { reason: 'size' } };
      expect(notes).toMatchObject(cache === 'opfs' ? [told] : []);
      expectReleased();
    },
  );

  it('and without a length: kept at its end, and not if it ended too soon', async () => {
    server.ranges = false;
    server.plan = () => ({ headers: { 'content-length': null }, cut: 5 * BLOCK });
    const short = await load();
    expect(short.right).toBe(false);
    expect(short.taker.messages.at(-1)).toEqual({ type: 'ended', file: 0, received: 5 * BLOCK });
    expect(opfs.files.size).toBe(0);
    server.plan = () => ({ headers: { 'content-length': null } });
    expect((await load()).right).toBe(true);
    const before = requests();
    expect((await load()).right).toBe(true);
    expect(requests()).toBe(before);
    expectReleased();
  });
});

describe('a file that has changed', () => {
  it('before anything was given out: it begins anew', async () => {
    await killedAt(4 * BLOCK);
    server = new FakeServer(modelOf(9 * BLOCK, 7)).install();
    server.etag = '"two"';
    expect((await load()).right).toBe(true);
    expect(same(opfs.only('.gguf').bytes, server.bytes)).toBe(true);
    expectReleased();
  });

  it('in the middle: an error, and nothing stays', async () => {
    server.plan = (_call, n) => {
      if (n > 0) server.etag = '"two"';
      return n === 0 ? { cut: 4 * BLOCK, after: new Error('cut') } : {};
    };
    server.plan = (_call, n) =>
      n === 0 ? { cut: 4 * BLOCK, after: new Error('cut') } : { headers: { etag: '"two"' } };
    const { taker } = await load();
    expect(taker.error).toMatchObject({ code: 'download_failed' });
    expect(taker.error?.message).toMatch(/has changed while it was downloaded/);
    expect(opfs.files.size).toBe(0);
    expectReleased();
  });

  it('is asked about with refresh', async () => {
    await load();
    const before = requests();
    expect((await load({ refresh: true })).right).toBe(true);
    expect(server.asked.slice(before)).toEqual([[0, BLOCK]]);
    server = new FakeServer(modelOf(WHOLE.length, 9)).install();
    server.etag = '"two"';
    expect((await load()).taker.taken).toBe(WHOLE.length);
    expect(requests()).toBe(0);
    expect((await load({ refresh: true })).right).toBe(true);
    expect(same(opfs.only('.gguf').bytes, server.bytes)).toBe(true);
    expectReleased();
  });
});

describe('too little room', () => {
  it.each([true, false])('is a note, with a sha256 as without (known: %s)', async (known) => {
    opfs.quota = 1 << 20;
    const { right, notes } = await load({ sha256: known ? [sha256Of(WHOLE)] : [] });
    expect(right).toBe(true);
    expect(notes).toMatchObject([
      {
        code: 'model_not_kept',
        message: expect.stringMatching(/isn't kept on this device: the cache needs/) as string,
        facts: { reason: 'storage_full', availableBytes: 1 << 20 },
      },
    ]);
    expect(opfs.files.size).toBe(0);
    expectReleased();
  });

  it('is storage_full if the cache was asked for', async () => {
    opfs.quota = 1 << 20;
    const { taker } = await load({ asked: true });
    expect(taker.error?.code).toBe('storage_full');
    expectReleased();
  });

  it('in the middle of the file: the load goes on', async () => {
    opfs.diskLeft = WHOLE.length + 40_000;
    const { right } = await load();
    expect(right).toBe(true);
    expectReleased();
  });
});

describe('without a place to keep files', () => {
  it('the model is loaded, and a note says why it is not kept', async () => {
    vi.stubGlobal('navigator', {});
    const { right, notes } = await load({ sha256: [sha256Of(WHOLE)] });
    expect(right).toBe(true);
    expect(notes).toMatchObject([
      {
        code: 'model_not_kept',
        message: expect.stringMatching(
          /isn't kept on this device: this browser has no private file/,
        ) as string,
        facts: { reason: 'unsupported' },
      },
    ]);
  });
});

describe('blocks that are larger than what is sent at once', () => {
  it.each([false, true])('are read whole at first (shared memory: %s)', async (shared) => {
    server = new FakeServer(modelOf(65 << 20)).install();
    server.piece = 1 << 20;
    expect((await load({ shared })).right).toBe(true);
    expect(server.sent).toBe(server.bytes.length);
    const before = requests();
    expect((await load({ shared })).right).toBe(true);
    expect(requests()).toBe(before);
    expectReleased();
  });
});

describe('a stream of bytes', () => {
  /** Answers as the server does, with streams of bytes. Calls `own` for each reading without a buffer of the loader's. */
  function answerBytes(own: () => void): void {
    vi.stubGlobal('fetch', async (...asked: Parameters<FakeServer['fetch']>) => {
      const answer = await server.fetch(...asked);
      const reader = answer.body?.getReader();
      const pull = async (controller: ReadableByteStreamController): Promise<void> => {
        const { value } = (await reader?.read()) ?? {};
        const view = controller.byobRequest?.view;
        if (view === undefined || view === null) own();
        if (value === undefined) {
          controller.close();
          controller.byobRequest?.respond(0);
        } else if (view === undefined || view === null) {
          controller.enqueue(value);
        } else {
          new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(value);
          controller.byobRequest?.respond(value.length);
        }
      };
      return new Response(new ReadableStream({ type: 'bytes', pull }), answer);
    });
  }

  it.each([true, false])('is read into one buffer from the first byte on (%s)', async (shared) => {
    server.piece = 1 << 20;
    let own = 0;
    answerBytes(() => ++own);
    for (const header of [HEADER, 2 * BLOCK + 5]) {
      const { right, taker } = await load({ shared, header });
      expect(taker.error).toBeUndefined();
      expect(right).toBe(true);
      expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
      opfs.files.clear();
    }
    expect(own).toBe(0);
    expectReleased();
  });
});

describe('what is no model', () => {
  it('leaves nothing behind', async () => {
    server.plan = () => ({ cut: 3 * BLOCK, after: 'hang' });
    const { taker, work } = begin();
    await until(() => taker.taken >= HEADER);
    expect(opfs.files.size).toBe(2);
    taker.send({ type: 'stop', refused: 'useless' });
    await outcome(work);
    await settled();
    expect(opfs.files.size).toBe(0);
    expectReleased();
  });

  it('leaves what an earlier load has brought, if it only does not fit', async () => {
    for (const earlier of [false, true]) {
      server.plan = () => ({ cut: 3 * BLOCK, after: 'hang' });
      if (earlier) {
        const { taker, work } = begin();
        await until(() => taker.taken >= 2 * BLOCK);
        taker.send({ type: 'stop', refused: 'no' });
        await outcome(work);
        await settled();
        expect(opfs.files.size).toBe(2);
      }
      const { taker, work } = begin();
      await until(() => taker.taken >= HEADER);
      taker.send({ type: 'stop', refused: 'unfit' });
      await outcome(work);
      await settled();
      expect(opfs.files.size).toBe(earlier ? 2 : 0);
      opfs.files.clear();
    }
    expectReleased();
  });

  it('is a server that does not answer: no empty entry stays', async () => {
    server.plan = () => ({ status: 404 });
    const { taker } = await load();
    expect(taker.error).toMatchObject({ code: 'download_failed', status: 404 });
    expect(opfs.files.size).toBe(0);
    expectReleased();
  });
});

describe('two tabs', () => {
  it('one downloads, the other follows: no byte is fetched twice', async () => {
    const tabs = [begin(), begin({ shared: true })];
    const loaded = await outcome(Promise.all(tabs.map(({ work }) => work)));
    await settled();
    expect(loaded.map(({ right }) => right)).toEqual([true, true]);
    expect(server.sent).toBe(WHOLE.length);
    expectReleased();
  });

  it('when the one that downloads is closed, the other goes on', async () => {
    for (const blocks of [0, 3]) {
      opfs.files.clear();
      server.sent = 0;
      let first = true;
      server.plan = () => {
        const odd = first ? { cut: blocks * BLOCK, after: 'hang' as const } : {};
        first = false;
        return odd;
      };
      const writer = begin();
      await vi.advanceTimersByTimeAsync(100);
      const follower = begin();
      await vi.advanceTimersByTimeAsync(2000);
      writer.taker.send({ type: 'stop', refused: 'no' });
      await outcome(writer.work);
      const { right, taker } = await outcome(follower.work);
      await settled();
      expect(taker.error).toBeUndefined();
      expect(right).toBe(true);
      expect(server.sent).toBeLessThanOrEqual(WHOLE.length + BLOCK);
      expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
      expectReleased();
    }
  });

  it('a follower is closed at once', async () => {
    server.plan = () => ({ cut: 2 * BLOCK, after: 'hang' });
    const writer = begin();
    await vi.advanceTimersByTimeAsync(100);
    const follower = begin();
    await vi.advanceTimersByTimeAsync(2000);
    follower.taker.send({ type: 'stop', refused: 'no' });
    await settled();
    expect(await Promise.race([follower.work, 'late'])).not.toBe('late');
    writer.taker.send({ type: 'stop', refused: 'no' });
    await outcome(writer.work);
    await settled();
    expectReleased();
  });
});
