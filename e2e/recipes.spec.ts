// The recipes of docs/recipes.md, run as they stand there: the pages as they are, React, Vue and Svelte built by esbuild. Only
// the models' addresses are others. Scripts come as files, because the server's policy forbids inline ones.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { build, type Plugin } from 'esbuild';
import { compile as compileSvelte } from 'svelte/compiler';
import { compileScript, compileTemplate, parse } from 'vue/compiler-sfc';
import { serve } from '../scripts/serve.mjs';
import { expect, test as base } from './fixtures';
import { scriptedModel } from './scripted-model';
import { ROOT } from './servers';

const LIBRARY = '/node_modules/@sluice/engine/dist/';
const ANSWER = 'Because **blue** light is scattered most.';
const LONG = Array.from({ length: 900 }, (_, i) => `${i}. Item ${i % 7}\n`).join('');

/** The blocks of code of each recipe. */
function readRecipes(): Map<string, { language: string; code: string }[]> {
  const text = fs.readFileSync(path.join(ROOT, 'docs/recipes.md'), 'utf8');
  const recipes = text.split(/^## /m).slice(1);
  return new Map(
    recipes.map((recipe) => [
      recipe.slice(0, recipe.indexOf('\n')),
      Array.from(recipe.matchAll(/^```(\w+)\n(.*?)^```/gms), ([, language = '', code = '']) => ({
        language,
        code,
      })),
    ]),
  );
}

const RECIPES = readRecipes();

function codeOf(recipe: string, language: string): string {
  const found = RECIPES.get(recipe)?.find((block) => block.language === language);
  if (found === undefined) throw new Error(`docs/recipes.md has no ${language} under ${recipe}`);
  return found.code;
}

/** A folder that is served with the library in it, for the pages of recipes. */
class Folder {
  url = '';
  readonly dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-recipes-'));
  #server: Awaited<ReturnType<typeof serve>> | null = null;

  async start(): Promise<void> {
    this.write('favicon.ico', ''); // browsers ask for it
    const mounts = { [LIBRARY]: path.join(ROOT, 'web/engine/dist') };
    this.#server = await serve({ port: 0, dir: this.dir, mounts });
    this.url = this.#server.url;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
  }

  write(name: string, text: string): void {
    fs.writeFileSync(path.join(this.dir, name), text);
  }

  /** Writes a recipe's page, its script beside it, with the models at these addresses. */
  writePage(recipe: string, models: Record<string, string>): void {
    const html = codeOf(recipe, 'html').replace(
      /<script type="module">(.*?)<\/script>/s,
      (_, script: string) => {
        this.write('page.js', withModels(script, models));
        return '<script type="module" src="page.js"></script>';
      },
    );
    this.write('index.html', html);
  }
}

function withModels(script: string, models: Record<string, string>): string {
  const said = script.replace(
    /https:\/\/models\.example\/([\w-]+)\.gguf/g,
    (address, name: string) => (name in models ? (models[name] as string) : address),
  );
  expect(said).not.toContain('models.example');
  return said;
}

/** Sends a file to who has the token, also to pages of other origins. */
function guarded(file: string, token: string): http.Server {
  return http.createServer(({ method, headers }, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'authorization, range');
    if (method === 'OPTIONS') return void response.writeHead(204).end();
    if (headers.authorization !== token) return void response.writeHead(401).end();
    response.setHeader('content-length', fs.statSync(file).size);
    fs.createReadStream(file).pipe(response);
  });
}

const test = base.extend<{ folder: Folder; chat: string }>({
  allowed: async ({}, use) => use([/status of 401/, /Download the React DevTools/]),
  folder: async ({}, use) => {
    const folder = new Folder();
    await folder.start();
    await use(folder);
    await folder.stop();
    fs.rmSync(folder.dir, { recursive: true });
  },
  /** The address of a model that answers with ANSWER, and with LONG to what ends with 1. */
  chat: async ({ models }, use) => {
    const made = scriptedModel({ name: 'Scripted', scripts: [ANSWER, LONG] });
    models.models.set('scripted.gguf', made);
    await use(models.good('scripted.gguf'));
  },
});

/** Presses Stop as soon as the answer has begun. */
async function stopsSoon(page: Page): Promise<void> {
  await page.evaluate(() => {
    const watch = new MutationObserver(() => {
      const answer = [...document.querySelectorAll('.assistant')].at(-1);
      if (answer === undefined || !/Item/.test(answer.textContent ?? '')) return;
      watch.disconnect();
      const buttons = [...document.querySelectorAll('button')];
      buttons.find(({ textContent }) => textContent?.trim() === 'Stop')?.click();
    });
    watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  });
}

