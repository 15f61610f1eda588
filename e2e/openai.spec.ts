// OpenAI's own client in the page, whose requests an engine answers.
import path from 'node:path';
import type { Page } from '@playwright/test';
import { buildSync } from 'esbuild';
import type { Engine } from '@sluice/engine';
import type { OpenAI } from 'openai';
import { expect, test } from './fixtures';
import { PLAIN_TEMPLATE as TEMPLATE, harness, type LibraryWindow } from './library';
import { ROOT } from './servers';

declare const window: LibraryWindow & {
  client: OpenAI;
  engine: Engine;
  /** What the engine was asked, in their order. */
  asked: string[];
};

let script = '';

test.beforeAll(() => {
  const bundle = buildSync({
    stdin: { contents: "export { OpenAI } from 'openai';", resolveDir: path.join(ROOT, 'e2e') },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  });
  script = bundle.outputFiles[0]?.text ?? '';
});

/** Opens a page with a client, which talks to an engine with the bundled model. */
async function open(page: Page, site: { url: string }, url: string, load: object): Promise<void> {
  const headers = { 'cross-origin-resource-policy': 'same-origin' };
  await page.route('**/openai-client.js', (route) =>
    route.fulfill({ body: script, contentType: 'text/javascript', headers }),
  );
  await harness(page, site);
  await page.evaluate(
    async ({ url, load }) => {
      const address = '/openai-client.js';
      const { OpenAI } = (await import(address)) as { OpenAI: typeof import('openai').OpenAI };
      const { Engine, createOpenAIFetch } = window.library;
      const engine = await Engine.load(url, { threads: 1, ...load });
      const answer = createOpenAIFetch(() => engine);
      window.engine = engine;
      window.asked = [];
      window.client = new OpenAI({
        apiKey: 'none',
        baseURL: 'http://sluice.local/v1',
        dangerouslyAllowBrowser: true,
        fetch: (input, init) => {
          window.asked.push(new URL(String(input)).pathname);
          return answer(input, init);
        },
      });
    },
    { url, load },
  );
}

test('chat, texts, models, log-probabilities and n', async ({ page, site, models }) => {
  await open(page, site, models.good('stories.gguf'), {});
  const found = await page.evaluate(async (template) => {
    const { client } = window;
    const body = {
      model: 'stories',
      seed: 5,
      max_tokens: 16,
      chat_template: template,
      messages: [{ role: 'user' as const, content: 'Once upon a time' }],
    };
    const list = [];
    for await (const model of client.models.list()) list.push(model.id);
    const { id } = await client.models.retrieve(list[0] ?? '');
    const chat = await client.chat.completions.create({
      ...body,
      logprobs: true,
      top_logprobs: 3,
      n: 2,
    });
    let text = '';
    const ends: unknown[] = [];
    const usages: unknown[] = [];
    for await (const { choices, usage } of await client.chat.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    })) {
      text += choices[0]?.delta.content ?? '';
      if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason);
      usages.push(usage?.completion_tokens);
    }
    const completion = await client.completions.create({
      model: 'stories',
      prompt: 'Once upon a time',
      seed: 5,
      max_tokens: 16,
    });
    // The client's own helper puts a stream together.
    const helped = await client.chat.completions.stream(body).finalContent();
    return { list, id, chat, text, ends, usages, completion, helped, asked: window.asked };
  }, TEMPLATE);
  const [first, second] = found.chat.choices;
  const content = first?.message.content ?? '';
  expect(content.length).toBeGreaterThan(10);
  expect(second?.message.content).not.toBe(content);
  expect(found.chat).toMatchObject({
    object: 'chat.completion',
    model: found.id,
    usage: { completion_tokens: 32 },
    choices: [
      { index: 0, finish_reason: 'length' },
      { index: 1, finish_reason: 'length' },
    ],
  });
  expect([found.text, found.helped, found.completion.choices[0]?.text]).toEqual([
    ...[content, content, content],
  ]);
  expect(found.ends).toEqual(['length']);
  expect(found.usages.pop()).toBe(16);
  expect(found.list).toEqual([found.id]);
  const logprobs = first?.logprobs?.content ?? [];
  expect(logprobs).toHaveLength(16);
  expect(Buffer.from(logprobs.flatMap(({ bytes }) => bytes ?? [])).toString()).toBe(content);
  for (const { top_logprobs: top } of logprobs) {
    expect(top).toHaveLength(3);
    expect(top.map(({ logprob }) => logprob)).toEqual(
      top.map(({ logprob }) => logprob).sort((a, b) => b - a),
    );
  }
  expect(found.asked).toEqual([
    '/v1/models',
    `/v1/models/${encodeURIComponent(found.id)}`,
    ...['/v1/chat/completions', '/v1/chat/completions', '/v1/completions', '/v1/chat/completions'],
  ]);
});

