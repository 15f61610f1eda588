// What an engine wants, through a whole loader: in which order it comes, again and again, before and after a sha256 is proven,
// and when the source fails or the load ends.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Range } from '../src/shared/outstanding.js';
import type * as Hashes from '../src/loader/store/hashes.js';
import type { FakeOpfs } from './fake-opfs.js';
import { type FakeServer, outcome } from './fake-server.js';
import { useLoaderFakes } from './loader-fakes.js';
import {
  HEADER,
  TENSOR,
  TENSORS,
  TURNS,
  WHOLE,
  ended,
  randomFrom,
  run,
  tensor,
  type Steps,
} from './steps.js';
import { sha256Hex } from './store-setup.js';

vi.mock('../src/loader/store/hashes.js', async (original) =>
  (await import('./quick-hashes.js')).quickHashes(await original<typeof Hashes>()),
);

const fakes = useLoaderFakes(WHOLE, 1 << 18);
let opfs: FakeOpfs;
let server: FakeServer;
beforeEach(() => ({ opfs, server } = fakes));
const { expectReleased } = fakes;

describe.each([true, false])('what is wanted (shared memory: %s)', (shared) => {
  it.each(['opfs', 'none'] as const)(
    'in reverse order of the file is asked of the server so (cache: %s)',
    async (cache) => {
      const engine = await ended([{ weights: TENSORS.toReversed() }], { shared, cache });
      expect(engine.error).toBeNull();
      expect(engine.wrong).toBe(0);
      expect(engine.over).toBe(true);
      // The first request is for the header.
      const asked = server.asked.slice(1).map((range) => range?.[0] ?? 0);
      expect(asked[0]).toBeGreaterThan(0.75 * WHOLE.length);
      expect(asked).toEqual(asked.toSorted((a, b) => b - a));
      expect(server.sent).toBe(WHOLE.length);
      expectReleased();
    },
  );

  it.each(['opfs', 'none'] as const)('rows come first, and few bytes twice (%s)', async (cache) => {
    const rows = Array.from({ length: 20 }, (_, i) => ({
      from: HEADER + 35 * TENSOR + i * 5000,
      to: HEADER + 35 * TENSOR + i * 5000 + 1000,
    }));
    const engine = await ended([{ rows, weights: TENSORS }], { shared, cache });
    expect(engine.error).toBeNull();
    expect(engine.wrong).toBe(0);
    expect(engine.over).toBe(true);
    expect(server.sent - WHOLE.length).toBeGreaterThan(0);
    expect(server.sent - WHOLE.length).toBeLessThanOrEqual(0.01 * WHOLE.length);
    const last = engine.came.findLastIndex((one) => one.rows);
    const before = engine.came.slice(0, last).filter((one) => !one.rows);
    expect(before.reduce((sum, { from, to }) => sum + to - from, 0)).toBeLessThan(
      0.5 * WHOLE.length,
    );
    expectReleased();
  });

  it('again and again, while the file is downloaded and from what is kept', async () => {
    for (const visit of [1, 2]) {
      const engine = await ended(TURNS, { shared });
      expect(engine.error).toBeNull();
      expect(engine.wrong).toBe(0);
      expect(engine.over, `visit ${visit}`).toBe(true);
      expect(server.sent).toBeLessThanOrEqual(1.01 * WHOLE.length);
      expectReleased();
    }
  });

  it('comes right from a disk that fails now and then', async () => {
    await ended([{ weights: TENSORS }], { shared });
    const data = opfs.only('.gguf').bytes;
    for (const at of [5, 20 * TENSOR, 39 * TENSOR]) data[at] = (data[at] ?? 0) ^ 1;
    const before = server.sent;
    const engine = await ended(TURNS, { shared });
    expect(engine.error).toBeNull();
    expect(engine.wrong).toBe(0);
    expect(engine.over).toBe(true);
    // A block for each, and rows of the first one.
    expect(server.sent - before).toBeGreaterThanOrEqual(3 << 20);
    expect(server.sent - before).toBeLessThanOrEqual((3 << 20) + 10_000);
    expectReleased();
  });

  it.each(Array.from({ length: 12 }, (_, i) => i + 1))(
    'leaves nothing open if the load is aborted: seed %i',
    async (seed) => {
      const random = randomFrom(seed);
      const { engine, work } = run(TURNS, {
        shared,
        cache: random() < 0.7 ? 'opfs' : 'none',
        ...(random() < 0.3 ? { sha256: sha256Hex(WHOLE) } : {}),
      });
      let left = Math.floor(random() * 150);
      engine.onnews = () => {
        if (left-- === 0) queueMicrotask(() => engine.send({ type: 'stop', refused: 'no' }));
      };
      await outcome(work);
      for (let i = 0; i < 10; ++i) await vi.advanceTimersByTimeAsync(10);
      expect(engine.wrong).toBe(0);
      expect(engine.error).toBeNull();
      expectReleased();
    },
  );
});

