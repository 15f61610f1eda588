// The calls between threads: each is answered once, its stream has back-pressure, and a cancel ends it on both sides.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Caller } from '../src/shared/caller.js';
import type { Call, FromWorker, ToWorker } from '../src/shared/calls.js';
import { SluiceError } from '../src/shared/errors.js';
import { deferred } from '../src/shared/promises.js';
import { LATER, Replies, type Handlers, type Reply } from '../src/shared/replies.js';
import { NO_STATS } from '../src/page/session.js';
import { WatchedWorker } from '../src/page/watched-worker.js';
import { FakeOpfs } from './fake-opfs.js';

interface TestCalls {
  add: Call<{ a: number; b: number }, number>;
  later: Call<string, string>;
  count: Call<null, string, number>;
}

type CountReply = Reply<string, number>;

/** Both sides, and what they tell each other. */
function pair(handlers: Partial<Handlers<TestCalls>> = {}) {
  const asked: ToWorker<TestCalls>[] = [];
  const told: FromWorker<TestCalls>[] = [];
  const counts: CountReply[] = [];
  const replies = new Replies<TestCalls>(
    {
      add: ({ a, b }) => a + b,
      later: async (text) => {
        await Promise.resolve();
        if (text === '') throw new SluiceError('not_found', 'no text');
        return text;
      },
      count: (_, reply) => {
        counts.push(reply);
        return LATER;
      },
      ...handlers,
    },
    (message) => {
      told.push(message);
      caller.receive(message);
    },
  );
  const caller = new Caller<TestCalls>((message) => {
    asked.push(message);
    replies.handle(message);
  });
  return { asked, told, counts, caller, replies, ask: caller.ask };
}

afterEach(() => vi.unstubAllGlobals());

describe('a call', () => {
  it('has its result, at once or later, or its error', async () => {
    const { ask, asked, told, caller } = pair();
    expect(await ask('add', { a: 2, b: 3 })).toBe(5);
    expect(await Promise.all([ask('later', 'x'), ask('add', { a: 1, b: 1 })])).toEqual(['x', 2]);
    await expect(ask('later', '')).rejects.toMatchObject({ code: 'not_found' });
    expect(asked).toHaveLength(4);
    expect(told.map(({ type }) => type)).toEqual(['result', 'result', 'result', 'error']);
    expect(caller.open).toBe(0);
  });

  it('fails if the other side does not know it, and nothing else does', async () => {
    const { told, replies, ask } = pair();
    replies.handle({ type: 'call', id: 77, name: 'toString' } as unknown as ToWorker<TestCalls>);
    expect(told).toMatchObject([
      {
        type: 'error',
        id: 77,
        error: { message: expect.stringMatching('same version') as string },
      },
    ]);
    expect(await ask('add', { a: 1, b: 1 })).toBe(2);
  });

  it('that throws what is no error of ours ends the worker, not only the call', () => {
    const { ask } = pair({
      add: () => {
        throw new RangeError('a trap');
      },
    });
    expect(() => void ask('add', { a: 1, b: 1 })).toThrow('a trap');
  });

  it('whose signal has fired is not asked', async () => {
    const { ask, asked } = pair();
    await expect(ask('add', { a: 1, b: 1 }, { signal: AbortSignal.abort() })).rejects.toMatchObject(
      { code: 'aborted' },
    );
    expect(asked).toEqual([]);
  });

  it('that is cancelled rejects at once, and is still answered, once', async () => {
    const { ask, asked, told, counts, caller } = pair();
    const stop = new AbortController();
    const [items, stats]: [number[], unknown[]] = [[], []];
    const onItem = (item: number): null => (items.push(item), null);
    const onStats = (given: unknown): void => void stats.push(given);
    const call = ask('count', null, { signal: stop.signal, onItem, onStats });
    const [reply] = counts as [CountReply];
    const cancelled = vi.fn(() => reply.item(2, NO_STATS));
    reply.oncancel = cancelled;
    reply.item(1);
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(cancelled).toHaveBeenCalledOnce();
    reply.item(3);
    reply.end('late');
    expect(asked.map(({ type }) => type)).toEqual(['call', 'cancel']);
    expect(told.map(({ type }) => type)).toEqual(['stream', 'stream', 'error']);
    // Its figures still count, its items don't.
    expect([items, stats.length, caller.open]).toEqual([[1], 1, 0]);
  });

  it('of an other side that has ended rejects, and what comes late is ignored', async () => {
    const { ask, counts, caller } = pair();
    const onItem = vi.fn(() => null);
    const call = ask('count', null, { onItem });
    caller.reject(new SluiceError('worker_died', 'it is gone'));
    counts[0]?.item(1);
    counts[0]?.end('late');
    await expect(call).rejects.toMatchObject({ code: 'worker_died' });
    expect(onItem).not.toHaveBeenCalled();
  });
});

