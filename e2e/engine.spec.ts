// The library in the browser, without the page: the same bits as the program in all four flavours, the memory that
// a load takes and frees, and options that the page doesn't use.
import fs from 'node:fs';
import path from 'node:path';
import type * as Library from '@sluice/engine';
import {
  BUNDLED,
  FAMILY_MODELS,
  IDS,
  KERNEL_MODELS,
  makeBigModel,
  nativeBuilt,
  NO_NATIVE,
  hashOf,
  programHash,
} from './models';
import { FAULTS } from './faults';
import { expect, test } from './fixtures';
import { harness, hashes, type LibraryWindow } from './library';
import { Renderer } from './renderer';
import { ROOT, servePage } from './servers';

const FLAVOURS = JSON.parse(
  fs.readFileSync(new URL('../wasm/flavours.json', import.meta.url), 'utf8'),
) as Library.Flavour[];

/** With the newer features that this TypeScript version has no types for. */
interface Resizable extends ArrayBuffer {
  resize(bytes: number): void;
}
type ResizableConstructor = new (bytes: number, limits: { maxByteLength: number }) => Resizable;
declare const window: LibraryWindow;

for (const name of KERNEL_MODELS) {
  test(`${name}: all flavours, thread counts and batches give the program's bits`, async ({
    page,
    site,
    models,
  }) => {
    test.skip(!nativeBuilt, NO_NATIVE);
    const hash = programHash(name);
    await harness(page, site);
    const results = await page.evaluate(hashes, {
      url: models.good(name),
      flavours: FLAVOURS,
      ids: IDS,
    });
    expect(results).toHaveLength(16);
    for (const { how, hash: found } of results) expect(found, how).toBe(hash);
  });
}

/** Files that other programs wrote, of these families, with weights that are folded, and with blocks that only draft. */
const OTHERS = path.join(ROOT, '../shared/models/tiny');
const OTHER_FILES =
  /^tiny-((gemma4|qwen35)-(f32|q8_0)|qwen35-mtp-f32|hadamard-(llama|qwen3|qwen3-v2|qwen35)-f32)\.gguf$/;

test("models of all kinds of layers, also of other programs: all flavours give the program's bits", async ({
  page,
  site,
  models,
  hub,
}) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const there = fs.existsSync(OTHERS) ? fs.readdirSync(OTHERS) : [];
  const others = there.filter((name) => OTHER_FILES.test(name));
  if (there.length > 0) expect(others).toHaveLength(9);
  const own = FAMILY_MODELS.map((name) => models.models.get(name) ?? '');
  await harness(page, site);
  for (const file of [...own, ...others.map((name) => path.join(OTHERS, name))]) {
    const { url } = hub.add(path.basename(file), file);
    const found = await page.evaluate(
      async ({ url, flavours, ids }) => {
        const found: string[] = [];
        for (const flavour of flavours) {
          const engine = await window.library.Engine.load(url, { flavour });
          for (const batch of [0, 1]) found.push((await engine.logits(ids, { batch })).hash);
          await engine.close();
        }
        return found;
      },
      { url, flavours: FLAVOURS, ids: IDS },
    );
    const hash = hashOf(file);
    const right = FLAVOURS.flatMap(() => [hash, hash]);
    expect(found, file).toEqual(right);
  }
});

test('a stalled body ends with download_failed, after the time that was given', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const error = await page.evaluate(async (url) => {
    // On a busy machine not even the header may come in this time; then load itself rejects.
    const loading = window.library.Engine.load(url, { stallTimeout: 300, retryTimeout: 0 });
    return loading
      .then((engine) => engine.ready)
      .then(
        () => null,
        (e: Library.SluiceError) => ({ code: e.code, message: e.message }),
      );
  }, models.bad('stalled'));
  expect(error?.code).toBe(FAULTS.stalled.code);
  expect(error?.message).toMatch(FAULTS.stalled.message);
});

