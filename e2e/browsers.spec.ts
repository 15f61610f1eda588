// Firefox and WebKit: the program's bits in every flavour that runs there, the same errors for servers that misbehave,
// and the first use of the page. Both run the same tests; browsers/ has the drivers.
import fs from 'node:fs';
import path from 'node:path';
import type * as Library from '@sluice/engine';
import type { Size, Tab } from './browsers/driver';
import { LAPTOP, expect, test } from './browsers/fixtures';
import { FAULTS } from './faults';
import {
  LONG,
  closeDialog,
  forgetEnd,
  lengthsSeen,
  look,
  stopAtFirstWords,
  submitAddress,
  unfoldSheet,
  watchLengths,
  type Seen,
} from './in-page';
import { hashes, type LibraryWindow } from './library';
import { BUNDLED, IDS, KERNEL_MODELS, OTHER, modelFiles, programHash, sluice } from './models';
import { ROOT, type Fault } from './servers';
import { ONCE } from './tags';

declare const window: LibraryWindow;

const PHONE: Size = { width: 360, height: 740 };
/** WebKit reports at least four processors. More threads than processors slow each other down. */
const TWO_THREADS = '&threads=2';
const SCREENSHOTS = path.join(ROOT, 'build/screenshots');

/** Waits until the page looks like `expected`. */
async function becomes(tab: Tab, expected: Record<string, unknown>): Promise<Seen> {
  let seen: Seen | undefined;
  await expect
    .poll(async () => (seen = await tab.evaluate(look, undefined)), { intervals: [50] })
    .toMatchObject(expected);
  if (seen === undefined) throw new Error('nothing was seen');
  return seen;
}

/** Waits until a model is loaded and nothing runs. */
function ready(tab: Tab, model = 'Sluice Stories'): Promise<Seen> {
  return becomes(tab, { model, loading: false, button: 'Write' });
}

/** Presses Write and waits for the text's end. */
async function write(tab: Tab): Promise<Seen> {
  await tab.evaluate(forgetEnd, undefined);
  await tab.press('button.primary');
  await becomes(tab, { button: 'Write', written: true });
  // The button may change before the last words are shown.
  return tab.evaluate(look, undefined);
}

/** Opens the sheet of models. */
async function openSheet(tab: Tab): Promise<void> {
  await tab.press('.chip');
  await becomes(tab, { values: { Size: expect.any(String) } });
}

/** What the sheet says of the model in use, once that is so. */
async function facts(tab: Tab, values: Record<string, unknown>): Promise<Seen> {
  await openSheet(tab);
  await tab.evaluate(unfoldSheet, undefined);
  const seen = await becomes(tab, { values, loading: false });
  await tab.evaluate(closeDialog, undefined);
  return seen;
}

/** Loads a model from an address. */
async function loadAddress(tab: Tab, address: string): Promise<void> {
  await openSheet(tab);
  await tab.evaluate(submitAddress, address);
}

/** What the details of the figures show. */
async function figures(tab: Tab): Promise<Seen> {
  await tab.press('.figures-more');
  await becomes(tab, { values: { Flavour: expect.any(String) } });
  const seen = await tab.evaluate(look, undefined);
  await tab.evaluate(closeDialog, undefined);
  return seen;
}

test('the best flavour is taken, and what the browser lacks is named', async ({
  tab,
  way,
  models,
}) => {
  const found = await tab.evaluate(
    async ({ url, refused }) => {
      const { Engine } = window.library;
      const engine = await Engine.load(url);
      await engine.ready;
      const { flavour, threads, notes } = engine.stats;
      await engine.close();
      const errors: [string, string, string][] = [];
      for (const flavour of refused) {
        await Engine.load(url, { flavour }).then(
          (engine) => engine.close(),
          (e: Library.SluiceError) => errors.push([flavour, e.code, e.message]),
        );
      }
      return { flavour, threads, notes, errors };
    },
    {
      url: models.good('stories.gguf'),
      refused: Object.keys(way.refused) as Library.Flavour[],
    },
  );
  expect(found.flavour).toBe(way.runs[0]);
  if (!found.flavour.endsWith('-mt')) {
    expect(found.threads).toBe(1);
    expect(found.notes.map(({ message }) => message).join('\n')).toMatch(
      way.refused['simd-mt'] ?? /^$/,
    );
  }
  expect(found.errors).toHaveLength(4 - way.runs.length);
  for (const [flavour, code, message] of found.errors) {
    expect(code, flavour).toMatch(/^unsupported_(browser|environment)$/);
    expect(message, flavour).toMatch(way.refused[flavour as Library.Flavour] ?? /^$/);
  }
});

