// The library in Node: what it loads, with which flavours and threads, and what it computes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  BUNDLED,
  Engine,
  HASHES,
  NO_PROGRAM,
  RECORDED,
  SluiceError,
  bundled,
  greedy,
  program,
  splitTiny,
  startHub,
  temporaryFolder,
  tiny,
} from './helpers.mjs';

const hub = await startHub();
async function hashOf(source, ids) {
  const engine = await Engine.load(source, { threads: 1 });
  const found = await engine.logits(ids);
  await engine.close();
  return found;
}

const TEXT =
  ', there was a little girl named Lily. She loved to play with her toys and make things.';

for (const [flavour, threads] of [
  ['simd', 1],
  ['simd-mt', 1],
  ['simd-mt', 2],
  ['simd-mt', 3],
]) {
  test(`${flavour} with ${threads} threads computes the recorded hashes`, async () => {
    for (const [kvType, hash] of Object.entries(HASHES)) {
      const engine = await Engine.load(BUNDLED, { flavour, threads, kvType });
      assert.equal((await engine.logits(RECORDED.ids)).hash, hash, kvType);
      assert.equal(engine.stats.flavour, flavour);
      assert.equal(engine.stats.threads, threads);
      assert.deepEqual(engine.stats.notes, []);
      await engine.close();
    }
  });
}

test('without options there are threads, and no notes', async () => {
  const engine = await Engine.load(BUNDLED);
  assert.match(engine.stats.flavour, /-mt$/);
  assert.deepEqual(engine.stats.notes, []);
  assert.equal(await greedy(engine), TEXT);
  await engine.close();
});

describe('sources', () => {
  const file = hub.add('stories.gguf', bundled);
  const copy = path.join(temporaryFolder(), 'a model #1%20.gguf');
  fs.copyFileSync(BUNDLED, copy);
  for (const [what, source] of [
    ['a path', BUNDLED],
    ['a relative path', path.relative(process.cwd(), BUNDLED)],
    ['a path with characters that addresses escape', copy],
    ['a file: URL', pathToFileURL(copy)],
    ['a file: URL as a text', pathToFileURL(copy).href],
    ['an http: address', file.url],
    ['a Uint8Array', new Uint8Array(bundled)],
    ['a Buffer', bundled],
    ['an ArrayBuffer', new Uint8Array(bundled).buffer],
    ['a Blob', new Blob([bundled])],
    ['a File', new File([bundled], 'a.gguf')],
    ['a Response', new Response(bundled)],
  ]) {
    test(what, async () => {
      const engine = await Engine.load(source, { cache: 'none', threads: 2 });
      await engine.ready;
      await engine.arrived;
      assert.equal((await engine.logits(RECORDED.ids)).hash, HASHES.f16);
      await engine.close();
    });
  }

  test('a model of a hub', async () => {
    hub.api.repository('tiny/stories', { 'stories-Q8_0.gguf': file });
    const options = { hubUrl: hub.url, threads: 1 };
    const engine = await Engine.load('hf:tiny/stories', options);
    assert.equal((await engine.logits(RECORDED.ids)).hash, HASHES.f16);
    await engine.close();
    const info = await Engine.probe('hf:tiny/stories:Q8_0', options);
    assert.equal(info.architecture, 'llama');
  });

  test(
    'the parts of a split model beside the one that is named',
    { skip: NO_PROGRAM },
    async () => {
      const parts = splitTiny('qwen2-q4_0', 3);
      const { hash } = await hashOf(tiny('qwen2-q4_0'), [1, 2, 3]);
      for (const source of [parts[0], parts[2], parts]) {
        const engine = await Engine.load(source, { threads: 1 });
        assert.equal((await engine.logits([1, 2, 3])).hash, hash);
        await engine.close();
      }
      fs.rmSync(parts[1]);
      await assert.rejects(Engine.load(parts[0]), { code: 'not_found', message: /00002-of-00003/ });
    },
  );
});