test('a load and a text can be aborted, a second text is refused, and the engine stays usable', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const results = await page.evaluate(
    async ({ good, stalled }) => {
      const { Engine } = window.library;
      const outcomes: { what: string; code: string; name: string }[] = [];
      const note = (what: string) => (e: Library.SluiceError) => {
        outcomes.push({ what, code: e.code, name: e.name });
      };
      const first = new AbortController();
      const loading = await Engine.load(stalled, { signal: first.signal });
      first.abort();
      await loading.ready.catch(note('load'));

      const engine = await Engine.load(good);
      await engine.ready;
      const second = new AbortController();
      try {
        for await (const token of engine.generate('Once', {
          signal: second.signal,
          ignoreEos: true,
        })) {
          if (token.id >= 0) second.abort();
        }
      } catch (e) {
        note('generate')(e as Library.SluiceError);
      }
      const running = engine.generate('Once', { ignoreEos: true });
      await running.next();
      await engine.generate('Once').next().catch(note('second'));
      await running.return?.();
      let text = '';
      for await (const token of engine.generate('Once', { maxTokens: 8, seed: 1 }))
        text += token.text;
      const last = engine.generate('Once', { ignoreEos: true });
      await last.next();
      const drained = (async () => {
        for await (const token of last) text += token.text === '\0' ? '' : '';
      })().catch(note('close'));
      await engine.close();
      await drained;
      return { outcomes, text };
    },
    { good: models.good('stories.gguf'), stalled: models.bad('stalled') },
  );
  expect(results.outcomes).toEqual([
    { what: 'load', code: 'aborted', name: 'AbortError' },
    { what: 'generate', code: 'aborted', name: 'AbortError' },
    { what: 'second', code: 'busy', name: 'SluiceError' },
    { what: 'close', code: 'aborted', name: 'AbortError' },
  ]);
  expect(results.text.length).toBeGreaterThan(0);
});

test('sources without a model settle with an error that says why, and leave no worker', async ({
  page,
  site,
  models,
  allowed,
}) => {
  // The browser's own messages about a redirect in a circle, and about 304.
  allowed.push(/Failed to load resource/, /CORS policy/);
  await harness(page, site);
  const renderer = await Renderer.of(page);
  const host = new URL(models.url).host;
  const secret = models.good('stories.gguf').replace('//', '//reader:s3cret@');
  const expected: [string, string, RegExp][] = [
    ['an empty buffer', 'bad_file', /the ArrayBuffer is empty \(0 bytes\)/],
    ['a detached buffer', 'invalid_argument', /the ArrayBuffer is detached/],
    ['a buffer transferred later', 'invalid_argument', /had 5000000 bytes and has 0 now/],
    ['a buffer made smaller', 'invalid_argument', /had 5000000 bytes and has 10 now/],
    ['shared memory', 'invalid_argument', /SharedArrayBuffer.*a copy/],
    ['an empty Blob', 'bad_file', /the file is empty \(0 bytes\)/],
    ['an empty File', 'bad_file', /the file is empty \(0 bytes\)/],
    ...(['empty', 'no-content', 'reset-content', 'not-modified', 'circle'] as const).map(
      (fault): [string, string, RegExp] => [
        models.bad(fault),
        FAULTS[fault].code,
        FAULTS[fault].message,
      ],
    ),
    [secret, 'invalid_argument', new RegExp(`the address of ${host} holds a user name or a pass`)],
  ];
  for (const call of ['load', 'probe'] as const) {
    const found = await page.evaluate(
      async ({ call, names }) => {
        const big = (): Resizable => {
          const { ArrayBuffer: Constructor } = window as unknown as {
            ArrayBuffer: ResizableConstructor;
          };
          const buffer = new Constructor(5_000_000, { maxByteLength: 5_000_000 });
          new Uint8Array(buffer).set([0x47, 0x47, 0x55, 0x46, 3, 0, 0, 0]);
          return buffer;
        };
        const outcomes: string[] = [];
        for (const name of names) {
          let source: Library.ModelSource = name;
          let later = (): void => {};
          if (name.endsWith('buffer')) source = new ArrayBuffer(0);
          if (name === 'a detached buffer')
            structuredClone(source, { transfer: [source as ArrayBuffer] });
          if (name.startsWith('a buffer')) {
            const buffer = big();
            source = buffer;
            later = name.endsWith('later')
              ? () => void structuredClone(buffer, { transfer: [buffer] })
              : () => buffer.resize(10);
          }
          if (name === 'shared memory')
            source = new SharedArrayBuffer(10) as unknown as ArrayBuffer;
          if (name === 'an empty Blob') source = new Blob([]);
          if (name === 'an empty File') source = new File([], 'empty.gguf');
          const settled = window.library.Engine[call](source, { retryTimeout: 0 }).then(
            () => 'no error',
            (e: Library.SluiceError) => `${e.code}: ${e.message}`,
          );
          later();
          outcomes.push(await settled);
        }
        return outcomes;
      },
      { call, names: expected.map(([name]) => name) },
    );
    for (const [i, [name, code, message]] of expected.entries()) {
      expect(found[i], `${call} of ${name}`).toContain(code);
      expect(found[i], `${call} of ${name}`).toMatch(message);
      expect(found[i]).not.toContain('s3cret');
    }
    await expect.poll(() => renderer.workers(), { message: `workers after ${call}` }).toBe(0);
  }
});

