// The service worker as it is built, in a scope with nothing but what it uses.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import vm from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writeServiceWorker } from '../offline/plugin';

const SCOPE = 'https://site.example/talk/';

let script = '';
beforeAll(async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-worker-'));
  afterAll(() => fs.rmSync(dir, { recursive: true }));
  fs.writeFileSync(path.join(dir, 'index.html'), '<!doctype html>');
  fs.writeFileSync(path.join(dir, 'page.js'), '');
  await writeServiceWorker(dir);
  script = fs.readFileSync(path.join(dir, 'service-worker.js'), 'utf8');
});

type Listener = (event: object) => void;

/** What the worker sees of the browser. */
class Scope {
  /** The addresses of all windows of the origin. */
  windows: string[] = [];
  updates = 0;
  readonly told: unknown[] = [];
  readonly #listeners = new Map<string, Listener>();

  constructor() {
    const self = {
      registration: { scope: SCOPE },
      location: { href: `${SCOPE}service-worker.js?flavour=simd` },
      clients: { matchAll: async () => this.windows.map((url) => ({ url })) },
      skipWaiting: async () => void ++this.updates,
      addEventListener: (type: string, listener: Listener) => this.#listeners.set(type, listener),
    };
    vm.runInNewContext(script, { self, URL, Map, Object, String });
  }

  /** The page asks to use this version now. */
  async takeOver(): Promise<void> {
    let done: Promise<unknown> = Promise.resolve();
    this.#listeners.get('message')?.({
      data: 'take over',
      source: { postMessage: (message: unknown) => this.told.push(message) },
      waitUntil: (work: Promise<unknown>) => (done = work),
    });
    await done;
  }

  /** Whether it answers a request. */
  answers(url: string, more: { method?: string; mode?: string } = {}): boolean {
    let answered = false;
    const request = { url, method: 'GET', mode: 'no-cors', ...more };
    // What it would answer with is not asked for.
    const respondWith = (answer: Promise<unknown>): void => {
      answered = true;
      answer.catch(() => {});
    };
    this.#listeners.get('fetch')?.({ request, respondWith, waitUntil: () => {} });
    return answered;
  }
}

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

describe('a new version', () => {
  it.each([
    ['another site of the origin', 'https://site.example/'],
    ['a site whose address begins alike', 'https://site.example/talkative/'],
    ['a site within the scope', `${SCOPE}blog/`],
    ['a page that is not of the version', `${SCOPE}LICENSE.txt`],
  ])('is used at once, though a window shows %s', async (_, url) => {
    scope.windows = [`${SCOPE}?again#model=x`, url];
    await scope.takeOver();
    expect(scope.updates).toBe(1);
    expect(scope.told).toEqual([]);
  });

  it.each(['', '#prompt=a', '?x', 'index.html', 'index.html?x#y'])(
    'waits while another window shows the page (%s)',
    async (rest) => {
      scope.windows = [SCOPE, SCOPE + rest, 'https://site.example/'];
      await scope.takeOver();
      expect(scope.updates).toBe(0);
      expect(scope.told).toEqual(['other tabs']);
    },
  );
});

it('answers for the files of its version, and for nothing else', () => {
  const navigate = { mode: 'navigate' };
  expect(scope.answers(`${SCOPE}page.js`)).toBe(true);
  expect(scope.answers(`${SCOPE}?x#y`, navigate)).toBe(true);
  expect(scope.answers(`${SCOPE}page.js?x`)).toBe(false);
  expect(scope.answers(`${SCOPE}page.js`, { method: 'POST' })).toBe(false);
  expect(scope.answers(`${SCOPE}blog/`, navigate)).toBe(false);
  expect(scope.answers('https://models.example/page.js')).toBe(false);
});
