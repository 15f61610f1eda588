// The engine worker with the real module, under the least budget: a loader that is slow, or brings bytes in pieces and in
// any order, changes nothing of the text; one that fails ends it with its error.
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { HostRig, type Told, endRigs, type Want } from './host-rig.js';
import { openCore } from './open-core.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const file = new Uint8Array(
  fs.readFileSync(path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf')),
);
// What sessions have counts together under a budget, and three of them run: a chunk of 256 positions for each.
const CONTEXT = { contextSize: 1024, threads: 1 };
const PROMPTS = ['Once upon a time', 'The cat', 'She opened the door and'];
const TOKENS = 15;

async function open(options: object, shared = false, weights = false): Promise<HostRig> {
  const given = {
    shared,
    access: 'rereadable',
    options: { ...CONTEXT, ...options },
    weights,
  } as const;
  return new HostRig(await openCore(shared), file, given);
}

afterEach(endRigs);

/** The least budget, and the texts of a model of which all stays. */
let least = 0;
let expected: string[][] = [];

async function textsOf(rig: HostRig, sessions: number): Promise<string[][]> {
  for (let i = 0; i < sessions; ++i) {
    if (i > 0) rig.openSession(i);
    rig.generate(i, i + 1, TOKENS, PROMPTS[i]);
  }
  await rig.until('done', sessions);
  return Array.from({ length: sessions }, (_, i) => rig.texts(i + 1));
}

beforeAll(async () => {
  const rig = await open({});
  await rig.until('ready');
  least = rig.of('header')[0]?.info.memory?.least ?? 0;
  expected = await textsOf(rig, 3);
  expect(rig.asked.at(-1)?.type).toBe('enough');
  endRigs();
});

/** Brings the wants that are withheld in pieces of random sizes in random order, some later than others. */
function bringSomehow(rig: HostRig, seed: number): void {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const pieces: (() => void)[] = [];
  const take = ({ wants, rows, once, memory }: Want): void => {
    const direct = memory !== null;
    for (let i = 0; i < wants.length; i += 3) {
      const [offset = 0, ptr = 0, length = 0] = wants.subarray(i, i + 3);
      if (once) return rig.give(offset, ptr, Math.min(length, 3000), rows, direct);
      for (let at = 0; at < length;) {
        const from = at;
        const size = Math.min(length - at, 1 + Math.floor(30_000 * random()));
        at += size;
        pieces.push(() => rig.give(offset + from, ptr + from, size, rows, direct));
      }
    }
  };
  const withheld: Want[] = (rig.withheld = []);
  const loop = (): void => {
    if (rig.withheld === null) return;
    for (const want of withheld.splice(0)) take(want);
    for (let n = Math.floor(4 * random()); n > 0 && pieces.length > 0; --n)
      pieces.splice(Math.floor(random() * pieces.length), 1)[0]?.();
    setImmediate(loop);
  };
  loop();
}

function resume(rig: HostRig, session: number, id: number): void {
  const options = JSON.stringify({ maxTokens: 9, temperature: 0, ignoreEos: true });
  rig.call(id, 'resume', { session, options });
}

async function savedBy(rig: HostRig, session: number, id: number): Promise<Blob> {
  rig.call(id, 'save', { session });
  await vi.waitFor(() => expect(rig.of('result').some((one) => one.id === id)).toBe(true), 50_000);
  return rig.of('result').find((one) => one.id === id)?.value as Blob;
}

async function bytesOf(file: Blob): Promise<Uint8Array> {
  return new Uint8Array(await file.arrayBuffer());
}