test('embeddings, as base64, which the client asks for by itself, and as floats', async ({
  page,
  site,
  models,
}) => {
  await open(page, site, models.good('stories.gguf'), {});
  const found = await page.evaluate(async () => {
    const { client } = window;
    const texts = ['Once upon a time', 'The dog ran home.'];
    const create = async (more: object): Promise<OpenAI.CreateEmbeddingResponse> =>
      client.embeddings.create({ model: 'stories', input: texts, ...more });
    const own = await window.engine.embed(texts);
    const ids = await Promise.all(texts.map((text) => window.engine.tokenize(text)));
    return {
      own: own.map(({ embedding }) => Array.from(embedding)),
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      usual: await create({}),
      floats: await create({ encoding_format: 'float' }),
      coded: await create({ encoding_format: 'base64' }),
      cut: await create({ dimensions: 16, user: 'u' }),
      one: await create({ input: texts[1] }),
      lists: await create({ input: ids }),
      list: await create({ input: ids[0] }),
    };
  });
  const { own, tokens, usual, floats, coded, cut, one, lists, list } = found;
  expect(usual).toMatchObject({
    object: 'list',
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    data: own.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  });
  expect(floats).toEqual(usual);
  for (const [i, { embedding }] of coded.data.entries()) {
    const bytes = Buffer.from(embedding as unknown as string, 'base64');
    const numbers = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at));
    expect(numbers).toEqual(own[i]);
  }
  for (const { embedding } of cut.data) {
    expect(embedding).toHaveLength(16);
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
  }
  expect(one.data.map(({ embedding }) => embedding)).toEqual([own[1]]);
  expect(lists.data).toHaveLength(2);
  expect(list.data[0]?.embedding).toEqual(lists.data[0]?.embedding);
  expect(list.usage.total_tokens).toBeLessThan(tokens);
});

test('an abort ends the answer, while it runs and while it waits', async ({
  page,
  site,
  models,
}) => {
  await open(page, site, models.good('stories.gguf'), {});
  const found = await page.evaluate(async (template) => {
    const { client } = window;
    const body = {
      model: 'stories',
      seed: 5,
      chat_template: template,
      messages: [{ role: 'user' as const, content: 'Once upon a time' }],
    };
    const errorOf = (answer: Promise<unknown>): Promise<string> =>
      answer.then(
        () => 'none',
        (error: unknown) => (error as Error).constructor.name,
      );
    const seen: string[] = [];
    // Leaving the loop, and the stream's own controller.
    for await (const { choices } of await client.chat.completions.create({
      ...body,
      stream: true,
    })) {
      seen.push(choices[0]?.delta.content ?? '');
      if (seen.length === 4) break;
    }
    const stream = await client.chat.completions.create({ ...body, stream: true });
    let chunks = 0;
    for await (const _ of stream) if (++chunks === 3) stream.controller.abort();
    // One runs and two wait, of which one is aborted.
    const [one, two] = [new AbortController(), new AbortController()];
    const long = { ...body, max_tokens: 100_000, temperature: 2 };
    const running = await client.chat.completions.create(
      { ...long, stream: true },
      { signal: one.signal },
    );
    const waiting = errorOf(client.chat.completions.create(body, { signal: two.signal }));
    const last = client.chat.completions.create({ ...body, max_tokens: 5 });
    two.abort();
    const refused = await waiting;
    for await (const _ of running) one.abort();
    const { usage } = await last;
    return { seen, chunks, refused, usage };
  }, TEMPLATE);
  expect(found.seen).toHaveLength(4);
  // What had come already may still be read.
  expect(found.chunks).toBeGreaterThanOrEqual(3);
  expect(found.refused).toBe('APIUserAbortError');
  expect(found.usage?.completion_tokens).toBe(5);
});

