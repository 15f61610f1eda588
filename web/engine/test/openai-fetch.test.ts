// createOpenAIFetch without OpenAI's client: routes, events, errors, signals.
import { describe, expect, it } from 'vitest';
import { Engine, SluiceError, createOpenAIFetch } from '../src/index.js';
import { MODEL } from './engine-setup.js';
import { errorAnswer, type Control } from './fake-module.js';
import { FakeWorker, useFakes } from './fake-workers.js';

const BASE = 'http://sluice.local/v1';
const messages = [{ role: 'user', content: 'a b' }];

interface Called {
  fetch: ReturnType<typeof createOpenAIFetch>;
  engine: Engine;
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
}

async function rig(control: Partial<Control> = {}, options: object = {}): Promise<Called> {
  useFakes({ control });
  const engine = await Engine.load(MODEL, options);
  await engine.ready;
  const fetch = createOpenAIFetch(engine);
  const post = (path: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
    fetch(`${BASE}${path}`, { method: 'POST', body: JSON.stringify(body), ...init });
  return { fetch, engine, post };
}

/** The data of server-sent events. */
async function eventsOf(response: Response): Promise<string[]> {
  const text = await response.text();
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((event) => {
      expect(event).toMatch(/^data: [^\n]+$/);
      return event.slice(6);
    });
}

async function errorOf(response: Response): Promise<object> {
  expect(response.headers.get('content-type')).toBe('application/json');
  return ((await response.json()) as { error: object }).error;
}

describe('the routes', () => {
  it('answer chats and texts', async () => {
    const { post } = await rig();
    const chat = await post('/chat/completions', { model: 'm', messages });
    expect(chat.status).toBe(200);
    expect(await chat.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'a b' } }],
    });
    const text = await post('/completions', { model: 'm', prompt: 'c' });
    expect(await text.json()).toMatchObject({
      object: 'text_completion',
      choices: [{ text: 'c' }],
    });
  });

  it('stream events that end with [DONE]', async () => {
    const { post } = await rig();
    const response = await post('/chat/completions', { messages, stream: true });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = await eventsOf(response);
    expect(events.pop()).toBe('[DONE]');
    const chunks = events.map((event) => JSON.parse(event) as { choices: { delta: object }[] });
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      ...[{ role: 'assistant', content: '' }, { content: 'a' }, { content: ' b' }, {}],
    ]);
    const texts = await eventsOf(await post('/completions', { prompt: 'c', stream: true }));
    expect(texts).toHaveLength(3);
  });

  it('list the model', async () => {
    const { fetch } = await rig();
    const model = { id: 'llama', object: 'model', owned_by: 'sluice' };
    const list = await fetch(`${BASE}/models`);
    expect(await list.json()).toMatchObject({ object: 'list', data: [model] });
    expect(await (await fetch(new URL(`${BASE}/models/llama`))).json()).toMatchObject(model);
    const other = await fetch(`${BASE}/models/other`);
    expect(other.status).toBe(404);
    expect(await errorOf(other)).toMatchObject({ code: 'model_not_found', param: 'model' });
  });

  it("name a model by its name's own characters, however the client writes them", async () => {
    const id = 'Qwen/Qwen3 0.6B: a+b%';
    const fetch = createOpenAIFetch({ info: { name: id } } as Engine);
    for (const written of [encodeURIComponent(id), 'Qwen%2FQwen3%200.6B:%20a+b%25'])
      expect(await (await fetch(`${BASE}/models/${written}`)).json()).toMatchObject({ id });
    expect((await fetch(`${BASE}/models/%ff`)).status).toBe(404);
  });

  it('take a Request, other bodies, other bases, and an engine that comes later', async () => {
    const { engine } = await rig();
    let asked = 0;
    const fetch = createOpenAIFetch(async () => {
      asked += 1;
      return engine;
    });
    const url = 'https://elsewhere.example/api/openai/v2/chat/completions/?version=1';
    const body = JSON.stringify({ messages });
    const init = { method: 'POST', body };
    const found = [
      await fetch(new Request(url, init)),
      await fetch(url, { method: 'post', body: new Blob([body]) }),
      await fetch(new Request(url, { method: 'POST', body: 'no' }), { body }),
    ];
    expect(found.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(asked).toBe(3);
  });
});

