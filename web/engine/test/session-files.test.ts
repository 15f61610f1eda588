// Sessions as files, in the library: saving, restoring, prefixes from addresses; waiting, aborts and errors.
import { describe, expect, it, vi } from 'vitest';
import { Engine } from '../src/index.js';
import { allEnded, collect, file, MODEL } from './engine-setup.js';
import { SESSION_MAGIC } from './fake-module.js';
import { FakeWorker, streamOf, useFakes } from './fake-workers.js';

const FILE = Uint8Array.of(...new TextEncoder().encode(SESSION_MAGIC), 5, 6, 7);
const saved = (): Blob => new Blob([FILE]);

/** A ready engine, and the control of its fake module. */
async function ready(control: Parameters<typeof useFakes>[0] = {}) {
  const made = useFakes(control);
  const engine = await Engine.load(MODEL);
  await engine.ready;
  return { engine, control: made };
}

/** What `fetch` answers from now on. */
function serve(answer: () => Response | Promise<Response>): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(async (_url: string, _init?: RequestInit) => answer());
  vi.stubGlobal('fetch', fetched);
  return fetched;
}

const heard = (type: string) =>
  FakeWorker.all
    .flatMap((worker) => worker.heard)
    .filter((message) => (message.type === 'call' ? message.name : message.type) === type);