/**
 * Makes a copy of the threaded modules in which the first step makes a thread of the pool trap, and then waits for that
 * thread, as the engine does for a thread that has begun its part. Returns the directory.
 */
function trappingModules(dir: string): string {
  fs.cpSync(path.join(ROOT, 'web/engine/dist/wasm'), dir, { recursive: true });
  const trap = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0]; // a function f:
  trap.push(7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11); // unreachable
  const changes: [string, string][] = [
    [
      'invokeEntryPoint=(ptr,arg)=>{',
      `invokeEntryPoint=()=>{Atomics.wait(new Int32Array(wasmMemory.buffer),0,0);
       new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${trap}]))).exports.f();`,
    ],
    [
      'export default Module;',
      `export default async (options)=>{
         const module=await Module(options);
         const words=new Int32Array(options.wasmMemory.buffer);
         module.Session.prototype.step=()=>{
           Atomics.store(words,0,1);Atomics.notify(words,0);Atomics.wait(words,1,0);
         };
         return module;
       };`,
    ],
  ];
  for (const name of ['sluice-simd-mt.mjs', 'sluice-relaxed-mt.mjs']) {
    let text = fs.readFileSync(path.join(dir, name), 'utf8');
    for (const [from, to] of changes) {
      expect(text.split(from), `${from} in ${name}`).toHaveLength(2);
      text = text.replace(from, () => to);
    }
    fs.writeFileSync(path.join(dir, name), text);
  }
  return dir;
}

test('a trap in a thread of the pool ends the engine at once, though the engine waits for the thread', async ({
  page,
  models,
}, testInfo) => {
  const wasm = trappingModules(testInfo.outputPath('wasm'));
  const site = await servePage(true, { '/engine/wasm/': wasm });
  await harness(page, site);
  const renderer = await Renderer.of(page);
  const found = await page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url, { threads: 2 });
    await engine.ready;
    const tell = (e: Library.SluiceError): string => `${e.code}: ${e.message}`;
    const first = await engine.generate('Once').next().then(String, tell);
    const then = await engine.tokenize('Once').then(String, tell);
    await engine.close();
    return [first, then];
  }, models.good('stories.gguf'));
  for (const error of found) expect(error).toMatch(/^worker_died: .*RuntimeError: unreachable/);
  await expect.poll(() => renderer.workers()).toBe(0);
  await site.close();
});

