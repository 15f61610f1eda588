// A model of which not all stays in memory: the engine worker's side of reading again, and what the page is told.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Access } from '../src/shared/protocol.js';
import {
  FILE_BYTES,
  HEADER_BYTES,
  REREAD_BYTES,
  fakeModule,
  makeControl,
  makeFile,
  rereadOffset,
  type Control,
  GUESSED,
} from './fake-module.js';
import { HostRig, endRigs, type Want } from './host-rig.js';

const file = makeFile();

/** An engine worker with the fake module. */
class Rig extends HostRig {
  readonly control: Control;

  constructor(
    shared: boolean,
    control: Partial<Control> = {},
    access: Access = 'rereadable',
    given: { options?: object; weights?: boolean; probe?: boolean } = {},
  ) {
    const whole = { ...makeControl(), rereads: true, placeBytes: FILE_BYTES, ...control };
    super(fakeModule(whole, shared), file, { ...given, shared, access });
    this.control = whole;
  }
}

function rig(...given: ConstructorParameters<typeof Rig>): Rig {
  return new Rig(...given);
}

afterEach(endRigs);

/** The text of a token: the bytes of its row and of its layer. */
function textOf(i: number, session = 0): string {
  return [true, false]
    .map((rows) => rereadOffset(session, i, rows))
    .map((at) => file.slice(at, at + REREAD_BYTES).join())
    .join(';');
}

describe.each([true, false])('weights that are read again (shared memory: %s)', (shared) => {
  it('are asked for as each token needs them, rows as rows, and the text is right', async () => {
    const it = rig(shared);
    await it.until('ready');
    it.generate(0, 1, 30);
    await it.until('done');
    expect(it.texts(1)).toEqual(Array.from({ length: 30 }, (_, i) => textOf(i)));
    const wants = it.asked.filter((one) => one.type === 'want').slice(2);
    expect(wants.map(({ rows }) => rows)).toEqual(
      Array.from({ length: 60 }, (_, i) => i % 2 === 0),
    );
    expect(it.asked.some(({ type }) => type === 'enough' || type === 'stop')).toBe(false);
    expect(it.control.opened[0]?.access).toBe('rereadable');
  });

  it('serve sessions that run side by side in turn', async () => {
    const it = rig(shared);
    await it.until('ready');
    it.openSession(1);
    it.openSession(2);
    for (const session of [0, 1, 2]) it.generate(session, session + 1, 40);
    await it.until('done', 3);
    for (const id of [1, 2, 3])
      expect(it.texts(id)).toEqual(Array.from({ length: 40 }, (_, i) => textOf(i, id - 1)));
    // At no time is one far ahead of another.
    const computed = [0, 0, 0];
    for (const session of it.control.computed) {
      computed[session] = (computed[session] ?? 0) + 1;
      if (Math.min(...computed) < 38)
        expect(Math.max(...computed) - Math.min(...computed)).toBeLessThanOrEqual(2);
    }
  });

  it('a run that waits is cancelled, and the next one gets what it needs', async () => {
    const it = rig(shared);
    await it.until('ready');
    const withheld: Want[] = (it.withheld = []);
    it.generate(0, 1, 5);
    await vi.waitFor(() => expect(withheld.length).toBe(1));
    it.cancel(1);
    await it.until('done');
    expect(it.of('done')).toMatchObject([{ id: 1, finish: 'aborted' }]);
    it.generate(0, 2, 5);
    it.withheld = null;
    for (const want of withheld) it.answer(want);
    await it.until('done', 2);
    expect(it.texts(2)).toEqual(Array.from({ length: 5 }, (_, i) => textOf(i)));
  });

  it('fail the runs that wait, and the engine, if they can not be read', async () => {
    const it = rig(shared);
    await it.until('ready');
    it.withheld = [];
    it.generate(0, 1, 5);
    await vi.waitFor(() => expect(it.withheld?.length).toBe(1));
    const error = { code: 'bad_file', message: 'the file has changed' } as const;
    it.say({ type: 'failed', error });
    await it.until('failed');
    expect(it.of('failed')).toEqual([{ type: 'failed', error }]);
  });

  it('the end of the file is no error while all of it can be read again', async () => {
    const it = rig(shared);
    await it.until('ready');
    it.say({ type: 'ended', file: 0, received: FILE_BYTES });
    it.generate(0, 1, 3);
    await it.until('done');
    expect(it.texts(1)).toEqual([0, 1, 2].map((i) => textOf(i)));
    expect(it.of('failed')).toEqual([]);
    expect(it.of('ready').length).toBe(1);
    // After `ready` nothing more is told of loading.
    const types = it.told.map(({ type }) => type);
    expect(types.lastIndexOf('progress')).toBeLessThan(types.indexOf('ready'));
  });

  it('bytes that were not wanted end the engine', async () => {
    const it = rig(shared);
    await it.until('ready');
    it.say({ type: 'filled', offset: 7, length: REREAD_BYTES, rows: false, packed: false });
    await it.until('failed');
    expect(it.of('failed')[0]?.error.code).toBe('invalid_argument');
  });
});

describe('a model of which all stays', () => {
  it('is given up by the engine when it is loaded', async () => {
    const it = rig(true, { rereads: false });
    await it.until('ready');
    await vi.waitFor(() => expect(it.asked.at(-1)?.type).toBe('enough'));
    expect(it.asked.filter(({ type }) => type === 'enough').length).toBe(1);
  });

  it('sends the tokens of a slice in one message', async () => {
    const it = rig(true, { rereads: false });
    await it.until('ready');
    await vi.waitFor(() => expect(it.asked.at(-1)?.type).toBe('enough'));
    it.generate(0, 1, 1000);
    await it.until('done');
    expect(it.texts(1)).toHaveLength(1000);
    // Each has the run's figures, and there are no others.
    const messages = it.of('tokens');
    expect(messages.length).toBeLessThan(200);
    expect(messages.every(({ stats }) => stats !== undefined)).toBe(true);
    expect(it.of('figures').length).toBeLessThanOrEqual(1);
  });
});

