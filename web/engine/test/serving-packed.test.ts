// Weights that are read again and again, with a packed copy beside the file: what comes from which, and that what comes is
// right, whatever is missing in the copy or wrong with it.
import { takeLock } from '../src/platform/here.js';
import { PACK_LOCK } from '../src/platform/platform.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Range } from '../src/shared/outstanding.js';
import type * as Hashes from '../src/loader/store/hashes.js';
import type { FakeOpfs } from './fake-opfs.js';
import { type FakeServer, outcome } from './fake-server.js';
import { useLoaderFakes } from './loader-fakes.js';
import {
  COUNT,
  HEADER,
  TENSOR,
  TENSORS,
  TURNS,
  WHOLE,
  chunksIn,
  ended,
  packedOf,
  randomFrom,
  run,
  tensor,
  type Step,
  type Steps,
} from './steps.js';
import { same, sha256Hex } from './store-setup.js';

vi.mock('../src/loader/store/hashes.js', async (original) =>
  (await import('./quick-hashes.js')).quickHashes(await original<typeof Hashes>()),
);

const fakes = useLoaderFakes(WHOLE, 1 << 18);
let opfs: FakeOpfs;
let server: FakeServer;
beforeEach(() => ({ opfs, server } = fakes));
afterEach(() => fakes.expectReleased());

/** Many of them lie over the border of two blocks, and the last one of a tensor is smaller. */
const CHUNK = 100_000;
const ALL = { from: HEADER, to: WHOLE.length };
const PASS: Step = { weights: TENSORS };

function sum(ranges: readonly Range[]): number {
  return ranges.reduce((bytes, { from, to }) => bytes + to - from, 0);
}

/** Bytes of weights that came from the file, and from the copy. */
function sources({ came }: Steps): { file: number; copy: number } {
  const weights = came.filter(({ rows }) => !rows);
  return {
    file: sum(weights.filter(({ packed }) => !packed)),
    copy: sum(weights.filter(({ packed }) => packed)),
  };
}

function expectRight(engine: Steps): void {
  expect(engine.error).toBeNull();
  expect(engine.wrong).toBe(0);
  expect(engine.over).toBe(true);
}

/** Which chunks the copy has, by its index; all of them are as they should be. */
function inCopy(): Range[] {
  const index = opfs.only('.index').bytes;
  const view = new DataView(index.buffer, index.byteOffset);
  const packed = opfs.only('.packed').bytes;
  const found = new Map<number, Range>();
  for (let at = 40; at < index.length; at += 24) {
    const [from, to] = [
      Number(view.getBigUint64(at, true)),
      Number(view.getBigUint64(at + 8, true)),
    ];
    found.set(from, { from, to });
    expect(same(packed.subarray(from, to), packedOf({ from, to }))).toBe(true);
  }
  return [...found.values()];
}

/** Changes a bit of a file. */
function flip(ending: string, at: number): void {
  const { bytes } = opfs.only(ending);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
}

/** Takes records out of the index, those for which `which` holds. */
function dropRecords(which: (i: number) => boolean): void {
  const disk = opfs.only('.index');
  const records = Array.from({ length: (disk.bytes.length - 40) / 24 }, (_, i) =>
    disk.bytes.subarray(40 + 24 * i, 64 + 24 * i),
  ).filter((_, i) => !which(i));
  disk.bytes = Uint8Array.from(Buffer.concat([disk.bytes.subarray(0, 40), ...records]));
}

/** The files with a copy that has all chunks, once they were made. */
let made: [string, Uint8Array][] | null = null;

/** Puts the model, and a copy with all chunks in it, into the cache. */
async function makeCopy(): Promise<void> {
  if (made === null) {
    expectRight(await ended([PASS, PASS, PASS, PASS], { chunk: CHUNK }));
    expect(inCopy()).toHaveLength(chunksIn(ALL, CHUNK).length);
    made = [...opfs.files].map(([name, { bytes }]) => [name, bytes.slice()]);
  }
  opfs.files.clear();
  for (const [name, bytes] of made) opfs.put(name, bytes);
}

