// A tab that is killed at any moment: what the journal claims is there, and the next one goes on.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BlockFile } from '../src/loader/store/block-file.js';
import { openEntry } from '../src/loader/store/entries.js';
import { loadHashes } from '../src/loader/store/hashes.js';
import { readRecord } from '../src/loader/store/shelf.js';
import type { Folder } from '../src/platform/platform.js';
import { FakeOpfs } from './fake-opfs.js';
import { ADDRESS, ALONE, bytesOf, facts, same, settle } from './store-setup.js';

const BLOCK = 256 << 10;
const WHOLE = bytesOf(4 * BLOCK + 77);

/** The most bytes that are written before a kill: within a header's text, within the first block, later. */
const KILLS = [600, 1.5e6, 40_000, 1.5e6];

let opfs: FakeOpfs;
beforeEach(async () => {
  await loadHashes();
  opfs = new FakeOpfs().install();
});
afterEach(() => void vi.unstubAllGlobals());

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Writes the missing blocks in any order, up to three at a time, and sometimes does something else. */
async function work(file: BlockFile, random: () => number, dropped: () => void): Promise<void> {
  const told = random() < 0.3 ? 0 : WHOLE.length;
  if (file.total === 0 || random() < 0.5) await file.begin(facts(file.total || told));
  const size = file.blockBytes;
  const blocks = Array.from({ length: Math.ceil(WHOLE.length / size) }, (_, i) => i);
  const left = blocks.filter((i) => !file.has(i)).sort(() => random() - 0.5);
  const writers = new Map(left.slice(0, 3).map((i) => [i, file.block(i)]));
  while (writers.size > 0) {
    const picked = [...writers][Math.floor(random() * writers.size)];
    const [i, writer] = picked as typeof picked & object;
    const at = i * size + writer.filled;
    if (!writer.full) writer.push(WHOLE.subarray(at, at + Math.ceil(random() * 200_000)));
    if (!writer.full && i * size + writer.filled < WHOLE.length) continue;
    writers.delete(i);
    const next = blocks.find((i) => !file.has(i) && !writers.has(i));
    if (next !== undefined && next !== i && random() < 0.9) writers.set(next, file.block(next));
    if (random() < 0.1) void file.note({ used: Math.floor(random() * 1e9) });
    if (random() < 0.02) {
      dropped();
      file.reset();
    }
    if (file.total === 0 && random() < 0.1) break;
  }
  if (file.total === 0) await file.begin(facts(WHOLE.length));
}

/** What the journal claims is there, byte by byte. Returns how many blocks that are. */
async function checkClaims(): Promise<number> {
  const name = [...opfs.files.keys()].find((name) => name.endsWith('.journal'));
  if (name === undefined) return 0;
  const folder = opfs.folder() as Folder;
  const { header, table } = await readRecord(folder, name.slice(0, 32));
  if (typeof header === 'string') return 0;
  const { blockBytes } = header.meta;
  const data = opfs.only('.gguf').bytes;
  let claimed = 0;
  table.forEach((hash, i) => {
    if (hash === 0n) return;
    claimed += 1;
    const [from, to] = [i * blockBytes, (i + 1) * blockBytes];
    expect(same(data.subarray(from, to), WHOLE.subarray(from, to))).toBe(true);
  });
  return claimed;
}

test.each(Array.from({ length: 60 }, (_, i) => i + 1))(
  'killed at random moments: seed %i',
  async (seed) => {
    const random = randomFrom(seed);
    let claims = 0;
    let before = 0;
    for (let life = 0; life < 200; ++life) {
      opfs.killAfter(Math.floor(random() * (KILLS[life % KILLS.length] as number)));
      const entry = await openEntry(ADDRESS, { ...ALONE, names: [`life ${life}`] });
      if (entry.kind === 'complete') {
        entry.file.close();
        break;
      }
      if (entry.kind === 'writer') {
        try {
          await work(entry.file, random, () => (before = 0));
        } catch {
          // It was killed, or found a block that is gone since a reset.
        }
      }
      opfs.restart();
      if (entry.kind !== 'none') entry.file.close();
      await settle();
      const now = await checkClaims();
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
      claims += now;
    }
    expect(claims).toBeGreaterThan(0);
    const entry = await openEntry(ADDRESS, ALONE);
    expect(entry.kind).toBe('complete');
    if (entry.kind === 'complete') entry.file.close();
    await settle();
    expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
  },
);

test('killed while it deletes, the rest is deleted later', async () => {
  for (const steps of [0, 1, 2]) {
    const entry = await openEntry(ADDRESS, ALONE);
    if (entry.kind !== 'writer') throw new Error(entry.kind);
    await entry.file.begin(facts(WHOLE.length));
    entry.file.block(0).push(WHOLE);
    opfs.killAfter(steps);
    await entry.file.drop().catch(() => {});
    opfs.restart();
    await settle();
    expect(await checkClaims()).toBe(steps === 0 ? 1 : 0);
    const again = await openEntry(ADDRESS, ALONE);
    if (again.kind !== 'writer') throw new Error(again.kind);
    expect(again.file.has(0)).toBe(steps === 0);
    await again.file.drop();
    expect(opfs.files.size).toBe(0);
  }
});