describe('the budget', () => {
  const optionsOf = ({ control }: Rig): unknown => control.opened[0]?.options;

  it('is chosen if the source can be read again, and not otherwise', async () => {
    for (const [access, given, chosen] of [
      ['rereadable', {}, { memoryBudget: 960 * 2 ** 20 }],
      ['rereadable', { memoryBudget: 300_000 }, { memoryBudget: 300_000 }],
      ['rereadable', { memoryBudget: 9e9 }, { memoryBudget: 960 * 2 ** 20 }],
      ['any_order', {}, {}],
      ['sequential', { memoryBudget: 500_000 }, { memoryBudget: 500_000 }],
    ] as const) {
      const it = rig(true, {}, access, { options: given });
      await it.until('ready');
      expect(optionsOf(it)).toEqual(chosen);
    }
  });

  it('is half of the memory that the device tells', async () => {
    vi.stubGlobal('navigator', { deviceMemory: 1.5 });
    try {
      // The fake browser gives 1 GiB, less a margin.
      const it = rig(true);
      await it.until('ready');
      expect(optionsOf(it)).toEqual({ memoryBudget: 960 * 2 ** 20 });
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('is told in the notes if weights are read again', async () => {
    for (const [rereadBytes, notes] of [
      [0, []],
      [
        100_000,
        [
          {
            code: 'weights_reread',
            message: expect.stringMatching(/^the model needs .*\(as memoryBudget says\)/) as string,
            facts: { availableBytes: 300_000, rereadBytes: 100_000, limit: 'given' },
          },
        ],
      ],
    ] as const) {
      const memory = { rereadBytes };
      const options = { memoryBudget: 300_000 };
      const it = rig(true, { notes: [GUESSED], memory }, 'rereadable', { options });
      await it.until('header');
      expect(it.of('header')[0]?.notes).toMatchObject([GUESSED, ...notes]);
    }
  });

  it.each([
    // Access, option, whether it fits (all: 400000 bytes, least: 200000), or the error.
    ['rereadable', 200_000, null],
    [
      'rereadable',
      199_999,
      /^budget_too_small: the model needs 200000 bytes at least .* is 199999/,
    ],
    ['any_order', 400_000, null],
    [
      'any_order',
      399_999,
      /^budget_too_small: the model needs 400000 .* a source that can be read/,
    ],
    [
      'sequential',
      200_000,
      /^budget_too_small: the model needs 400000 .* a source that can be read/,
    ],
  ] as const)('decides what a probe says: %s, %s', async (access, memoryBudget, error) => {
    const it = rig(true, {}, access, { options: { memoryBudget }, probe: true });
    await it.until('header');
    const [{ info } = {}] = it.of('header');
    expect(info?.fits).toBe(error === null);
    if (error === null) expect(info?.error).toBeUndefined();
    else expect(`${info?.error?.code}: ${info?.error?.message}`).toMatch(error);
  });

  it("names the browser's limit, and the least that would do", async () => {
    const memory = { all: 9e9, least: 2e9 };
    for (const [access, least] of [
      ['rereadable', 2e9],
      ['any_order', 9e9],
    ] as const) {
      const it = rig(true, { memory }, access, { probe: true });
      await it.until('header');
      const error = it.of('header')[0]?.info.error;
      expect(error?.code).toBe('out_of_memory');
      expect(error?.message).toMatch(`needs ${least} bytes`);
    }
  });
});

describe('the news of the weights', () => {
  const slots = [0, 100, 100, 2, 0, 1];

  it('come while something changes, and at the end', async () => {
    const it = rig(true, { slots }, 'rereadable', { weights: true });
    await it.until('ready');
    it.generate(0, 1, 200);
    await it.until('done');
    await vi.waitFor(() => expect(it.of('weights').at(-1)?.bytesPerSecond).toBe(0), 20_000);
    const told = it.of('weights');
    expect(told[0]?.slots).toEqual(Float64Array.from(slots));
    // Once to see whether weights are read again.
    expect(it.control.looks).toBe(told.length + 1);
    const last = it.told.findLastIndex(({ type }) => type === 'weights');
    expect(last).toBeGreaterThan(it.told.findIndex(({ type }) => type === 'done'));
  });

  it('cost nothing if nobody wants them', async () => {
    const it = rig(true, { slots });
    await it.until('ready');
    it.generate(0, 1, 20);
    await it.until('done');
    expect(it.control.looks).toBe(1);
    expect(it.of('weights')).toEqual([]);
  });
});

describe('what is wanted', () => {
  beforeEach(
    () =>
      void vi.stubGlobal('setTimeout', () => {
        throw new Error('a timer');
      }),
  );
  afterEach(() => vi.unstubAllGlobals());

  it('is asked for without timers, in the order of execution', async () => {
    const it = rig(true, { placeBytes: 5000, rereads: false });
    const wants = await new Promise<Want>((resolve) => {
      const look = (): void => {
        const found = it.asked.find((one) => one.type === 'want' && !one.once);
        if (found?.type === 'want') resolve(found);
        else setImmediate(look);
      };
      look();
    });
    // The fake engine gives its places from the last to the first.
    const offsets = [...wants.wants].filter((_, i) => i % 3 === 0);
    expect(offsets[0]).toBeGreaterThan(offsets.at(-1) ?? 0);
    expect(offsets.at(-1)).toBe(HEADER_BYTES);
  });
});