describe('errors', () => {
  it('have the status and the body of OpenAI', async () => {
    const { post, fetch } = await rig();
    const type = 'invalid_request_error';
    const cases: [Promise<Response>, number, object][] = [
      [
        post('/chat/completions', { messages, tools: [{}] }),
        400,
        { type, code: 'invalid_argument', param: 'tools' },
      ],
      [
        post('/chat/completions', { messages: [{ role: 'user', content: 'wrong' }] }),
        400,
        { type, code: 'invalid_argument', param: null, message: 'line 1 of the template: no' },
      ],
      [post('/chat/completions', { messages, signal: {} }), 400, { param: 'signal' }],
      [post('/chat/completions', []), 400, { code: 'invalid_argument' }],
      [post('/chat/completions', null, { body: '{' }), 400, { type, param: null }],
      [
        post('/completions', { prompt: 'x'.repeat(200), stream: true }),
        400,
        { type, code: 'context_length_exceeded' },
      ],
      [post('/responses', {}), 404, { type, code: 'unknown_url' }],
      [fetch(`${BASE}/chat/completions`), 405, { type, code: 'method_not_supported' }],
      [post('/models', {}), 405, { message: '/v1/models takes GET, not POST' }],
    ];
    for (const [answering, status, error] of cases) {
      const response = await answering;
      expect(response.status).toBe(status);
      expect(await errorOf(response)).toMatchObject(error);
      expect(response.headers.get('x-should-retry')).toBe('false');
      if (status === 405) expect(response.headers.get('allow')).toMatch(/^(GET|POST)$/);
    }
  });

  it('say that too many wait', async () => {
    let held = true;
    const { post } = await rig({ replyWaits: () => held }, { queueLimit: 0 });
    const first = post('/chat/completions', { messages });
    const second = await post('/chat/completions', { messages });
    expect(second.status).toBe(429);
    expect(second.headers.get('x-should-retry')).toBe('true');
    expect(await errorOf(second)).toMatchObject({ type: 'rate_limit_error', code: 'busy' });
    held = false;
    expect((await first).status).toBe(200);
  });

  it('are of the server if the engine has failed', async () => {
    const { post, engine } = await rig({ replyFails: () => errorAnswer('bad_file', 'no') });
    const failed = await post('/chat/completions', { messages });
    expect([failed.status, await errorOf(failed)]).toEqual([
      500,
      { type: 'server_error', code: 'bad_file', param: null, message: 'no' },
    ]);
    const none = createOpenAIFetch(() => {
      throw new SluiceError('offline', 'there is no engine');
    });
    expect((await none(`${BASE}/models`)).status).toBe(500);
    await engine.close();
    const closed = await post('/chat/completions', { messages });
    expect(closed.status).toBe(500);
    expect(await errorOf(closed)).toMatchObject({
      code: 'closed',
      message: expect.stringContaining('this engine is closed') as string,
    });
  });

  it('are the last event of a stream that has begun', async () => {
    const fails = (i: number): string | null => (i === 1 ? errorAnswer('bad_file', 'no') : null);
    const { post } = await rig({ replyFails: fails });
    const events = await eventsOf(await post('/chat/completions', { messages, stream: true }));
    expect(events).toHaveLength(3);
    expect(JSON.parse(events[2] ?? '')).toEqual({
      error: { message: 'no', type: 'server_error', param: null, code: 'bad_file' },
    });
  });
});

describe('a signal', () => {
  const until = async (is: () => boolean): Promise<void> => {
    while (!is()) await new Promise((next) => setImmediate(next));
  };

  it('ends a request before, while it waits and while it runs', async () => {
    const { post } = await rig({ replyWaits: () => 'weights' });
    const reason = new DOMException('stopped', 'AbortError');
    const before = post('/chat/completions', { messages }, { signal: AbortSignal.abort(reason) });
    await expect(before).rejects.toBe(reason);
    const [one, two] = [new AbortController(), new AbortController()];
    const running = post('/chat/completions', { messages }, { signal: one.signal });
    const waiting = post('/chat/completions', { messages }, { signal: two.signal });
    const refused = [running, waiting].map((each) => expect(each).rejects.toBe(reason));
    await until(() => FakeWorker.control.replies.length === 1);
    two.abort(reason);
    one.abort(reason);
    await Promise.all(refused);
    await until(() => FakeWorker.control.cancels === 1);
  });

  it('answers whatever the function that gives the engine throws', async () => {
    const fetch = createOpenAIFetch(() => {
      throw Object.create(null);
    });
    const { status } = await fetch('/v1/models');
    expect(status).toBe(500);
  });

  it('ends a request that waits for its engine', async () => {
    const fetch = createOpenAIFetch(() => new Promise<Engine>(() => {}));
    const controller = new AbortController();
    const waiting = fetch(`${BASE}/models`, { signal: controller.signal });
    const refused = expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await new Promise((next) => setImmediate(next));
    controller.abort();
    await refused;
  });

  it('ends a body with an error, and a body that is cancelled ends the request', async () => {
    const { post } = await rig({ replyWaits: (i) => i >= 1 && 'weights' });
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = await post('/chat/completions', { messages, stream: true }, { signal });
    const reader = aborted.body?.getReader();
    await reader?.read();
    controller.abort();
    await expect(reader?.read().then(() => reader.read())).rejects.toMatchObject({
      name: 'AbortError',
    });
    await until(() => FakeWorker.control.cancels === 1);
    const left = await post('/chat/completions', { messages, stream: true });
    await left.body?.cancel();
    await until(() => FakeWorker.control.cancels === 2);
  });
});
