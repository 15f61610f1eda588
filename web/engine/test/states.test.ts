// The page's side of the states that the device keeps: the request field, and the calls of `states`.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { takeChatRequest, takeTextRequest } from '../src/page/chat/request.js';
import { Engine, states } from '../src/index.js';
import { file } from './engine-setup.js';
import { FakeOpfs } from './fake-opfs.js';
import { FakeWorker, useFakes } from './fake-workers.js';
import { settle } from './store-setup.js';

const messages = [{ role: 'user', content: 'x'.repeat(40) }];
const LIMIT = 512_000_000;

beforeEach(() => {
  useFakes({ control: { contextSize: 5000 } });
});
afterEach(async () => {
  await states.limit(LIMIT);
  // The worker of the calls waits for more of them.
  for (const worker of FakeWorker.all)
    worker.emit('error', { message: 'the test is over', preventDefault: () => {} });
  await settle();
});

describe('the field `state`', () => {
  it('goes to the worker with the limit', async () => {
    expect(takeChatRequest({ messages }).state).toBeNull();
    expect(takeChatRequest({ messages, state: null }).state).toBeNull();
    expect(takeChatRequest({ messages, state: 'a' }).state).toEqual({ id: 'a', limit: LIMIT });
    await states.limit(7);
    const id = 'é'.repeat(200);
    expect(takeChatRequest({ messages, state: id }).state).toEqual({ id, limit: 7 });
  });

  it.each(['', 'a'.repeat(201), 7, {}, '\ud800', ['a']])('is refused if it is %j', (state) => {
    expect(() => takeChatRequest({ messages, state })).toThrow(
      expect.objectContaining({ code: 'invalid_argument', param: 'state' }) as Error,
    );
  });

  it('belongs to chats', () => {
    expect(() => takeTextRequest({ prompt: 'x', state: 'a' })).toThrow("unknown field 'state'");
  });
});

describe('states', () => {
  it('lists, deletes and limits what engines keep', async () => {
    const engine = await Engine.load(file);
    // After that: its locks are not those of workers.
    const opfs = new FakeOpfs().install();
    const ask = async (state: string): Promise<number> => {
      const { usage } = await engine.chat.completions.create({ messages, state });
      return usage.prompt_tokens_details.cached_tokens;
    };
    const kept = async (): Promise<string[]> => (await states.list()).map(({ id }) => id);
    const both = (ids: string[]): Promise<void> =>
      vi.waitFor(async () => {
        expect(await kept()).toEqual(ids);
        expect(opfs.locks.held.some(({ name }) => name.startsWith('sluice-state:'))).toBe(false);
      }, 10_000);
    await ask('a');
    await both(['a']);
    await ask('b');
    await both(['b', 'a']);
    const [b, a] = await states.list();
    expect(b).toEqual({ id: 'b', tokens: 82, bytes: 1024 + 108 + 8 * 82, used: b?.used });
    expect(b?.used).toBeGreaterThan(a?.used ?? Infinity);
    expect(await states.delete('a')).toBe(true);
    expect(await states.delete('a')).toBe(false);
    expect(await kept()).toEqual(['b']);
    await ask('a');
    await both(['a', 'b']);
    expect(await states.limit(2000)).toBe(b?.bytes);
    expect(await kept()).toEqual(['a']);
    expect(await states.clear()).toBe(b?.bytes);
    expect(await kept()).toEqual([]);
    await engine.close();
  });

  it('has none where the browser keeps no files', async () => {
    vi.stubGlobal('navigator', {});
    expect(await states.list()).toEqual([]);
    expect(await states.delete('a')).toBe(false);
    expect(await states.clear()).toBe(0);
    const engine = await Engine.load(file);
    await engine.chat.completions.create({ messages, state: 'a' });
    await vi.waitFor(() => expect(engine.stats.notes.at(-1)?.code).toBe('state_not_kept'));
    await engine.close();
  });

  it('refuses what is no id and no limit', async () => {
    const wrong = { code: 'invalid_argument' };
    for (const id of ['', 'a'.repeat(201), 7])
      await expect(states.delete(id as string)).rejects.toMatchObject(wrong);
    for (const bytes of [-1, 1.5, NaN, '7'])
      await expect(states.limit(bytes as number)).rejects.toMatchObject(wrong);
  });
});