/** Has a conversation in a chat box: a question, a long answer that is stopped, and another question. */
async function talks(page: Page): Promise<void> {
  const send = page.getByRole('button', { name: 'Send' });
  const stop = page.getByRole('button', { name: 'Stop' });
  const answers = page.locator('.assistant');
  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text);
    await send.click();
  };
  await expect(stop).toBeDisabled();
  await say('Why is the sky blue?');
  await expect(answers).toHaveText([ANSWER]);
  await expect(stop).toBeDisabled();
  await stopsSoon(page);
  await say('Give me a list 1');
  await expect(answers).toHaveCount(2);
  await expect(answers.last()).toContainText('Item');
  await expect(stop).toBeDisabled();
  expect((await answers.last().textContent())?.length).toBeLessThan(LONG.length);
  await say('And the sea?');
  await expect(answers).toHaveCount(3);
  await expect(answers.last()).toHaveText(ANSWER);
  await expect(page.locator('.user')).toHaveText([
    ...['Why is the sky blue?', 'Give me a list 1', 'And the sea?'],
  ]);
}

test('a chat box with a stop button', async ({ page, folder, chat }) => {
  folder.writePage('A chat box with a stop button', { chat });
  await page.goto(folder.url);
  await talks(page);
});

test('a server that wants a token', async ({ page, folder, models }) => {
  const server = guarded(models.models.get('stories.gguf') as string, 'Bearer right');
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const { port } = server.address() as AddressInfo;
  folder.writePage('A server that wants a token', {
    private: `http://127.0.0.1:${port}/private.gguf`,
  });
  await page.goto(folder.url);
  for (const [token, says] of [
    ['wrong', 'The server refuses this token.'],
    ['right', 'Sluice Stories is there'],
  ] as const) {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Load' }).click();
    await expect(page.locator('#state')).toHaveText(says);
  }
  server.closeAllConnections();
  server.close();
});

test('counting tokens', async ({ page, folder, chat }) => {
  folder.writePage('Counting tokens', { chat });
  await page.goto(folder.url);
  const count = page.locator('#count');
  await expect(count).toHaveText(/^\d+ of 1024 tokens$/);
  const before = Number.parseInt((await count.textContent()) ?? '');
  // The model has a token for each byte.
  await page.getByLabel('Message').fill('grün');
  await expect(count).toHaveText(`${before + 5} of 1024 tokens`);
  await page.getByLabel('Message').fill('');
  await expect(count).toHaveText(`${before} of 1024 tokens`);
});

test('search by meaning', async ({ page, folder, models }) => {
  folder.writePage('Search by meaning', { embedding: models.good('stories.gguf') });
  await page.goto(folder.url);
  await expect(page.locator('#state')).toHaveText('3 of 3 passages');
  const found = page.locator('#found li');
  await page.getByLabel('Query').fill('Bread is baked in an oven.');
  await expect(found).toHaveCount(2);
  await expect(found.first()).toHaveText('Bread is baked in an oven. (1.00)');
  await page.getByLabel('Query').fill('The dog ran home.');
  await expect(found.first()).toHaveText('The dog ran home. (1.00)');
});

test('how much memory', async ({ page, folder, models }) => {
  folder.writePage('How much memory', { stories: models.good('stories.gguf') });
  await page.goto(folder.url);
  await expect(page.locator('#plan')).toHaveText(/^It takes \d+ MB, or \d+ MB with a budget\.$/);
  await expect(page.locator('#used')).toHaveText(
    /^\d+ MB are used; [1-9]\d* MB were read again\.$/,
  );
  await page.getByRole('button', { name: 'Close the model' }).click();
  await expect(page.locator('#used')).toHaveText('All memory is free again.');
});

test.describe('without a network', () => {
  test.use({ serviceWorkers: 'allow' });
  test('the page, the library and the model are kept', async ({ page, folder, models }) => {
    const stories = path.join(folder.dir, 'stories.gguf');
    fs.copyFileSync(models.models.get('stories.gguf') as string, stories);
    const worker = codeOf('Without a network', 'js');
    folder.write('sw.js', worker.replace("['./']", "['./', 'page.js', 'favicon.ico']"));
    folder.writePage('Without a network', { stories: './stories.gguf' });
    await page.goto(folder.url);
    await expect(page).toHaveTitle('Ready to go offline');
    const text = await page.locator('#text').textContent();
    expect(text?.length).toBeGreaterThan(40);
    // A forced reload goes past the service worker, which sees nothing of this page.
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Page.reload', { ignoreCache: true });
    await expect(page).toHaveTitle('Offline');
    await expect(page).toHaveTitle('Ready to go offline');
    await folder.stop();
    await page.reload();
    await expect(page).toHaveTitle('Ready to go offline');
    expect((await page.locator('#text').textContent())?.length).toBeGreaterThan(40);
  });
});

/** Builds Vue's components, without the types that the recipe doesn't use. */
const vue: Plugin = {
  name: 'vue',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.vue$/ }, ({ path: file }) => {
      const id = 'recipe';
      const { descriptor } = parse(fs.readFileSync(file, 'utf8'), { filename: file });
      const { content, bindings } = compileScript(descriptor, { id, genDefaultAs: 'component' });
      const { code } = compileTemplate({
        id,
        filename: file,
        source: descriptor.template?.content ?? '',
        compilerOptions: { bindingMetadata: bindings ?? {} },
      });
      return { contents: `${content}\n${code}\nexport default { ...component, render };` };
    }),
};

