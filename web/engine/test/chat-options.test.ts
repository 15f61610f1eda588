// The second argument of create, as OpenAI's users write it.
import { describe, expect, it, vi } from 'vitest';
import type { Engine, RequestOptions } from '../src/index.js';
import { asStream, ask, collect, load, posted, until } from './chat-setup.js';
import { FakeWorker } from './fake-workers.js';

type Create = (engine: Engine, body: object, options: RequestOptions) => Promise<unknown>;

const CREATES: [string, Create][] = [
  [
    'chat',
    (engine, body, options) => engine.chat.completions.create({ ...ask('a b'), ...body }, options),
  ],
  [
    'texts',
    (engine, body, options) => engine.completions.create({ prompt: 'a b', ...body }, options),
  ],
];

describe.each(CREATES)('of %s', (_, create) => {
  it.each<[string, (signal: AbortSignal) => [object, RequestOptions]]>([
    ['there', (signal) => [{}, { signal }]],
    ['in the body', (signal) => [{ signal }, {}]],
    ['in both', (signal) => [{ signal: new AbortController().signal }, { signal }]],
  ])('a signal %s ends the answer, while it runs, and before', async (_where, place) => {
    const engine = await load({ replyWaits: () => 'weights' });
    const controller = new AbortController();
    const [body, options] = place(controller.signal);
    const answer = create(engine, body, options);
    await until(() => FakeWorker.control.replies.length === 1);
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError', code: 'aborted' });
    await until(() => FakeWorker.control.cancels === 1);
    await expect(create(engine, body, options)).rejects.toMatchObject({ code: 'aborted' });
    expect(FakeWorker.control.replies).toHaveLength(1);
  });

  it('a signal there ends a stream', async () => {
    const engine = await load({ replyWaits: (i) => i >= 1 && 'weights' });
    const controller = new AbortController();
    const reason = new Error('enough');
    const chunks = (await create(
      engine,
      { stream: true },
      { signal: controller.signal },
    )) as AsyncIterable<unknown>;
    const reading = collect(chunks);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });

  it('timeout ends an answer that is not there, and a stream that has not begun', async () => {
    const engine = await load({ replyWaits: () => 'weights' });
    const late = { name: 'TimeoutError', message: expect.stringContaining('20 ms') as string };
    await expect(create(engine, {}, { timeout: 20 })).rejects.toMatchObject(late);
    await until(() => FakeWorker.control.cancels === 1);
    // This one waits in the line.
    const first = create(engine, {}, { signal: null }).catch(() => {});
    await expect(create(engine, { stream: true }, { timeout: 20 })).rejects.toMatchObject(late);
    await engine.close();
    await first;
  });

  it('timeout lets a stream go on that has begun, and leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let held = true;
    const engine = await load({ replyWaits: (i) => i >= 1 && held && 'weights' });
    const before = vi.getTimerCount();
    const chunks = (await create(
      engine,
      { stream: true },
      { timeout: 1000 },
    )) as AsyncIterable<unknown>;
    expect(vi.getTimerCount()).toBe(before);
    await vi.advanceTimersByTimeAsync(5000);
    held = false;
    FakeWorker.control.replyWaits = () => false;
    await create(engine, {}, { timeout: 1000 }).catch(() => {});
    void chunks;
    expect(vi.getTimerCount()).toBe(before);
  });

  it('takes what else OpenAI’s client takes', async () => {
    const engine = await load();
    const options = {
      maxRetries: 3,
      headers: { 'x-a': 'b' },
      idempotencyKey: 'k',
      query: {},
      stream: true,
      fetchOptions: {},
      method: 'post',
      path: '/x',
      defaultBaseURL: 'http://x',
      timeout: null,
    };
    expect(await create(engine, {}, options)).toMatchObject({ choices: [{ index: 0 }] });
    for (const none of [null, undefined, {}])
      expect(await create(engine, {}, none as RequestOptions)).toHaveProperty('choices');
  });

  it.each([
    [
      'sginal',
      { sginal: 1 },
      "unknown option 'sginal' in the second argument, which takes signal, timeout",
    ],
    ['max_tokens', { max_tokens: 5 }, 'fields of the request, such as messages, go into the first'],
    ['body', { body: {} }, "unknown option 'body'"],
    ['signal', { signal: {} }, 'signal is {}; give an AbortSignal'],
    ['timeout', { timeout: -1 }, 'timeout is -1; give a whole number of milliseconds from 0'],
    ['timeout', { timeout: 2 ** 31 }, 'timeout is 2147483648; give'],
    ['timeout', { timeout: '5' }, "timeout is '5'; give"],
    [undefined, 'now', "the second argument is 'now'; give an object: { signal }"],
    [
      undefined,
      new AbortController().signal,
      'is [object AbortSignal]; give an object: { signal }',
    ],
    [undefined, new AbortController(), 'is [object AbortController]; give an object: { signal }'],
    [undefined, [1], 'the second argument is [1]; give an object'],
  ])('refuses %s by its name', async (param, options, message) => {
    const engine = await load();
    const refused = create(engine, {}, options as RequestOptions);
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
      ...(param === undefined ? {} : { param }),
    });
    expect(posted()).toEqual([]);
  });
});

it('a stream of chat is typed as one', async () => {
  const engine = await load();
  const { signal } = new AbortController();
  const texts: string[] = [];
  for await (const { choices } of await engine.chat.completions.create(asStream('a b'), { signal }))
    texts.push(choices[0]?.delta.content ?? '');
  expect(texts.join('')).toBe('a b');
});
