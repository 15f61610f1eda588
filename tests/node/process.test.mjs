// Processes that use the library: they end by themselves, and what goes wrong in them is told.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  BUNDLED,
  Engine,
  ROOT,
  bundled,
  greedy,
  runScript,
  script,
  startHub,
  temporaryFolder,
} from './helpers.mjs';

const hub = await startHub();

test('a process ends by itself after close()', async () => {
  for (const threads of [1, 2]) {
    const { next, ended } = script(
      `const engine = await Engine.load(BUNDLED, { threads: args.threads });
       const { text } = await engine.complete('Once', { maxTokens: 5, temperature: 0 });
       await engine.close();
       say(text);`,
      { threads },
    );
    assert.equal(typeof (await next()), 'string');
    assert.deepEqual(await ended, { code: 0, signal: null, err: '' });
  }
});

test('a process ends after a probe, a measurement, a call of the cache, and a failed load', async () => {
  const { next, ended } = script(
    `const keepers = () => process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY)/.test(name));
     say((await Engine.probe(BUNDLED)).architecture);
     say(await Engine.load('/none.gguf').catch(({ code }) => code));
     say((await Engine.measure()).threads);
     const engine = await Engine.load(BUNDLED);
     say(keepers().length > 0);
     await engine.close();
     // Its worker waits for more calls, but nobody waits for it.
     say((await cache.list()).length >= 0);
     say(keepers());`,
  );
  assert.equal(await next(), 'llama');
  assert.equal(await next(), 'not_found');
  assert.equal(typeof (await next()), 'number');
  assert.equal(await next(), true);
  assert.equal(await next(), true);
  assert.deepEqual(await next(), []);
  assert.deepEqual(await ended, { code: 0, signal: null, err: '' });
});

test('of an error that nobody catches Node prints no more than a line of the library', async () => {
  const { code, err } = await script("await Engine.load('/none.gguf');").ended;
  assert.equal(code, 1);
  assert.match(err, /there is no file \/none\.gguf/);
  assert.ok(err.length < 4000, `${err.length} characters`);
});

test('an open engine keeps its process, and the process may exit with it', async () => {
  const { next, ended, child } = script(
    `const engine = await Engine.load(BUNDLED, { threads: 2 });
     await engine.ready;
     process.on('SIGUSR2', () => process.exit(7));
     say('open');`,
  );
  assert.equal(await next(), 'open');
  const which = await Promise.race([
    ended,
    // Whatever would end it has run by then.
    new Promise((resolve) => setImmediate(() => resolve('lives'))),
  ]);
  assert.equal(which, 'lives');
  child.kill('SIGUSR2');
  assert.deepEqual(await ended, { code: 7, signal: null, err: '' });
});

test('an abort ends a load, a prompt and a text, and the engine goes on', async () => {
  const file = hub.add('slow.gguf', bundled, { plan: () => ({ stall: 1_000_000 }) });
  const loading = new AbortController();
  const load = Engine.load(file.url, {
    cache: 'none',
    signal: loading.signal,
    onProgress: () => loading.abort(),
  }).then((engine) => engine.ready);
  await assert.rejects(load, { name: 'AbortError' });

  const engine = await Engine.load(BUNDLED, { threads: 2 });
  const expected = await greedy(engine);
  const writing = new AbortController();
  await assert.rejects(
    async () => {
      for await (const _ of engine.generate('Once', { maxTokens: 200, signal: writing.signal }))
        writing.abort();
    },
    { name: 'AbortError' },
  );
  const text = engine.complete('Once', { signal: AbortSignal.abort(new Error('mine')) });
  await assert.rejects(text, { message: 'mine' });
  assert.equal(await greedy(engine), expected);
  const pending = engine.complete('Once upon a time', { maxTokens: 500 });
  await Promise.all([assert.rejects(pending, { code: 'aborted' }), engine.close()]);
  await assert.rejects(engine.complete('Once'), { code: 'closed' });
});