const svelte: Plugin = {
  name: 'svelte',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.svelte$/ }, ({ path: file }) => {
      const { js } = compileSvelte(fs.readFileSync(file, 'utf8'), { generate: 'client' });
      return { contents: js.code };
    }),
};

/** The library is not bundled: the page takes the built one, as it is. */
const apart: Plugin = {
  name: 'apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^@sluice\/engine$/ }, () => ({
      path: `${LIBRARY}index.js`,
      external: true,
    })),
};

/** What mounts each component. */
const MOUNTS: Record<string, { file: string; script: string }> = {
  React: {
    file: 'recipe.jsx',
    script: `import { createElement, StrictMode } from 'react';
      import { createRoot } from 'react-dom/client';
      import { Chat } from './recipe.jsx';
      const chat = createElement(Chat, { model: 'MODEL' });
      createRoot(document.getElementById('app')).render(createElement(StrictMode, null, chat));`,
  },
  Vue: {
    file: 'recipe.vue',
    script: `import { createApp } from 'vue';
      import Chat from './recipe.vue';
      createApp(Chat, { model: 'MODEL' }).mount('#app');`,
  },
  Svelte: {
    file: 'recipe.svelte',
    script: `import { mount } from 'svelte';
      import Chat from './recipe.svelte';
      mount(Chat, { target: document.getElementById('app'), props: { model: 'MODEL' } });`,
  },
};

for (const [name, { file, script }] of Object.entries(MOUNTS)) {
  test(name, async ({ page, folder, chat }) => {
    folder.write(file, codeOf(name, path.extname(file).slice(1)));
    folder.write('mount.js', script.replace('MODEL', chat));
    folder.write(
      'index.html',
      '<!doctype html><div id="app"></div><script type="module" src="page.js"></script>',
    );
    await build({
      entryPoints: [path.join(folder.dir, 'mount.js')],
      outfile: path.join(folder.dir, 'page.js'),
      nodePaths: [path.join(ROOT, 'node_modules'), path.join(ROOT, 'e2e/node_modules')],
      bundle: true,
      format: 'esm',
      platform: 'browser',
      logLevel: 'silent',
      jsx: 'automatic',
      conditions: ['browser'],
      define: {
        'process.env.NODE_ENV': '"development"',
        __VUE_OPTIONS_API__: 'true',
        __VUE_PROD_DEVTOOLS__: 'false',
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
      },
      plugins: [vue, svelte, apart],
    });
    await page.goto(folder.url);
    await talks(page);
  });
}

/** The script of a block, as a file that can be checked. */
function scriptOf({ language, code }: { language: string; code: string }): [string, string] {
  const [, inside = code] = /<script[^>]*>(.*?)<\/script>/s.exec(code) ?? [];
  // A module can be checked without what is global in a service worker.
  if (language === 'js') return ['js', `const self = /** @type {any} */ (globalThis);\n${inside}`];
  const types = language === 'svelte' ? '/// <reference types="svelte" />\n' : '';
  return [
    language === 'jsx' ? 'jsx' : 'js',
    types + inside.replace('./node_modules/@sluice/engine/dist/index.js', '@sluice/engine'),
  ];
}

test('all scripts fit the types of the library', () => {
  const dir = path.join(ROOT, 'build/recipes');
  fs.rmSync(dir, { recursive: true, force: true });
  fs.mkdirSync(dir, { recursive: true });
  for (const [i, block] of [...RECIPES.values()].flat().entries()) {
    const [kind, script] = scriptOf(block);
    fs.writeFileSync(path.join(dir, `block-${i}.${kind}`), `${script}\nexport {};\n`);
  }
  // Which element has an id is for the page's HTML to say.
  const elements = 'interface Document { getElementById(id: string): any }\n';
  fs.writeFileSync(path.join(dir, 'page.d.ts'), elements);
  const options = {
    target: 'ES2022',
    module: 'ESNext',
    moduleResolution: 'Bundler',
    jsx: 'react-jsx',
    lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    // JavaScript says nothing of null and of parameters.
    strict: false,
    noImplicitThis: true,
    allowJs: true,
    checkJs: true,
    noEmit: true,
    types: [],
    skipLibCheck: true,
    typeRoots: [],
  };
  const config = { compilerOptions: options, include: ['*'] };
  fs.writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify(config));
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', dir], { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});

test('each recipe has a test', () => {
  expect([...RECIPES.keys()]).toEqual([
    ...['A chat box with a stop button', 'Without a network', 'A server that wants a token'],
    ...['Counting tokens', 'Search by meaning', 'How much memory', 'React', 'Vue', 'Svelte'],
  ]);
});