test('errors are those of the client', async ({ page, site, models }) => {
  await open(page, site, models.good('stories.gguf'), { contextSize: 64, queueLimit: 0 });
  const found = await page.evaluate(async (template) => {
    const client = window.client.withOptions({ maxRetries: 0 });
    const body = {
      model: 'stories',
      seed: 5,
      chat_template: template,
      messages: [{ role: 'user' as const, content: 'Once upon a time' }],
    };
    const errorOf = (answer: Promise<unknown>): Promise<object> =>
      answer.then(
        () => ({}),
        (error: unknown) => {
          const { status, code, param, type, message } = error as InstanceType<
            typeof OpenAI.APIError
          >;
          const { name } = (error as Error).constructor;
          return { name, status, code, param, type, message };
        },
      );
    const create = (more: object): Promise<object> =>
      errorOf(client.chat.completions.create({ ...body, ...more } as typeof body));
    const tool = { type: 'function', function: { name: 'f', parameters: {} } };
    const long = [{ role: 'user', content: 'word '.repeat(200) }];
    const refused = [
      await create({ tools: [tool] }),
      await create({ response_format: { type: 'json_object' } }),
      await create({ messages: long }),
      await create({ messages: long, stream: true }),
      await create({ chat_template: '{{ raise_exception("no") }}' }),
      await errorOf(client.moderations.create({ input: 'a' })),
      await errorOf(client.embeddings.create({ model: 'm', input: '' })),
      await errorOf(client.embeddings.create({ model: 'm', input: 'a', dimensions: 100_000 })),
      await errorOf(client.embeddings.create({ model: 'm', input: 'word '.repeat(200) })),
      await errorOf(client.embeddings.create({ model: 'm', input: Array<string>(2049).fill('a') })),
      await errorOf(client.models.retrieve('other')),
    ];
    // Long enough that it doesn't end by itself meanwhile.
    const running = await client.chat.completions.create({ ...body, n: 128, stream: true });
    refused.push(await create({}));
    // With its usual retries the client waits until there is room.
    const asked = window.asked.length;
    const retried = window.client.chat.completions.create({ ...body, max_tokens: 3 });
    while (window.asked.length === asked) await new Promise((next) => setTimeout(next));
    running.controller.abort();
    const { usage } = await retried;
    return { refused, usage };
  }, TEMPLATE);
  const [tools, format, long, stream, template, unknown, ...rest] = found.refused;
  const [empty, dimensions, tooLong, many, model, busy] = rest;
  const bad = { name: 'BadRequestError', status: 400, type: 'invalid_request_error' };
  expect(tools).toMatchObject({ ...bad, code: 'invalid_argument', param: 'tools' });
  expect(format).toMatchObject({ ...bad, param: 'response_format' });
  for (const one of [long, stream])
    expect(one).toMatchObject({ ...bad, code: 'context_length_exceeded' });
  expect(template).toMatchObject({
    ...bad,
    message: expect.stringContaining('raise_exception: no'),
  });
  expect(unknown).toMatchObject({ name: 'NotFoundError', status: 404, code: 'unknown_url' });
  for (const one of [empty, many])
    expect(one).toMatchObject({ ...bad, code: 'invalid_argument', param: 'input' });
  expect(dimensions).toMatchObject({ ...bad, code: 'invalid_argument', param: 'dimensions' });
  expect(tooLong).toMatchObject({ ...bad, code: 'context_length_exceeded' });
  expect(model).toMatchObject({ name: 'NotFoundError', code: 'model_not_found', param: 'model' });
  expect(busy).toMatchObject({ name: 'RateLimitError', status: 429, code: 'busy' });
  expect(found.usage?.completion_tokens).toBe(3);
});