/** A copy of dist/ in which a file is changed, to be imported. */
function changedLibrary(t, file, change) {
  fs.mkdirSync(path.join(ROOT, 'build'), { recursive: true });
  const folder = fs.mkdtempSync(path.join(ROOT, 'build/changed-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.cpSync(path.join(ROOT, 'web/engine/dist'), folder, { recursive: true });
  const at = path.join(folder, file);
  if (change === null) fs.rmSync(at);
  else fs.writeFileSync(at, change(fs.readFileSync(at, 'utf8')));
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  return import(path.join(folder, 'node/index.js'));
}

test('a thread that traps ends the engine with worker_died', { timeout: 60_000 }, async (t) => {
  const library = await changedLibrary(t, 'wasm/sluice-simd-mt.mjs', (text) => {
    // The thread's entry, as it is called in wasm: it throws while the engine worker computes.
    const changed = text
      .replace('function invokeEntryPoint', 'function unusedEntryPoint')
      .replace(
        /var invokeEntryPoint=\(ptr,arg\)=>\{/,
        "$&throw new WebAssembly.RuntimeError('unreachable');",
      );
    assert.notEqual(changed, text);
    return changed;
  });
  // The pool does not wait for its threads: texts are finished without them until their end is told.
  const work = library.Engine.load(BUNDLED, { flavour: 'simd-mt', threads: 2 }).then(
    async (engine) => {
      for (;;) await engine.complete('Once upon a time', { maxTokens: 3 });
    },
  );
  await assert.rejects(work, { code: 'worker_died', message: /\(unreachable\)/ });
});

test('a thread that does not start is told', async (t) => {
  const library = await changedLibrary(
    t,
    'node/thread.js',
    () => "throw new Error('no such luck')",
  );
  const load = library.Engine.load(BUNDLED, { flavour: 'simd-mt', threads: 2 });
  await assert.rejects(load, {
    code: 'worker_died',
    message: /a thread did not start: no such luck/,
  });
});

for (const file of ['node/engine-worker.js', 'node/loader-worker.js', 'wasm/sluice-simd-mt.wasm']) {
  test(`without ${file} the error is unsupported_environment`, async (t) => {
    const library = await changedLibrary(t, file, null);
    const load = library.Engine.load(BUNDLED, { flavour: 'simd-mt', threads: 2 });
    await assert.rejects(load, (error) => {
      assert.equal(error.code, 'unsupported_environment', String(error));
      assert.match(error.message, /a file of the library, is missing/);
      return true;
    });
  });
}

test('configure() says where the files are', async (t) => {
  const { Engine: Other, configure } = await changedLibrary(t, 'node/loader-worker.js', null);
  configure({ baseUrl: new URL('../../web/engine/dist/', import.meta.url) });
  const engine = await Other.load(BUNDLED, { threads: 2 });
  assert.equal(typeof (await greedy(engine)), 'string');
  await engine.close();
  configure({ baseUrl: 'https://cdn.example/sluice/' });
  await assert.rejects(Other.load(BUNDLED), { code: 'unsupported_environment' });
});

test('the example of the README writes a story, and goes on with it', async () => {
  const readme = fs.readFileSync(path.join(ROOT, 'web/engine/README.md'), 'utf8');
  const [, example] = /^## Node\n\n```js\n([^`]*(?:`[^`]+`[^`]*)*?)^```$/m.exec(readme);
  const file = path.join(temporaryFolder(), 'story.sluice');
  const texts = [];
  for (let run = 0; run < 2; ++run) {
    const { ended } = runScript(example, [BUNDLED, 'Once upon a time', file]);
    const { code, out, err } = await ended;
    assert.equal(code, 0, err);
    assert.match(err, /\r(\d+) of \1 bytes\n\d+\.\d tokens per second, \d threads\n$/);
    texts.push(out);
  }
  const engine = await Engine.load(BUNDLED);
  const session = await engine.restore(new Blob([fs.readFileSync(file)]));
  const written = await engine.detokenize(await session.tokens());
  const all = texts.join('');
  assert.ok(all.startsWith('Once upon a time'), all);
  // A session has no state of its last token yet.
  assert.ok(all.startsWith(written.replace('<s>', '').trimStart()), `${written} | ${all}`);
  assert.ok(written.includes(texts[0]) && written.length > all.length - 20);
  await engine.close();
});
