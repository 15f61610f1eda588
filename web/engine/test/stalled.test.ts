// Readers that stall, or drop what they read: the engine rests, and nothing piles up.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { asStream, ask, load, until } from './chat-setup.js';
import type { Control } from './fake-module.js';
import { FakeWorker } from './fake-workers.js';

/** Tokens of a text, far more than may wait. */
const MANY = 1500;
/** More than may wait, and what comes before the worker hears of that. */
const SOME = 700;

/** A token takes so long that a slice has few of them. */
function slow(): void {
  const until = performance.now() + 0.1;
  while (performance.now() < until);
}

interface Stalls {
  control: Partial<Control>;
  /** Tokens that were computed, and answers that were begun. */
  tokens(): number;
}

function stalls(): Stalls {
  let tokens = 0;
  const reply = (): { text: string }[] => Array.from({ length: MANY }, () => ({ text: 'x' }));
  const replyWaits = (): boolean => (slow(), ++tokens, false);
  return { control: { reply, replyWaits, contextSize: 1e6 }, tokens: () => tokens };
}

/** Resolves when the worker rests, with what it was told before. */
async function rests(): Promise<void> {
  const held = (): boolean =>
    FakeWorker.all.some(({ heard }) =>
      heard.some((message) => message.type === 'hold' && message.on),
    );
  await until(held);
}

async function rest<T>(reader: AsyncIterator<T>): Promise<T[]> {
  const all: T[] = [];
  for (let next = await reader.next(); next.done !== true; next = await reader.next())
    all.push(next.value);
  return all;
}

describe('a reader that stalls', () => {
  it('of chunks lets the engine rest, and then gets all of them', async () => {
    const { control, tokens } = stalls();
    const engine = await load(control);
    const chunks = await engine.chat.completions.create(asStream('a'));
    await rests();
    // The worker answers others meanwhile, after all that it does for the stream.
    for (let i = 0; i < 20; ++i) await engine.tokenize('b');
    const before = tokens();
    expect(before).toBeLessThan(SOME);
    for (let i = 0; i < 20; ++i) await engine.tokenize('b');
    expect(tokens()).toBe(before);
    const all = await rest(chunks);
    // The first names the role, the last why it ends.
    expect(all).toHaveLength(MANY + 2);
    expect(all.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('of one answer lets no other begin', async () => {
    const reply = (): { text: string }[] => Array.from({ length: 300 }, () => ({ text: 'x' }));
    const engine = await load({ ...stalls().control, reply });
    const chunks = await engine.chat.completions.create(asStream('a', { n: 3 }));
    await rests();
    for (let i = 0; i < 20; ++i) await engine.tokenize('b');
    expect(FakeWorker.control.replies).toHaveLength(1);
    expect(await rest(chunks)).toHaveLength(3 * 302);
    expect(FakeWorker.control.replies).toHaveLength(3);
  });

  it.each([
    ['', {}],
    // One slot, which shares its place.
    [', also where weights are read again', { slots: [0, 0, 0, 0, 1, 0] }],
  ])('of tokens lets the engine rest, while other sessions go on%s', async (_, more) => {
    const engine = await load({ working: () => (slow(), false), ...more });
    const { computed } = FakeWorker.control;
    const tokens = engine.generate('a b', { maxTokens: MANY });
    await tokens.next();
    await rests();
    const other = engine.session();
    await other.complete('c d', { maxTokens: 50 });
    const before = computed.length;
    expect(before).toBeLessThan(SOME + 50);
    await other.complete('c d', { maxTokens: 50 });
    expect(computed).toHaveLength(before + 50);
    expect(await rest(tokens)).toHaveLength(MANY - 1);
    expect(engine.stats.finish).toBe('length');
  });

  it.each(['break', 'signal', 'close'])('can still end it (%s)', async (how) => {
    const { control } = stalls();
    const engine = await load(control);
    const stop = new AbortController();
    const chunks = await engine.chat.completions.create(asStream('a', { signal: stop.signal }));
    await rests();
    if (how === 'break') await chunks.return?.();
    if (how === 'signal') stop.abort(new Error('enough'));
    if (how === 'close') await engine.close();
    const end = rest(chunks);
    if (how === 'break') expect(await end).toEqual([]);
    else await expect(end).rejects.toThrow(how === 'signal' ? 'enough' : 'closed');
    if (how === 'close') return;
    Object.assign(FakeWorker.control, { reply: () => [{ text: 'y' }] });
    const next = await engine.chat.completions.create(ask('b'));
    expect(next.choices[0]?.message.content).toBe('y');
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a reader that nobody has any more', () => {
  it.each(['chunks', 'tokens'])(
    'of %s ends the work, and the next request is answered',
    async (of) => {
      const { control } = stalls();
      const engine = await load({ ...control, working: () => (slow(), false) });
      const drop = async (): Promise<void> => {
        const reader =
          of === 'chunks'
            ? await engine.chat.completions.create(asStream('a'))
            : engine.generate('a', { maxTokens: MANY });
        await reader.next();
      };
      await drop();
      await rests();
      await until(() => (collectGarbage(), FakeWorker.control.cancels > 0));
      Object.assign(FakeWorker.control, { reply: () => [{ text: 'y' }] });
      const next = await engine.chat.completions.create(ask('b'));
      expect(next.choices[0]?.message.content).toBe('y');
      expect((await engine.complete('c', { maxTokens: 2 })).text).toBe('cc');
    },
  );
});
