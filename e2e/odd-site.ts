// A site with the library and a model. Each test makes some of its answers go wrong.
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from '@playwright/test';
import type * as Library from '@sluice/engine';
import type { LibraryWindow } from './library';
import { BUNDLED } from './models';
import { ROOT, type Site } from './servers';

declare const window: LibraryWindow;

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Changes the answer that `pathname` gets. */
export type Oddity = (pathname: string, answer: Answer) => void;

export interface OddSite extends Site {
  /** Changes all answers from now on. */
  odd: Oddity;
  isolation: boolean;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
};

function fileOf(pathname: string): string {
  if (pathname === '/harness/') return path.join(ROOT, 'e2e/harness/index.html');
  if (pathname === '/model.gguf') return BUNDLED;
  return path.join(ROOT, 'web/engine/dist', pathname.replace(/^\/engine\//, ''));
}

/** Serves /harness/, /engine/ and /model.gguf; `odd` may change each answer. */
export async function serveOddly(): Promise<OddSite> {
  const site: OddSite = {
    url: '',
    odd: () => {},
    isolation: true,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const file = fileOf(pathname);
    const answer: Answer = {
      status: 200,
      headers: { 'Cache-Control': 'no-store' },
      body: Buffer.alloc(0),
    };
    if (site.isolation) {
      answer.headers['Cross-Origin-Opener-Policy'] = 'same-origin';
      answer.headers['Cross-Origin-Embedder-Policy'] = 'require-corp';
    }
    if (fs.existsSync(file)) {
      answer.body = fs.readFileSync(file);
      answer.headers['Content-Type'] = TYPES[path.extname(file)] ?? 'application/octet-stream';
    } else {
      answer.status = 404;
    }
    site.odd(pathname, answer);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.url = `http://localhost:${(server.address() as AddressInfo).port}/`;
  return site;
}

/** Sends a Content-Security-Policy with the files whose paths match `to`. */
export function policy(text: string, to = /./): Oddity {
  return (pathname, answer) => {
    if (to.test(pathname)) answer.headers['Content-Security-Policy'] = text;
  };
}

type WriteOptions = Pick<Library.LoadOptions, 'flavour' | 'threads'>;

/** Runs in a page with the library: loads and writes three tokens. Returns the flavour and the notes, or the error. */
export async function writeThree(options: WriteOptions): Promise<string> {
  try {
    const engine = await window.library.Engine.load('/model.gguf', options);
    await engine.ready;
    let tokens = 0;
    for await (const _ of engine.generate('Once', { maxTokens: 3, ignoreEos: true })) ++tokens;
    const { flavour, notes } = engine.stats;
    await engine.close();
    return [`${tokens} tokens`, flavour, ...notes.map(({ message }) => message)].join(', ');
  } catch (error) {
    const { code, message, status } = error as Library.SluiceError;
    return `${code}${status === undefined ? '' : ` ${status}`}: ${message}`;
  }
}

/** Runs in a page with the library: the locks that its threads hold, of the name of the channel on which they report a trap. */
export async function locksOfThreads(): Promise<string[]> {
  const engine = await window.library.Engine.load('/model.gguf', { threads: 2 });
  await engine.ready;
  const { held = [] } = await navigator.locks.query();
  await engine.close();
  return held
    .filter(({ mode }) => mode === 'shared')
    .map(({ name = '' }) => name)
    .filter((name) => /^sluice-[^:]+$/.test(name)); // the others name models
}

export function outcome(page: Page, options: WriteOptions = {}): Promise<string> {
  return page.evaluate(writeThree, options);
}