describe('save and restore', () => {
  it('gives a session with the same tokens, which goes on', async () => {
    const { engine, control } = await ready();
    const session = engine.session();
    await collect(session.generate('a b c', { maxTokens: 3 }));
    const blob = await session.save();
    expect(new Uint8Array(await blob.arrayBuffer())).toEqual(
      Uint8Array.of(...FILE.subarray(0, SESSION_MAGIC.length), 0, 1, 2),
    );
    const again = await engine.restore(blob);
    expect(await again.tokens()).toEqual([0, 1, 2]);
    expect(await collect(again.resume({ maxTokens: 2 }))).toBe('0 1');
    // No seed was drawn for it: the random numbers go on.
    expect(control.starts.at(-1)?.options).toEqual({ maxTokens: 2 });
    expect(control.files).toBe(0);
    await engine.close();
    await allEnded();
  });

  it('takes several pieces', async () => {
    const { engine } = await ready();
    const session = engine.session();
    await collect(session.generate('a', { maxTokens: 250 }));
    await collect(session.generate('a', { maxTokens: 250 }));
    const many = new Blob([...Array.from({ length: 40 }, () => saved())]);
    // 400 bytes are a session of 393 tokens here.
    expect(await (await engine.restore(many)).tokens()).toHaveLength(393);
    const large = new Blob([saved(), new Uint8Array(300 << 10)]);
    const restored = await engine.restore(large);
    expect(await restored.tokens()).toHaveLength(3 + (300 << 10));
    await engine.close();
  });

  it('saves a session as it is at the call', async () => {
    let identified = false;
    const { engine } = await ready({ control: { identified: () => identified } });
    const session = engine.session();
    await collect(session.generate('a b c', { maxTokens: 3 }));
    const saving = session.save();
    await session.truncate(1);
    expect(await session.tokens()).toEqual([0]);
    identified = true;
    await collect(session.generate('a b c', { maxTokens: 1 }));
    expect(new Uint8Array(await (await saving).arrayBuffer()).slice(-3)).toEqual(
      Uint8Array.of(0, 1, 2),
    );
    await engine.close();
  });

  it('waits until the model is identified, while others go on', async () => {
    let identified = false;
    const { engine, control } = await ready({ control: { identified: () => identified } });
    let done = false;
    const restoring = engine.restore(saved()).finally(() => (done = true));
    const session = engine.session();
    expect(await collect(session.generate('a b', { maxTokens: 4 }))).toBe('a b a b');
    expect(done).toBe(false);
    identified = true;
    expect(await collect(session.generate('a b', { maxTokens: 2 }))).toBe('a b');
    expect(await (await restoring).tokens()).toEqual([5, 6, 7]);
    expect(control.stops).toBe(1);
    await engine.close();
  });

  it('is restored before the weights have come, when they have', async () => {
    const control = useFakes();
    control.identified = () => control.taken.length === file.length;
    const engine = await Engine.load(MODEL);
    const restored = await engine.restore(saved());
    expect(control.taken.length).toBe(file.length);
    expect(await restored.tokens()).toEqual([5, 6, 7]);
    await engine.close();
  });

  it('stops at an abort, and leaves nothing', async () => {
    const { engine, control } = await ready({ control: { identified: () => false } });
    const before = control.sessions;
    let begun = 0;
    for (const begin of [
      (signal: AbortSignal) => engine.restore(saved(), { signal }),
      (signal: AbortSignal) => engine.session({ prefix: saved(), signal }),
      (signal: AbortSignal) => engine.session().save({ signal }),
    ]) {
      const stop = new AbortController();
      const pending = begin(stop.signal);
      begun += 1;
      await vi.waitFor(() => expect([...heard('restore'), ...heard('save')]).toHaveLength(begun));
      stop.abort();
      await expect(pending).rejects.toMatchObject({ name: 'AbortError', code: 'aborted' });
      await expect(begin(AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    }
    expect(heard('cancel')).toHaveLength(3);
    await vi.waitFor(() => expect(control.files).toBe(0));
    // Of the sessions that were made for save().
    await vi.waitFor(() => expect(control.sessions).toBe(before + 2));
    control.identified = () => true;
    expect(await (await engine.restore(saved())).tokens()).toEqual([5, 6, 7]);
    await engine.close();
  });

  it('closes a session whose restoring was over when it was aborted', async () => {
    const { engine, control } = await ready();
    const before = control.sessions;
    const stop = new AbortController();
    const pending = engine.restore(saved(), { signal: stop.signal });
    await vi.waitFor(() => expect(control.sessions).toBe(before + 1));
    stop.abort();
    const outcome = await pending.then(
      (session) => session.close(),
      (error: unknown) => expect(error).toMatchObject({ code: 'aborted' }),
    );
    expect(outcome).toBeUndefined();
    await vi.waitFor(() => expect(control.sessions).toBe(before));
    await engine.close();
  });

  it('says what is wrong, and the engine goes on', async () => {
    const { engine, control } = await ready();
    const before = control.sessions;
    await expect(engine.restore(new Blob(['nonsense']))).rejects.toMatchObject({
      code: 'bad_file',
    });
    await expect(engine.restore(new Blob([]))).rejects.toMatchObject({ code: 'bad_file' });
    await expect(engine.restore('x' as unknown as Blob)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    const strange = { maxTokens: 3 } as object;
    await expect(engine.restore(saved(), strange)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(engine.session().save(strange)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(collect(engine.session().resume())).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(control.files).toBe(0);
    expect(await collect(engine.generate('a b', { maxTokens: 2 }))).toBe('a b');
    expect(control.sessions).toBe(before + 2);
    await engine.close();
    await expect(engine.restore(saved())).rejects.toMatchObject({ code: 'closed' });
  });

  it('is busy while a session generates', async () => {
    const { engine } = await ready();
    const session = engine.session();
    const tokens = session.generate('a b');
    await tokens.next();
    await expect(session.save()).rejects.toMatchObject({ code: 'busy' });
    await tokens.return?.();
    expect((await session.save()).size).toBeGreaterThan(SESSION_MAGIC.length);
    await engine.close();
  });

  it('ends with the engine', async () => {
    const { engine } = await ready({ control: { identified: () => false } });
    const ended = [engine.restore(saved()), engine.session().save()].map((pending) =>
      expect(pending).rejects.toMatchObject({ code: 'aborted' }),
    );
    await engine.close();
    await Promise.all(ended);
    await allEnded();
  });
});

describe('session({ prefix })', () => {
  const memory = { contextSize: 10, kv: 100 };
  const prepared = (options: object) => ready({ control: { memory: { ...memory, ...options } } });
  const ADDRESS = 'https://prefixes.example/p.sluice';

  it('fetches a session and begins with its tokens', async () => {
    const { engine } = await prepared({});
    const fetched = serve(() => new Response(streamOf([FILE.slice(0, 4), FILE.slice(4)])));
    const session = await engine.session({ prefix: ADDRESS });
    expect(await session.tokens()).toEqual([5, 6, 7]);
    expect(fetched.mock.calls.map(([url]) => url)).toEqual([ADDRESS]);
    expect(await (await engine.session({ prefix: new URL(ADDRESS) })).tokens()).toHaveLength(3);
    expect(await (await engine.session({ prefix: saved() })).tokens()).toHaveLength(3);
    await engine.close();
  });

  it('takes no more bytes than the context can hold', async () => {
    const { engine } = await prepared({});
    const large = 4096 + 40 + 100;
    const announced = { headers: { 'content-length': String(large + 1) } };
    let left = true;
    const endless = (): Response =>
      new Response(
        new ReadableStream({
          pull: (stream) => stream.enqueue(new Uint8Array(1000)),
          cancel: () => void (left = false),
        }),
      );
    for (const answer of [() => new Response(streamOf([], 'hang'), announced), endless]) {
      serve(answer);
      await expect(engine.session({ prefix: ADDRESS })).rejects.toMatchObject({
        code: 'context_full',
      });
    }
    await vi.waitFor(() => expect(left).toBe(false));
    await engine.close();
  });

  it('names what a server does wrong', async () => {
    const { engine } = await prepared({});
    serve(() => new Response('no', { status: 404 }));
    await expect(engine.session({ prefix: ADDRESS })).rejects.toMatchObject({
      code: 'download_failed',
      status: 404,
    });
    serve(() => Promise.reject(new TypeError('failed to fetch')));
    await expect(engine.session({ prefix: ADDRESS })).rejects.toMatchObject({
      code: 'download_failed',
    });
    serve(() => new Response(streamOf([FILE.slice(0, 9)], new TypeError('lost'))));
    await expect(engine.session({ prefix: ADDRESS })).rejects.toMatchObject({
      code: 'download_failed',
    });
    serve(() => new Response('<html>not a session</html>'));
    await expect(engine.session({ prefix: ADDRESS })).rejects.toMatchObject({ code: 'bad_file' });
    for (const prefix of [5, null, undefined, 'http://[bad', {}]) {
      const options = { prefix } as unknown as { prefix: string };
      await expect(engine.session(options)).rejects.toMatchObject({ code: 'invalid_argument' });
    }
    await engine.close();
  });

  it('stops a download at an abort', async () => {
    const { engine } = await prepared({});
    serve(() => new Response(streamOf([FILE.slice(0, 9)], 'hang')));
    const stop = new AbortController();
    const pending = engine.session({ prefix: ADDRESS, signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    await expect(pending).rejects.toMatchObject({ code: 'aborted' });
    await engine.close();
  });
});
