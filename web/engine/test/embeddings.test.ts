// engine.embeddings.create, and POST /embeddings of createOpenAIFetch, with a fake module.
import { describe, expect, it } from 'vitest';
import { createOpenAIFetch, type EmbeddingRequest } from '../src/index.js';
import { toBase64 } from '../src/page/vectors/embeddings.js';
import { load } from './chat-setup.js';
import { FakeWorker } from './fake-workers.js';

const floatsOf = (base64: string): number[] => {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
};

describe('create', () => {
  it("answers in OpenAI's shape, with floats or base64", async () => {
    const engine = await load();
    const list = await engine.embeddings.create({ input: ['ab', 'c'], model: 'm', user: 'u' });
    const vectors = await engine.embed(['ab', 'c']);
    const data = vectors.map(({ embedding }, index) => ({
      object: 'embedding',
      index,
      embedding: Array.from(embedding),
    }));
    expect(list).toEqual({
      object: 'list',
      data,
      model: 'llama',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
    const coded = await engine.embeddings.create({ input: ['ab', 'c'], encoding_format: 'base64' });
    expect(coded.data.map(({ embedding }) => floatsOf(embedding))).toEqual(
      data.map(({ embedding }) => embedding),
    );
    await engine.close();
  });

  it('takes a text, ids, and lists of these, and cuts vectors', async () => {
    const engine = await load();
    const create = (input: EmbeddingRequest['input']): Promise<unknown> =>
      engine.embeddings.create({ input, dimensions: 2, encoding_format: null });
    expect(await create('ab')).toMatchObject({ usage: { total_tokens: 4 } });
    expect(await create([7, 8, 9])).toMatchObject({ usage: { total_tokens: 3 } });
    expect(await create([[7], [8, 9]])).toMatchObject({ data: [{ index: 0 }, { index: 1 }] });
    expect(FakeWorker.control.groups.slice(1)).toEqual([[[7, 8, 9]], [[7], [8, 9]]]);
    const { data } = await engine.embeddings.create({ input: 'ab', dimensions: 2 });
    expect(data[0]?.embedding).toHaveLength(2);
    expect(Math.hypot(...(data[0]?.embedding ?? []))).toBeCloseTo(1, 6);
    const many = Array.from({ length: 2048 }, () => 'a');
    expect(await create(many)).toMatchObject({ usage: { total_tokens: 3 * 2048 } });
    await engine.close();
  });

  it('refuses the fields that are wrong, by name', async () => {
    const engine = await load();
    const create = engine.embeddings.create as (
      body: unknown,
      options?: unknown,
    ) => Promise<unknown>;
    const wrong: [object, string, string][] = [
      [{}, 'input', 'input is undefined; give a text'],
      [{ input: '' }, 'input', 'input is empty'],
      [{ input: [] }, 'input', 'input is empty; give a text'],
      [{ input: ['a', ''] }, 'input[1]', 'input[1] is empty'],
      [{ input: [[]] }, 'input[0]', 'input[0] is empty'],
      [{ input: ['a', 7] }, 'input[1]', 'input[1] is 7; give an array of token ids'],
      [{ input: [1, 'a'] }, 'input', "input holds 'a'; token ids"],
      [{ input: Array(2049).fill('a') }, 'input', 'input has 2049 texts; give 2048 at most'],
      [{ input: 'a', encoding_format: 'hex' }, 'encoding_format', "give 'float' or 'base64'"],
      [{ input: 'a', dimensions: 0 }, 'dimensions', 'dimensions is 0; give a whole number'],
      [{ input: 'a', dimensions: 9 }, 'dimensions', "the model's vectors have 4 numbers"],
      [{ input: 'a', tools: [{}] }, 'tools', 'tools is not supported yet'],
      [{ input: 'a', inputs: 1 }, 'inputs', "unknown field 'inputs'; the fields are input, "],
    ];
    for (const [body, param, says] of wrong)
      await expect(create(body)).rejects.toMatchObject({
        code: 'invalid_argument',
        param,
        message: expect.stringContaining(says) as string,
      });
    await expect(create('a')).rejects.toThrow(
      "the body is 'a'; give an object: { input: 'a text' }",
    );
    await expect(create({ input: 'a'.repeat(200) })).rejects.toMatchObject({
      code: 'context_full',
    });
    expect(FakeWorker.control.groups).toEqual([]);
    await engine.close();
  });

  it('ends with its signals and its timeout', async () => {
    const engine = await load({ needed: Infinity });
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [
      engine.embeddings.create({ input: 'a', signal }),
      engine.embeddings.create({ input: 'a' }, { signal }),
    ];
    const late = engine.embeddings.create({ input: 'a' }, { timeout: 1 });
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
    controller.abort();
    for (const call of [...calls, engine.embeddings.create({ input: 'a', signal })])
      await expect(call).rejects.toMatchObject({ code: 'aborted' });
    FakeWorker.control.needed = 0;
    expect((await engine.embeddings.create({ input: 'a' })).data).toHaveLength(1);
    await engine.close();
  });
});

describe('the route', () => {
  const post = async (
    fetch: ReturnType<typeof createOpenAIFetch>,
    path: string,
    body: object,
  ): Promise<{ status: number; answer: unknown }> => {
    const init = { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`http://sluice.local/v1${path}`, init);
    return { status: response.status, answer: await response.json() };
  };

  it('answers, and refuses as a server does', async () => {
    const engine = await load({ makes: ['vectors'] });
    const fetch = createOpenAIFetch(engine);
    const found = await post(fetch, '/embeddings', { input: 'ab', encoding_format: 'base64' });
    const { data } = await engine.embeddings.create({ input: 'ab', encoding_format: 'base64' });
    expect(found).toMatchObject({ status: 200, answer: { object: 'list', data } });
    expect(await post(fetch, '/embeddings', { input: '' })).toMatchObject({
      status: 400,
      answer: {
        error: { type: 'invalid_request_error', param: 'input', code: 'invalid_argument' },
      },
    });
    expect(await post(fetch, '/embeddings', { input: 'a'.repeat(200) })).toMatchObject({
      status: 400,
      answer: { error: { code: 'context_length_exceeded' } },
    });
    expect(await post(fetch, '/completions', { prompt: 'a' })).toMatchObject({
      status: 400,
      answer: { error: { type: 'invalid_request_error', code: 'unsupported_model' } },
    });
    expect((await fetch('http://sluice.local/v1/embeddings')).status).toBe(405);
    await engine.close();
  });
});

it('base64 has the bytes of long vectors', () => {
  const vector = Float32Array.from({ length: 9001 }, (_, i) => Math.sin(i));
  expect(floatsOf(toBase64(vector))).toEqual(Array.from(vector));
});