for (const name of KERNEL_MODELS) {
  test(`${name}: flavours, thread counts and batches give the program's bits`, async ({
    tab,
    way,
    models,
  }) => {
    const hash = programHash(name);
    const results = await tab.evaluate(hashes, {
      url: models.good(name),
      flavours: way.runs,
      ids: IDS,
    });
    const threaded = way.runs.filter((flavour) => flavour.endsWith('-mt')).length;
    expect(results).toHaveLength(2 * (way.runs.length + 2 * threaded));
    for (const { how, hash: found } of results) expect(found, how).toBe(hash);
  });
}

test('a text is the program’s, and one that is stopped leaves the engine usable', async ({
  tab,
  models,
}) => {
  const program = sluice(
    ...['run', BUNDLED, '-p', 'Once upon a time', '-n', '60', '--seed', '12345'],
    ...['--temp', '0.7', '--top-p', '0.9', '--top-k', '30'],
  );
  const found = await tab.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url);
    await engine.ready;
    const write = async (options: Library.GenerateOptions): Promise<string> => {
      let text = '';
      for await (const token of engine.generate('Once upon a time', options)) text += token.text;
      return text;
    };
    const options = { maxTokens: 60, seed: 12345, temperature: 0.7, topP: 0.9, topK: 30 };
    const whole = await write(options);
    const controller = new AbortController();
    const aborted: string[] = [];
    try {
      for await (const token of engine.generate('Once', {
        ignoreEos: true,
        signal: controller.signal,
      })) {
        aborted.push(token.text);
        controller.abort();
      }
    } catch (e) {
      aborted.push(`${(e as Library.SluiceError).name}: ${(e as Library.SluiceError).code}`);
    }
    // The text can also be ended by leaving the loop.
    for await (const _ of engine.generate('Once', { ignoreEos: true })) break;
    const again = await write(options);
    const word = whole.split(' ')[20] ?? '';
    const cut = await write({ ...options, stop: [` ${word}`] });
    const { finish } = engine.stats;
    await engine.close();
    return { whole, aborted, again, cut, word, finish };
  }, models.good('stories.gguf'));
  expect(found.whole).toBe(program);
  expect(found.aborted.at(-1)).toBe('AbortError: aborted');
  expect(found.again).toBe(program);
  expect(found.finish).toBe('stop');
  expect(found.cut).toBe(program.slice(0, program.indexOf(` ${found.word}`)));
});

test(
  'a model by address, by file, as a Blob and from memory gives the same bits',
  { tag: ONCE },
  async ({ tab, site, models }) => {
    const name = 'llama-q4_0.gguf';
    await tab.evaluate(() => {
      const input = document.createElement('input');
      input.type = 'file';
      document.body.append(input);
    }, undefined);
    await tab.chooseFile('input[type=file]', modelFiles().get(name) ?? '');
    const found = await tab.evaluate(
      async ({ url, own, ids }) => {
        const hashOf = async (source: Library.ModelSource): Promise<string> => {
          const engine = await window.library.Engine.load(source);
          await engine.ready;
          const { hash } = await engine.logits(ids);
          await engine.close();
          return hash;
        };
        const file = document.querySelector('input')?.files?.[0];
        if (file === undefined) throw new Error('no file was chosen');
        const bytes = await file.arrayBuffer();
        const probed = await window.library.Engine.probe(file);
        return {
          hashes: [
            await hashOf(url),
            await hashOf(file),
            await hashOf(new Blob([bytes])),
            await hashOf(bytes),
          ],
          name: file.name,
          probed: probed.architecture,
          own: await hashOf(own).then(
            () => 'a model',
            () => 'no model',
          ),
        };
      },
      { url: models.good(name), own: `${site.url}harness/`, ids: IDS },
    );
    expect(found).toEqual({
      hashes: Array(4).fill(programHash(name)),
      name,
      probed: 'llama',
      own: 'no model',
    });
  },
);

test(
  'each server fault has its error, and the next load is good',
  { tag: ONCE },
  async ({ tab, models, allowed }) => {
    allowed.push(/Cross-Origin Request Blocked/);
    const faults = Object.keys(FAULTS) as Fault[];
    const found = await tab.evaluate(
      async ({ addresses, good }) => {
        const errors: [string, string][] = [];
        for (const url of addresses) {
          const stallTimeout = url.includes('/stalled/') ? 500 : 30_000;
          try {
            const engine = await window.library.Engine.load(url, { stallTimeout, retryTimeout: 0 });
            await engine.ready;
            await engine.close();
            errors.push(['no error', '']);
          } catch (e) {
            errors.push([(e as Library.SluiceError).code, (e as Library.SluiceError).message]);
          }
        }
        const engine = await window.library.Engine.load(good);
        await engine.ready;
        const { architecture } = engine.info;
        await engine.close();
        return { errors, architecture };
      },
      { addresses: faults.map((fault) => models.bad(fault)), good: models.good('stories.gguf') },
    );
    for (const [i, fault] of faults.entries()) {
      const [code, message] = found.errors[i] ?? [];
      expect.soft(code, `${fault}: ${message}`).toBe(FAULTS[fault].code);
      expect.soft(message, fault).toMatch(FAULTS[fault].message);
    }
    expect(found.architecture).toBe('llama');
  },
);