describe.each([true, false])('a file of the user (shared memory: %s)', (shared) => {
  /** A Blob whose readings go through `read`. */
  function blobOf(read: (bytes: Uint8Array<ArrayBuffer>, n: number) => Promise<Uint8Array>): Blob {
    let n = 0;
    const stream = (from: number, to: number): ReadableStream => {
      let at = from;
      const pull = async (controller: ReadableByteStreamController): Promise<void> => {
        const bytes = await read(WHOLE.slice(at, Math.min(at + 200_000, to)), n++);
        at += bytes.length;
        if (bytes.length > 0) return controller.enqueue(Uint8Array.from(bytes));
        controller.close();
        controller.byobRequest?.respond(0);
      };
      return new ReadableStream({ type: 'bytes', pull });
    };
    const slice = (from: number, to: number): object => ({
      stream: () => stream(from, to),
      arrayBuffer: async () => Uint8Array.from(await read(WHOLE.slice(from, to), n++)).buffer,
    });
    return { size: WHOLE.length, slice } as unknown as Blob;
  }
  const served = (blob: Blob): Promise<Steps> =>
    ended(TURNS, { shared }, { kind: 'blobs', blobs: [blob] });

  it('is right if it is read late and in another order', async () => {
    const random = randomFrom(7);
    const engine = await served(
      blobOf(async (bytes) => {
        await new Promise((resolve) => setTimeout(resolve, random() * 50));
        return bytes;
      }),
    );
    expect(engine.error).toBeNull();
    expect(engine.wrong).toBe(0);
    expect(engine.over).toBe(true);
  });

  it.each([
    ['short', async (bytes: Uint8Array) => bytes.slice(0, 0)],
    ['failing', () => Promise.reject(new DOMException('gone', 'NotReadableError'))],
  ])('that changes while it is served is bad_file (%s)', async (_, fault) => {
    const engine = await served(blobOf(async (bytes, n) => (n < 40 ? bytes : fault(bytes))));
    expect(engine.wrong).toBe(0);
    expect(engine.over).toBe(false);
    expect(engine.error).toMatchObject({ code: 'bad_file' });
    expect(engine.error?.message).toContain('choose it again');
  });
});

describe.each([true, false])('a table that is never wanted whole (shared memory: %s)', (shared) => {
  /** All that stays, then a row for each token; the table is the first half of the file. */
  const STEPS = [
    { weights: TENSORS.slice(20) },
    ...Array.from({ length: 60 }, (_, i) => {
      const from = HEADER + ((i * 7919 * 37) % (20 * TENSOR - 700));
      return { rows: [{ from, to: from + 700 }] };
    }),
  ];
  const expectRight = (engine: Steps): void => {
    expect(engine.error).toBeNull();
    expect(engine.wrong).toBe(0);
    expect(engine.over).toBe(true);
    expect(engine.came.filter(({ rows }) => rows)).toHaveLength(60);
  };

  it('comes row by row while it is downloaded, and from what is kept', async () => {
    for (const visit of [1, 2]) {
      expectRight(await ended(STEPS, { shared }));
      expect(server.sent, `visit ${visit}`).toBeLessThanOrEqual(1.01 * WHOLE.length);
      expectReleased();
    }
  });

  it('comes row by row from a file of the user', async () => {
    expectRight(await ended(STEPS, { shared }, { kind: 'blobs', blobs: [new Blob([WHOLE])] }));
    expect(server.sent).toBe(0);
  });
});

describe('when the room ends', () => {
  it('what is wanted and was not kept is storage_full', async () => {
    const { engine, work } = run(TURNS);
    // Room for the file is made at once; then a writing fails.
    engine.onnews = ({ type }) => {
      if (type === 'opened') opfs.failWrites = true;
    };
    await outcome(work);
    expect(engine.wrong).toBe(0);
    expect(engine.error).toMatchObject({ code: 'storage_full' });
    expect(engine.error?.message).toContain('free space on the disk');
    expect(server.sent, 'bytes sent').toBeLessThanOrEqual(1.05 * WHOLE.length);
    expectReleased();
  });
});

describe('a sha256 that is known', () => {
  it.each(['opfs', 'none'] as const)(
    'keeps rows back where they may be all that a pass lacks (%s)',
    async (cache) => {
      const { from } = tensor(39);
      const step = { weights: [tensor(39)], rows: [{ from: from + 1000, to: from + 2000 }] };
      const wrong = await ended([step], { cache, sha256: 'a'.repeat(64) });
      expect(wrong.error).toMatchObject({ code: 'download_corrupt' });
      expect(wrong.came.filter(({ rows }) => rows)).toEqual([]);
      const right = await ended([step], { cache, sha256: sha256Hex(WHOLE) });
      expect(right.over).toBe(true);
      expect(right.wrong).toBe(0);
      expectReleased();
    },
  );

  /** The table is most of the model, in pieces; the layers are three tensors before it in the order of execution. */
  const layers = [tensor(37), tensor(38), tensor(39)];
  const orders: [string, Range[]][] = [
    ['in the order of the file', TENSORS],
    ['in reverse', TENSORS.toReversed()],
    ['with a table that is most of it', [...layers, ...TENSORS.slice(0, 37)]],
    ['with one tensor', [{ from: HEADER, to: WHOLE.length }]],
  ];
  it.each(orders)('keeps a part of the layers back until it is proven, %s', async (name, order) => {
    for (const cache of ['opfs', 'none'] as const) {
      const needed = name.includes('table') ? layers : order;
      const lacking = (engine: Steps): number =>
        needed.reduce((sum, { from, to }) => {
          const parts = engine.came.filter((one) => one.from < to && one.to > from);
          const got = parts.reduce((s, p) => s + Math.min(to, p.to) - Math.max(from, p.from), 0);
          return sum + to - from - got;
        }, 0);
      const wrong = await ended([{ weights: order }], { cache, sha256: 'a'.repeat(64) });
      expect(wrong.error).toMatchObject({ code: 'download_corrupt' });
      expect(lacking(wrong)).toBeGreaterThan(0);
      const right = await ended([{ weights: order }], { cache, sha256: sha256Hex(WHOLE) });
      expect(right.error).toBeNull();
      expect(right.over).toBe(true);
      expect(right.wrong).toBe(0);
      opfs.files.clear();
      expectReleased();
    }
  });
});