test('absurd settings are refused by name, and nothing is left of them', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const renderer = await Renderer.of(page);
  const results = await page.evaluate(async (url) => {
    const { Engine } = window.library;
    const engine = await Engine.load(url);
    await engine.ready;
    const throwing = (name: string): object =>
      Object.defineProperty({}, name, {
        enumerable: true,
        get: () => {
          throw new Error('a getter of the caller');
        },
      });
    const revoked = Proxy.revocable([], {});
    revoked.revoke();
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    const absurd: [string, Record<string, unknown>][] = [
      ['temperature', { temperature: Number.NaN }],
      ['temperature', { temperature: -1 }],
      ['temperature', { temperature: [1] }],
      ['temperature', throwing('temperature') as Record<string, unknown>],
      ['topK', { topK: 1.5 }],
      ['topK', { topK: 40n }],
      ['topP', { topP: Number.POSITIVE_INFINITY }],
      ['topP', { topP: 1.5 }],
      ['minP', { minP: null }],
      ['maxTokens', { maxTokens: 0.5 }],
      ['maxTokens', { maxTokens: 1e300 }],
      ['seed', { seed: -1 }],
      ['seed', { seed: '7' }],
      ['seed', { seed: null }],
      ['repeatPenalty', { repeatPenalty: Number.NaN }],
      ['repeatPenalty', { repeatPenalty: 0 }],
      ['stop', { stop: '' }],
      ['stop', { stop: ['a', 1n] }],
      ['stop', { stop: [undefined] }],
      ['stop', { stop: cyclic }],
      ['stop', { stop: '\ud800' }],
      ['stop', { stop: 'x'.repeat(1025) }],
      ['stop', { stop: Array.from({ length: 65 }, () => 'x') }],
      ['stop', { stop: Array.from({ length: 64 }, () => 'x'.repeat(1024)) }],
      ['stop', { stop: revoked.proxy }],
      ['ignoreEos', { ignoreEos: 'no' }],
      ['special', { special: 1 }],
      ['topLogprobs', { topLogprobs: 101 }],
      ['signal', { signal: 'now' }],
      ['signal', { signal: new Proxy(new AbortController().signal, {}) }],
      ['temprature', { temprature: 1 }],
      ['options', null as unknown as Record<string, unknown>],
      ['options', 7 as unknown as Record<string, unknown>],
    ];
    const found: [string, string][] = [];
    const note = (name: string) => (e: Library.SluiceError) => {
      found.push([name, `${e.code}: ${e.message}`]);
    };
    for (const [name, options] of absurd) {
      await engine
        .generate('Once', options)
        .next()
        .then(() => found.push([name, 'no error']), note(name));
    }
    const ids = new Proxy([1, 2], {});
    for (const wrong of [null, {}, [1, Symbol('x')], [, 1], revoked.proxy, new Int32Array(2)]) {
      const prompt = wrong as unknown as number[];
      await engine
        .generate(prompt)
        .next()
        .then(() => found.push(['prompt', 'no error']), note('prompt'));
      await engine.detokenize(prompt).catch(note('ids'));
      await engine.logits(prompt).catch(note('ids'));
    }
    await engine.tokenize(7 as unknown as string).catch(note('text'));
    await engine.tokenize('a', { special: 'yes' } as object).catch(note('special'));
    await engine.logits([1], { top: 1001 }).catch(note('top'));
    await engine.logits([1], { batch: -1 }).catch(note('batch'));
    await engine.detokenize([1], null as unknown as object).catch(note('options'));
    const refused: [string, unknown][] = [
      ['contextSize', { contextSize: '2048' }],
      ['contextSize', { contextSize: 1e9 }],
      ['threads', { threads: Number.NaN }],
      ['kvType', { kvType: 'f64' }],
      ['memoryBudget', { memoryBudget: () => 1 }],
      ['flavour', { flavour: 'fast' }],
      ['kernels', { kernels: 5 }],
      ['cache', { cache: 'memory' }],
      ['sha256', { sha256: 'ab' }],
      ['headers', { headers: 7 }],
      ['a b', { headers: { 'a b': 'c' } }],
      ['stallTimeout', { stallTimeout: 0 }],
      ['onProgress', { onProgress: 'me' }],
      ['options', null],
    ];
    for (const [name, options] of refused) {
      await Engine.load(url, options as object).catch(note(name));
      await Engine.probe(url, options as object).catch(note(name));
    }
    for (const source of [
      undefined,
      null,
      7,
      '',
      Symbol('x'),
      () => url,
      revoked.proxy,
      new Proxy(new Blob(), {}),
    ]) {
      await Engine.load(source as unknown as string).catch(
        note(source === '' ? "''" : 'the source'),
      );
    }
    // These are accepted: proxies of plain data, and lone surrogates, as U+FFFD.
    const same =
      String(await engine.tokenize('a\ud800b')) === String(await engine.tokenize('a\ufffdb')) &&
      (await engine.logits(ids)).hash === (await engine.logits([1, 2])).hash;
    let tokens = 0;
    for await (const _ of engine.generate(ids, { maxTokens: 2, ignoreEos: true })) ++tokens;
    await engine.close();
    return { found, same, tokens };
  }, models.good('stories.gguf'));
  expect(results.found).toHaveLength(33 + 6 * 3 + 5 + 14 * 2 + 8);
  for (const [name, message] of results.found) {
    expect(message, name).toMatch(/^invalid_argument: /);
    expect(message).toContain(name);
  }
  expect(results).toMatchObject({ same: true, tokens: 2 });
  await expect.poll(() => renderer.workers()).toBe(0);
});