describe.each([false, true])('the real engine under its least budget (shared: %s)', (shared) => {
  const underLeast = (): Promise<HostRig> => open({ memoryBudget: least }, shared);

  it('writes the same text, and says what is read again', async () => {
    const rig = await underLeast();
    await rig.until('ready');
    expect(await textsOf(rig, 1)).toEqual(expected.slice(0, 1));
    const [told] = rig.of('header');
    expect(told?.info.fits).toBe(true);
    expect(told?.notes.at(-1)?.message).toMatch(
      /\(as memoryBudget says\): .* are read again for each/,
    );
    const { stats } = rig.of('done')[0] ?? {};
    const reread = told?.info.memory?.rereadBytes ?? 0;
    expect(reread).toBeGreaterThan(0);
    // Each token but the first is a pass over all that is read again.
    expect(stats?.rereadBytes).toBeGreaterThan(reread * (TOKENS - 2));
    // Its name before, for one version.
    expect(stats?.streamedBytes).toBe(stats?.rereadBytes);
    expect(stats?.memoryBudget).toBe(least);
    expect(rig.asked.some(({ type }) => type === 'enough' || type === 'stop')).toBe(false);
  });

  it.each([1, 2, 3])(
    'the same from a loader that is slow and brings pieces in any order',
    async (seed) => {
      const rig = await underLeast();
      bringSomehow(rig, seed);
      await rig.until('ready');
      expect(await textsOf(rig, 3)).toEqual(expected);
      rig.withheld = null;
    },
  );

  it('restores and saves a session while another writes, and both have the same text', async () => {
    const whole = await open({}, shared);
    await whole.until('ready');
    whole.generate(0, 1, 6, PROMPTS[1]);
    await whole.until('done');
    const saved = await savedBy(whole, 0, 2);
    resume(whole, 0, 3);
    await whole.until('done', 2);
    const after = await savedBy(whole, 0, 4);

    const rig = await underLeast();
    bringSomehow(rig, 4);
    await rig.until('header');
    // The model isn't identified yet: layers that take turns have not been there.
    rig.call(1, 'restore', { session: 5, file: saved });
    rig.generate(0, 2, TOKENS, PROMPTS[0]);
    await rig.until('result');
    resume(rig, 5, 3);
    await rig.until('done', 2);
    expect(rig.texts(2)).toEqual(expected[0]);
    expect(rig.texts(3)).toEqual(whole.texts(3));
    const bytes = await bytesOf(await savedBy(rig, 5, 4));
    expect(Buffer.compare(bytes, await bytesOf(after))).toBe(0);
    rig.withheld = null;
  });

  it('gives a restoring up that waits for weights, and goes on', async () => {
    const rig = await underLeast();
    await rig.until('ready');
    rig.withheld = [];
    rig.call(1, 'restore', { session: 5, file: new Blob(['x']) });
    await vi.waitFor(() => expect(rig.withheld?.length).toBeGreaterThan(0), 50_000);
    rig.cancel(1);
    for (const want of rig.withheld.splice(0)) rig.answer(want);
    rig.withheld = null;
    expect(await textsOf(rig, 1)).toEqual(expected.slice(0, 1));
    expect(rig.of('result')).toEqual([]);
    rig.call(9, 'restore', { session: 5, file: new Blob(['no session at all']) });
    await rig.until('error', 2);
    expect(rig.of('error').map(({ id, error }) => [id, error.code])).toEqual([
      [1, 'aborted'],
      [9, 'bad_file'],
    ]);
  });

  it('fails with the error of a reading that fails', async () => {
    const rig = await underLeast();
    await rig.until('ready');
    rig.withheld = [];
    rig.generate(0, 1, TOKENS, PROMPTS[0]);
    await vi.waitFor(() => expect(rig.withheld?.length).toBeGreaterThan(0), 50_000);
    const error = { code: 'bad_file', message: 'the file has changed; choose it again' } as const;
    rig.say({ type: 'failed', error });
    await rig.until('failed');
    expect(rig.of('failed')).toEqual([{ type: 'failed', error }]);
    expect(rig.texts(1).length).toBeLessThan(TOKENS);
  });

  it('refuses a byte less than the least, and names it', async () => {
    const rig = await open({ memoryBudget: least - 1 }, shared);
    await rig.until('failed');
    const [{ error } = {}] = rig.of('failed');
    expect(error?.code).toBe('budget_too_small');
    expect(error?.message).toContain(`${least} bytes`);
  });
});

it.each([
  // 240 MiB, the memory of openCore without the margin.
  [undefined, 'out_of_memory', 'This browser gives a page no more'],
  [1e9, 'out_of_memory', 'This browser gives a page no more'],
  [1e8, 'budget_too_small', '(it is 1048576) or a smaller model'],
])('says who chose a budget that is too small: %s', async (memoryBudget, code, end) => {
  const contextSize = 1 << 20;
  const rig = await open({ contextSize, memoryBudget });
  await rig.until('failed');
  const [{ error } = {}] = rig.of('failed');
  expect(error?.code).toBe(code);
  expect(error?.message).toMatch(/the budget is .*; with weights that take turns .* at least; /);
  expect(error?.message.endsWith(end)).toBe(true);
});

it('the parts of a model are told in the order of execution', async () => {
  const rig = await open({ memoryBudget: least }, false, true);
  await rig.until('ready');
  await textsOf(rig, 1);
  await vi.waitFor(() => expect(rig.of('weights').at(-1)?.bytesPerSecond).toBe(0), 50_000);
  const kinds = [...(rig.of('weights')[0]?.slots ?? [])].filter((_, i) => i % 6 === 0);
  expect(kinds[0]).toBe(0);
  expect(kinds).toEqual(kinds.toSorted());
  expect(kinds.filter((kind) => kind === 1).length).toBe(rig.of('header')[0]?.info.layers);
});

it('a prompt that waits for a layer is told of, and then as a whole', async () => {
  const rig = await open({ memoryBudget: least });
  await rig.until('ready');
  rig.withheld = [];
  rig.generate(0, 1, 3, PROMPTS[2]);
  await rig.until('prompt');
  const { progress } = rig.of('prompt')[0] as Told & { type: 'prompt' };
  expect(progress).toMatchObject({ reused: 0, waiting: false });
  expect(progress.computed).toBeLessThan(progress.total);
  const { withheld } = rig;
  rig.withheld = null;
  for (const want of withheld) rig.answer(want);
  await rig.until('done');
  const last = rig.of('prompt').at(-1)?.progress;
  expect(last).toMatchObject({ computed: progress.total, total: progress.total });
  expect(rig.texts(1)).toEqual(expected[2]?.slice(0, 3));
  const types = rig.told.map(({ type }) => type);
  expect(types.lastIndexOf('prompt')).toBeLessThan(types.indexOf('tokens'));
});