describe.each([true, false])('the packed copy (shared memory: %s)', (shared) => {
  const how = { shared, chunk: CHUNK };
  it('is made while weights are read again, and then all of them come from it', async () => {
    const first = await ended([PASS, PASS, PASS, PASS], how);
    expectRight(first);
    expect(first.underway).toBe(0);
    // The first pass came from the network; the second is kept, but for what lies over the ends of readings.
    expect(sources(first).file).toBeGreaterThanOrEqual(2 * COUNT * TENSOR);
    expect(sources(first).file).toBeLessThan(2.5 * COUNT * TENSOR);
    expect(inCopy()).toHaveLength(chunksIn(ALL, CHUNK).length);
    const sent = server.sent;
    const second = await ended([PASS, PASS], how);
    expectRight(second);
    expect(sources(second)).toEqual({ file: 0, copy: 2 * COUNT * TENSOR });
    expect(server.sent).toBe(sent);
  });

  it('is read in the order in which weights are wanted, after rows', async () => {
    await makeCopy();
    const weights = TENSORS.toReversed();
    const rows = [{ from: HEADER + 5000, to: HEADER + 6000 }];
    const engine = await ended([{ weights, rows }], how);
    expectRight(engine);
    // Three readings go on at a time, and that of the rows was the first.
    expect(engine.came.findIndex((one) => one.rows)).toBeLessThan(3);
    const order = engine.came
      .filter((one) => !one.rows)
      .map(({ from }) => Math.floor((from - HEADER) / TENSOR));
    for (const [i, at] of order.entries()) expect(at).toBeLessThanOrEqual(order[i - 3] ?? COUNT);
  });

  it.each(Array.from({ length: 4 }, (_, i) => i + 1))(
    'with chunks missing is filled up: seed %i',
    async (seed) => {
      await makeCopy();
      const random = randomFrom(seed);
      const share = random();
      dropRecords(() => random() < share);
      const had = sum(inCopy());
      const engine = await ended([PASS], how);
      expectRight(engine);
      expect(sources(engine)).toEqual({ file: COUNT * TENSOR - had, copy: had });
      expectRight(await ended([PASS, PASS, PASS], how));
      expect(inCopy()).toHaveLength(chunksIn(ALL, CHUNK).length);
    },
  );

  it.each(Array.from({ length: 4 }, (_, i) => i + 1))(
    'gives whole chunks alone, wherever wants begin and end: seed %i',
    async (seed) => {
      await makeCopy();
      const random = randomFrom(seed);
      dropRecords(() => random() < 0.3);
      const steps = Array.from({ length: 30 }, () => {
        const wanted: Range[] = [];
        for (let at = ALL.from; at < ALL.to;) {
          const to = Math.min(ALL.to, at + 1 + Math.floor(random() * 6 * CHUNK));
          if (random() < 0.5) wanted.push({ from: at, to });
          at = to;
        }
        return { weights: wanted.filter(() => random() < 0.5).sort(() => random() - 0.5) };
      });
      const engine = await ended(steps, how);
      expectRight(engine);
      expect(sources(engine).copy).toBeGreaterThan(0);
      expect(sources(engine).file).toBeGreaterThan(0);
    },
  );

  it('comes right with bytes in it that have changed, and is mended', async () => {
    await makeCopy();
    const random = randomFrom(3);
    for (let i = 0; i < 20; ++i) flip('.packed', ALL.from + Math.floor(random() * COUNT * TENSOR));
    const engine = await ended([PASS, PASS, PASS], how);
    expectRight(engine);
    expect(sources(engine).file).toBeGreaterThan(0);
    expect(sources(engine).file).toBeLessThan(3 * 20 * CHUNK);
    expect(inCopy()).toHaveLength(chunksIn(ALL, CHUNK).length);
  });

  it.each(['short', 'failing'] as const)('comes right with readings that are %s', async (fault) => {
    await makeCopy();
    const random = randomFrom(5);
    const engine = run(TURNS, how);
    const packed = opfs.only('.packed');
    opfs.readFault = (disk, length) => {
      if (disk !== packed || random() > 0.1) return length;
      if (fault === 'failing') throw new DOMException('gone', 'InvalidStateError');
      return Math.floor(length / 2);
    };
    await outcome(engine.work);
    expectRight(engine.engine);
    expect(sources(engine.engine).copy).toBeGreaterThan(0);
    expect(sources(engine.engine).file).toBeGreaterThan(0);
  });

  it('comes right with damaged blocks and a damaged copy at once', async () => {
    await makeCopy();
    for (const at of [5, 20 * TENSOR, 39 * TENSOR]) {
      flip('.gguf', at);
      flip('.packed', HEADER + at);
    }
    expectRight(await ended(TURNS, how));
  });

  it('is emptied if the engine refuses what comes from it', async () => {
    await makeCopy();
    const { engine, work } = run([PASS], how);
    engine.onnews = (message) => {
      if (message.type !== 'filled' && message.type !== 'bytes') return;
      if (!message.packed || engine.refused) return;
      engine.refused = true;
      engine.send({ type: 'packedRefused' });
      engine.send({ type: 'stop', refused: 'no' });
    };
    await outcome(work);
    expect(engine.refused).toBe(true);
    const again = await ended([PASS], how);
    expectRight(again);
    expect(sources(again).copy).toBe(0);
  });

  it('ends when the disk is full, and what is in it is read', async () => {
    const { engine, work } = run([PASS, PASS, PASS], how);
    engine.onnews = ({ type }) => {
      if (type === 'tookPacked' && !opfs.failWrites)
        opfs.failWrites = opfs.only('.index').bytes.length > 1000;
    };
    await outcome(work);
    expectRight(engine);
    expect(engine.keeps).toBe(false);
    opfs.failWrites = false;
    const had = sum(inCopy());
    expect(had).toBeGreaterThan(0);
    expect(had).toBeLessThan(COUNT * TENSOR);
    expect(sources(await ended([PASS], how)).copy).toBe(had);
  });

  it('is not begun without room, and a second tab goes without', async () => {
    opfs.quota = 2.5 * WHOLE.length;
    const engine = await ended([PASS, PASS], how);
    expectRight(engine);
    expect(engine.keeps).toBeNull();
    expect([...opfs.files.keys()].some((name) => /packed|index/.test(name))).toBe(false);
    opfs.quota = 1e12;
    await makeCopy();
    const key = [...opfs.files.keys()][0]?.slice(0, 32) ?? '';
    const lock = await takeLock(PACK_LOCK + key, { ifAvailable: true });
    const other = await ended([PASS, PASS], how);
    await lock?.release();
    expectRight(other);
    expect(other.keeps).toBeNull();
    expect(sources(other)).toEqual({ file: 2 * COUNT * TENSOR, copy: 0 });
  });

  it('is nothing to a model that stays in memory', async () => {
    const asked: string[] = [];
    const { request } = opfs.locks;
    opfs.locks.request = (name, ...rest) => {
      asked.push(name);
      return request.call(opfs.locks, name, ...rest);
    };
    for (const _ of [1, 2]) {
      const engine = await ended([PASS], { shared });
      expectRight(engine);
      expect(engine.keeps).toBeNull();
    }
    expect([...opfs.files.keys()].some((name) => /packed|index/.test(name))).toBe(false);
    // Only the removal of an earlier one, when the file is begun.
    expect(asked.filter((name) => name.startsWith(PACK_LOCK)).length).toBeLessThanOrEqual(2);
  });

  it('is not read before a sha256 is proven, and goes with a file that is wrong', async () => {
    await makeCopy();
    const proving = run([PASS, PASS], { ...how, sha256: sha256Hex(WHOLE) });
    let verified = 0;
    proving.engine.onnews = (message) => {
      if (message.type === 'keepsPacked') verified = proving.engine.came.length;
    };
    await outcome(proving.work);
    expectRight(proving.engine);
    expect(verified).toBeGreaterThan(0);
    expect(proving.engine.came.slice(0, verified).some(({ packed }) => packed)).toBe(false);
    opfs.files.clear();
    await makeCopy();
    const wrong = await ended([PASS], { ...how, sha256: 'a'.repeat(64) });
    expect(wrong.error).toMatchObject({ code: 'download_corrupt' });
    expect(opfs.files.size).toBe(0);
  });

  it.each(Array.from({ length: 6 }, (_, i) => i + 1))(
    'is left right by loads that are aborted: seed %i',
    async (seed) => {
      const random = randomFrom(seed);
      if (random() < 0.5) await makeCopy();
      const { engine, work } = run([PASS, PASS, PASS], how);
      let left = Math.floor(random() * 150);
      engine.onnews = () => {
        if (left-- === 0) queueMicrotask(() => engine.send({ type: 'stop', refused: 'no' }));
      };
      await outcome(work);
      for (let i = 0; i < 10; ++i) await vi.advanceTimersByTimeAsync(10);
      expect(engine.wrong).toBe(0);
      if ([...opfs.files.keys()].some((name) => name.endsWith('.index'))) inCopy();
      expectRight(await ended([PASS, { weights: [tensor(3)] }], how));
    },
  );
});