describe('errors', () => {
  const refused = async (source, code, message, options = {}) => {
    await assert.rejects(Engine.load(source, options), (error) => {
      assert.ok(error instanceof SluiceError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      return true;
    });
  };

  test('of paths', async () => {
    const empty = path.join(temporaryFolder(), 'empty.gguf');
    fs.writeFileSync(empty, '');
    await refused(
      '/there/is/none.gguf',
      'not_found',
      /no file \/there\/is\/none\.gguf; check the path/,
    );
    await refused(temporaryFolder(), 'bad_file', /is no file/);
    await refused(empty, 'bad_file', /is empty/);
    await refused(import.meta.filename ?? new URL(import.meta.url), 'bad_file', /GGUF/);
    await refused(
      [BUNDLED, 'https://models.example/a.gguf'],
      'invalid_argument',
      /paths and addresses/,
    );
    await refused('file://elsewhere/a.gguf', 'invalid_argument', /names no file of this machine/);
    await refused('  ', 'invalid_argument', /not an address/);
  });

  test('of a server', async () => {
    const gone = hub.add('gone.gguf', bundled, { plan: () => ({ status: 404 }) });
    await refused(gone.url, 'download_failed', /answered 404/, { cache: 'none' });
    // Nothing listens there.
    await refused(
      'http://127.0.0.1:9/a.gguf',
      'download_failed',
      /the server did not answer; see that it runs/,
      {
        cache: 'none',
        retryTimeout: 1,
      },
    );
    await refused(hub.add('a.gguf', bundled).url, 'invalid_argument', /only authorization/, {
      headers: { 'x-key': 'secret' },
    });
  });

  test('of what is missing here', async () => {
    if (!(await relaxedRuns())) {
      await refused(BUNDLED, 'unsupported_environment', /this version of Node/, {
        flavour: 'relaxed',
      });
    }
  });

  test('a file that changes while its weights are streamed', { skip: NO_PROGRAM }, async () => {
    const copy = path.join(temporaryFolder(), 'a.gguf');
    fs.copyFileSync(tiny('llama-f16'), copy);
    const { memory } = await Engine.probe(copy, { contextSize: 64, threads: 1 });
    const engine = await Engine.load(copy, {
      contextSize: 64,
      threads: 1,
      memoryBudget: memory.least,
    });
    await engine.complete([1, 2, 3], { maxTokens: 2 });
    fs.utimesSync(copy, 1, 1);
    await assert.rejects(engine.complete([1, 2, 3, 4], { maxTokens: 2 }), { code: 'bad_file' });
    await engine.close();
  });
});

/** Whether the relaxed flavours run in this version of Node. */
async function relaxedRuns() {
  try {
    await (await Engine.load(BUNDLED, { flavour: 'relaxed' })).close();
    return true;
  } catch (error) {
    assert.equal(error.code, 'unsupported_environment');
    return false;
  }
}

test('the relaxed flavours compute the same, if they run', async (t) => {
  if (!(await relaxedRuns()))
    return t.skip('this version of Node has no relaxed SIMD that is right');
  for (const [flavour, threads] of [
    ['relaxed', 1],
    ['relaxed-mt', 2],
  ]) {
    const engine = await Engine.load(BUNDLED, { flavour, threads });
    assert.equal((await engine.logits(RECORDED.ids)).hash, HASHES.f16);
    await engine.close();
  }
});

test('weights that are streamed from a path give the same bits', { skip: NO_PROGRAM }, async () => {
  for (const name of ['llama-q8_0', 'gemma4-q4_0', 'qwen35-q4_0']) {
    const options = { contextSize: 64, threads: 2 };
    const { memory } = await Engine.probe(tiny(name), options);
    assert.ok(memory.least < memory.all);
    const engine = await Engine.load(tiny(name), { ...options, memoryBudget: memory.least });
    assert.ok(engine.info.memory.rereadBytes > 0);
    assert.deepEqual(
      engine.stats.notes.map(({ code }) => code),
      ['weights_reread'],
    );
    const { hash } = await engine.logits(RECORDED.ids);
    assert.equal(hash, RECORDED.hashes[name].f16, name);
    assert.ok(engine.stats.rereadBytes > 0);
    await engine.close();
  }
});

test('a budget that is too small is refused', async () => {
  await assert.rejects(Engine.load(BUNDLED, { memoryBudget: 100_000 }), {
    code: 'budget_too_small',
  });
});

test('chats, with reuse of what was computed', async () => {
  const engine = await Engine.load(BUNDLED, { threads: 2 });
  const messages = [{ role: 'user', content: 'Tell me a story about a cat.' }];
  const ask = () => engine.chat.completions.create({ messages, max_tokens: 8, temperature: 0 });
  const { choices } = await ask();
  messages.push(choices[0].message, { role: 'user', content: 'Go on.' });
  const { usage } = await ask();
  assert.ok(usage.prompt_tokens_details.cached_tokens > 10);
  let streamed = '';
  const chunks = await engine.chat.completions.create({
    messages: messages.slice(0, 1),
    max_tokens: 8,
    temperature: 0,
    stream: true,
  });
  for await (const { choices } of chunks) streamed += choices[0]?.delta.content ?? '';
  assert.equal(streamed, choices[0].message.content);
  await engine.close();
});

test('vectors', { skip: NO_PROGRAM }, async () => {
  const model = tiny('bert-f32');
  const engine = await Engine.load(model, { threads: 2 });
  const texts = ['a', 'some words', 'some more words'];
  const vectors = await engine.embed(texts);
  for (const [i, text] of texts.entries()) {
    const [{ embedding }] = program('embed', model, '-p', text, '--json');
    assert.deepEqual([...vectors[i].embedding], [...Float32Array.from(embedding)]);
  }
  await engine.close();
});

test('how fast it decodes', async () => {
  const { bytesPerSecond, threads } = await Engine.measure();
  assert.ok(bytesPerSecond > 0);
  assert.ok(threads >= 1);
});