describe('a stream', () => {
  it('is held while its reader has no room, and told once', async () => {
    const { ask, asked, counts } = pair();
    const room = deferred();
    let full = true;
    const call = ask('count', null, { onItem: () => (full ? room.promise : null) });
    const [reply] = counts as [CountReply];
    const heard: boolean[] = [];
    reply.onhold = (on) => heard.push(on);
    reply.item(1);
    expect(reply.held).toBe(true);
    // What was on its way.
    reply.item(2);
    full = false;
    room.resolve();
    await room.promise;
    expect(reply.held).toBe(false);
    reply.item(3);
    reply.end('over');
    expect(await call).toBe('over');
    expect(heard).toEqual([true, false]);
    expect(asked.map(({ type }) => type)).toEqual(['call', 'hold', 'hold']);
  });

  it('that has ended or is cancelled is not resumed', async () => {
    const { ask, asked, counts } = pair();
    const room = deferred();
    const stop = new AbortController();
    const onItem = (): Promise<void> => room.promise;
    const ended = ask('count', null, { onItem });
    const cancelled = ask('count', null, { onItem, signal: stop.signal });
    cancelled.catch(() => {});
    for (const reply of counts) reply.item(1);
    counts[0]?.end('over');
    stop.abort();
    room.resolve();
    await ended;
    expect(asked.filter(({ type }) => type === 'hold')).toHaveLength(2);
  });
});

describe('a worker', () => {
  /** A worker that runs `replies` in this thread. */
  class OneWorker extends EventTarget {
    static all: OneWorker[] = [];
    readonly heard: ToWorker<TestCalls>[] = [];
    readonly replies = new Replies<TestCalls>(
      { add: ({ a, b }) => a + b, later: (text) => text, count: () => LATER },
      (data) => this.dispatchEvent(new MessageEvent('message', { data })),
    );
    terminate = vi.fn();
    constructor() {
      super();
      OneWorker.all.push(this);
    }
    postMessage(message: ToWorker<TestCalls>): void {
      this.heard.push(message);
      queueMicrotask(() => this.replies.handle(message));
    }
  }

  const watched = (died: (error: SluiceError) => void) => {
    OneWorker.all = [];
    vi.stubGlobal('Worker', OneWorker);
    const start = () => ({
      worker: new OneWorker() as unknown as Worker,
      address: '',
      gone: null,
      keepAlive: () => {},
    });
    return new WatchedWorker<TestCalls>(start, { which: 'worker', remedy: 'try again', died });
  };

  it('holds its lifeline from its first call on, and its death is told once', async () => {
    const opfs = new FakeOpfs().install();
    const died = vi.fn();
    const worker = watched(died);
    expect(await worker.ask('add', { a: 1, b: 2 })).toBe(3);
    await worker.ask('add', { a: 1, b: 2 });
    const [one] = OneWorker.all;
    expect(one?.heard.map((message) => 'lifeline' in message)).toEqual([true, false]);
    await vi.waitFor(() => expect(worker.gone).not.toBeNull());
    expect(died).not.toHaveBeenCalled();
    opfs.locks.killHolders();
    await vi.waitFor(() => expect(died).toHaveBeenCalledOnce());
    expect(died.mock.calls[0]?.[0]).toMatchObject({ code: 'worker_died' });
    one?.dispatchEvent(Object.assign(new Event('error'), { message: 'boom' }));
    expect(died).toHaveBeenCalledOnce();
    await worker.end();
  });

  it('that is ended dies no more', async () => {
    const died = vi.fn();
    const worker = watched(died);
    await worker.ask('later', 'x');
    await worker.end();
    const [one] = OneWorker.all;
    expect(one?.terminate).toHaveBeenCalledOnce();
    one?.dispatchEvent(Object.assign(new Event('error'), { message: 'boom' }));
    expect(died).not.toHaveBeenCalled();
  });
});