const MB = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

test('loading holds the file once: weights, cache, activations and a constant', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const names = ['stories.gguf', ...KERNEL_MODELS].filter((name) => models.models.has(name));
  for (const name of names) {
    const found = await page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url);
      let peak = 0;
      const look = (): void => {
        peak = Math.max(peak, engine.stats.heapBytes);
      };
      await engine.ready;
      look();
      for await (const token of engine.generate('Once upon a time', {
        maxTokens: 64,
        ignoreEos: true,
      })) {
        if (token.id >= 0) look();
      }
      look();
      const { info } = engine;
      await engine.close();
      return { peak, file: info.bytes, plan: info.memory };
    }, models.good(name));
    const { peak, file, plan } = found;
    console.log(
      `${name}: file ${MB(file)}, heap at its peak ${MB(peak)} of ${MB(plan?.total ?? 0)} planned`,
    );
    expect(plan).not.toBeNull();
    expect(peak).toBeGreaterThan(file * 0.9);
    expect(peak).toBeLessThanOrEqual(plan?.total ?? 0);
  }
});

test('a model of 80 MB is never held twice, by the engine or by the browser', async ({
  page,
  site,
  models,
}) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const name = makeBigModel();
  models.models.set(name.file, name.path);
  await harness(page, site);
  const load = (url: string): Promise<{ bytes: number; heap: number; plan: number }> =>
    page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url, { contextSize: 256 });
      await engine.ready;
      const { bytes, memory } = engine.info;
      const found = { bytes, heap: engine.stats.heapBytes, plan: memory?.total ?? 0 };
      await engine.close();
      return found;
    }, url);
  const renderer = await Renderer.of(page);
  // First the memory that code, workers and threads take with any model.
  for (let i = 0; i < 4; ++i) await load(models.good('stories.gguf'));
  renderer.resetPeak();
  const before = renderer.residentBytes();
  const { bytes, heap, plan } = await load(models.good(name.file));
  const peak = renderer.peakBytes() - before;
  console.log(
    `file ${MB(bytes)}, heap ${MB(heap)} of ${MB(plan)} planned, process grew by ${MB(peak)} at its peak`,
  );
  expect(heap).toBeLessThanOrEqual(plan);
  expect(peak).toBeLessThan(1.5 * bytes);
});

test('the bundled model is the one whose card lies beside it', async () => {
  const card = JSON.parse(fs.readFileSync(BUNDLED.replace('-q8_0.gguf', '.card.json'), 'utf8')) as {
    files: Record<string, { bytes: number; sha256: string }>;
  };
  const { createHash } = await import('node:crypto');
  const bytes = fs.readFileSync(BUNDLED);
  expect(card.files['stories-q8_0.gguf']).toEqual({
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
});
