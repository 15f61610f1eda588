// Calls that are aborted while the engine worker makes a chat's prompt, when it takes no messages.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Engine } from '../src/index.js';
import { isStopped, makeStops, stopAll, stopCall } from '../src/shared/stops.js';
import { ask, asStream, collect, load, user } from './chat-setup.js';
import { FakeWorker } from './fake-workers.js';

afterEach(() => vi.unstubAllGlobals());

const MESSAGES = [user('a')];
const ABORTED = { name: 'AbortError', code: 'aborted' };

type Asks = (engine: Engine, signal: AbortSignal) => Promise<unknown>;

const CALLS: [string, Asks][] = [
  ['applyTemplate', (engine, signal) => engine.applyTemplate(MESSAGES, { signal })],
  ['countTokens', (engine, signal) => engine.countTokens(MESSAGES, { signal })],
  ['answer', (engine, signal) => collect(engine.answer({ messages: MESSAGES, signal }))],
  [
    'answer in a session',
    (engine, signal) => collect(engine.session().answer({ messages: MESSAGES, signal })),
  ],
  ['chat', (engine, signal) => engine.chat.completions.create(ask('a'), { signal })],
  [
    'chat, streamed',
    async (engine, signal) =>
      collect(await engine.chat.completions.create(asStream('a'), { signal })),
  ],
];

/** Calls back in the middle of the next rendering, and resolves to whether that was to end before and after it. */
function duringRendering(work: () => void): Promise<[boolean, boolean]> {
  const { control } = FakeWorker;
  return new Promise((resolve) => {
    control.renders = () => {
      control.renders = () => {};
      const before = control.stopped();
      work();
      resolve([before, control.stopped()]);
    };
  });
}

describe.each(CALLS)('%s', (_, call) => {
  it('ends the rendering when it is aborted, and the next call is answered', async () => {
    const engine = await load();
    const controller = new AbortController();
    const seen = duringRendering(() => controller.abort());
    await expect(call(engine, controller.signal)).rejects.toMatchObject(ABORTED);
    expect(await seen).toEqual([false, true]);
    await expect(call(engine, new AbortController().signal)).resolves.toBeDefined();
    await engine.close();
  });

  it('ends the rendering when the engine is closed', async () => {
    const engine = await load();
    let closed: Promise<void> | undefined;
    const seen = duringRendering(() => {
      closed = engine.close();
    });
    await expect(call(engine, new AbortController().signal)).rejects.toMatchObject(ABORTED);
    expect(await seen).toEqual([false, true]);
    await closed;
  });

  it('rejects at once without shared memory, and the rendering goes on', async () => {
    const shared = globalThis.SharedArrayBuffer;
    vi.stubGlobal('SharedArrayBuffer', undefined);
    const engine = await load();
    expect(globalThis.SharedArrayBuffer).not.toBe(shared);
    const controller = new AbortController();
    const seen = duringRendering(() => controller.abort());
    await expect(call(engine, controller.signal)).rejects.toMatchObject(ABORTED);
    expect(await seen).toEqual([false, false]);
    await expect(call(engine, new AbortController().signal)).resolves.toBeDefined();
    await engine.close();
  });
});

it('a reader that leaves ends the rendering', async () => {
  const engine = await load();
  const stream = engine.answer({ messages: MESSAGES });
  const seen = duringRendering(() => void stream.return?.());
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(await seen).toEqual([false, true]);
  expect((await stream.ending).finish).toBe('aborted');
  await engine.close();
});

it('a call that waits is aborted, not the one before it', async () => {
  const engine = await load();
  const controller = new AbortController();
  const seen = duringRendering(() => controller.abort());
  const first = engine.applyTemplate(MESSAGES);
  const second = engine.countTokens(MESSAGES, { signal: controller.signal });
  await expect(second).rejects.toMatchObject(ABORTED);
  expect(await first).toContain('!');
  expect(await seen).toEqual([false, false]);
  await engine.close();
});

it('a call that was aborted while it waited is not rendered to its end', async () => {
  const engine = await load();
  const controller = new AbortController();
  const { control } = FakeWorker;
  const stopped: boolean[] = [];
  control.renders = () => {
    stopped.push(control.stopped());
    controller.abort();
  };
  const first = engine.applyTemplate(MESSAGES);
  const second = engine.countTokens(MESSAGES, { signal: controller.signal });
  await expect(second).rejects.toMatchObject(ABORTED);
  await first;
  await engine.applyTemplate(MESSAGES);
  expect(stopped).toEqual([false, true, false]);
  await engine.close();
});

it('a call is stopped by its own number, or by all', () => {
  const stops = makeStops();
  stopCall(stops, 7);
  expect([6, 7, 8, 7 + stops.length].map((call) => isStopped(stops, call))).toEqual([
    false,
    true,
    false,
    false,
  ]);
  stopAll(stops);
  expect([1, 7, 1000].map((call) => isStopped(stops, call))).toEqual([true, true, true]);
});