test(
  'where a policy forbids workers, the calls of the cache and of the states say so',
  { tag: ONCE },
  async ({ tab, allowed }) => {
    allowed.push(/Content.Security.Policy/i);
    const found = await tab.evaluate(async () => {
      const policy = document.createElement('meta');
      policy.httpEquiv = 'Content-Security-Policy';
      policy.content = "worker-src 'none'";
      document.head.append(policy);
      const { cache, states } = window.library;
      const calls = [cache.list(), cache.verify('https://models.example/m.gguf'), states.list()];
      return Promise.all(
        calls.map((call) =>
          (call as Promise<unknown>).then(
            () => 'no error',
            (e: Library.SluiceError) => `${e.code}: ${e.message}`,
          ),
        ),
      );
    }, undefined);
    for (const told of found)
      expect(told).toMatch(/^unsupported_environment: .*\(worker-src\) forbids .*loader-worker.js/);
  },
);

for (const [where, size] of Object.entries({ phone: PHONE, laptop: LAPTOP })) {
  const tag = where === 'phone' ? ONCE : [];
  test(
    `the page on a ${where}: the model is ready, text streams in, figures stand there`,
    { tag },
    async ({ open, way }, { project }) => {
      const tab = await open(`${LONG}${TWO_THREADS}`, size);
      const before = await ready(tab);
      await facts(tab, { Architecture: 'llama', From: 'this page' });
      expect(before.problem).toBeNull();
      await tab.evaluate(watchLengths, undefined);
      const { text, state, overflow } = await write(tab);
      const { values } = await figures(tab);
      expect(values['Flavour']).toBe(way.runs[0]);
      expect(text.length).toBeGreaterThan(100);
      const growing = await tab.evaluate(lengthsSeen, undefined);
      expect(growing.length).toBeGreaterThan(1);
      expect(growing).toEqual([...growing].sort((a, b) => a - b));
      expect(growing.at(-1)).toBe(text.length);
      expect(values['First token']).toMatch(/^[\d.,]+ m?s$/);
      expect(values['Prompt']).toMatch(/^[\d.,]+ tokens\/s$/);
      expect(values['Writing']).toMatch(/^[\d.,]+ tokens\/s$/);
      expect(values['In memory']).toMatch(/^[\d.]+ MB$/);
      expect(state).toMatch(/\d+ tokens, seed 90/);
      expect(overflow).toBe(0);
      await tab.evaluate(() => scrollTo(0, 0), undefined);
      const png = Buffer.from(await tab.screenshot());
      fs.mkdirSync(SCREENSHOTS, { recursive: true });
      fs.writeFileSync(path.join(SCREENSHOTS, `${project.name}-${where}.png`), png);
      // The size in the PNG's header.
      const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
      expect({ width, height }).toEqual(size);
    },
  );
}

test('the page stops in the middle, and writes again', async ({ open }) => {
  const tab = await open(`${LONG}${TWO_THREADS}`);
  await ready(tab);
  await tab.evaluate(stopAtFirstWords, undefined);
  const part = await write(tab);
  expect(part.state).toContain('Stopped');
  const whole = await write(tab);
  expect(whole.text.length).toBeGreaterThan(part.text.length);
  expect(whole.text.startsWith(part.text)).toBe(true);
});

test(
  'the page opens a file and an address; a fault is told of, and the model stays',
  { tag: ONCE },
  async ({ open, models }) => {
    const tab = await open(`#length=20&seed=7${TWO_THREADS}`);
    await ready(tab);
    await openSheet(tab);
    await tab.chooseFile('#file', modelFiles().get(OTHER) ?? '');
    await facts(tab, { Architecture: 'qwen2', From: `${OTHER}, this device` });
    expect((await write(tab)).text).not.toBe('');

    const { host } = new URL(models.url);
    await loadAddress(tab, models.good('stories.gguf'));
    await facts(tab, { From: host });
    const { text } = await write(tab);
    expect(text).not.toBe('');

    await loadAddress(tab, models.bad('broken'));
    const { problem } = await becomes(tab, {
      problem: { code: FAULTS.broken.code },
      loading: false,
    });
    expect(problem?.text).toMatch(FAULTS.broken.message);
    await ready(tab);
    expect((await write(tab)).text).toBe(text);
  },
);
