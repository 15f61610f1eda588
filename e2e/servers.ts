// The servers of the tests: one for the built page, and one for models, on another origin, which can misbehave in
// the ways that servers do.
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from '../scripts/serve.mjs';

export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

export interface Site {
  /** Ends with a slash. */
  url: string;
  close(): Promise<void>;
}

/**
 * Serves the built page at '/', the library without a bundler at '/engine/', an empty page at '/harness/' and the
 * kernels' checks at '/checks/'. `over`: directories that replace others.
 */
export async function servePage(
  isolation: boolean,
  over: Record<string, string> = {},
): Promise<Site> {
  return serve({
    port: 0,
    isolation,
    dir: path.join(ROOT, 'web/app/dist'),
    mounts: {
      ...over,
      '/engine/': path.join(ROOT, 'web/engine/dist'),
      '/harness/': path.join(ROOT, 'e2e/harness'),
      '/checks/': path.join(ROOT, 'build/wasm'),
    },
  });
}

/** Holds back a body after `bytes`. The rest is sent when the gate opens, or never if it is cut. Then the file is gone, too. */
interface Gate {
  whole: Promise<boolean>;
  /** It was cut: the file isn't there any more. */
  gone: boolean;
  open(): void;
  cut(): void;
}

function makeGate(): Gate {
  let settle = (_: boolean): void => {};
  const whole = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  const gate: Gate = {
    whole,
    gone: false,
    open: () => settle(true),
    cut: () => {
      gate.gone = true;
      settle(false);
    },
  };
  return gate;
}

export class ModelServer {
  url = '';
  readonly #server: http.Server;
  readonly #gates = new Map<string, Gate>();
  /** By address: the number of requests so far, and of those that have not ended. */
  readonly #asked = new Map<string, { count: number; underway: number }>();
  #serial = 0;
  /** The number of connections opened so far. */
  connections = 0;

  /** `models`: the files by their names in addresses. */
  constructor(readonly models: Map<string, string>) {
    this.#server = http.createServer((request, response) => {
      const asked = this.#of(new URL(request.url ?? '/', this.url).href);
      ++asked.count;
      ++asked.underway;
      response.on('close', () => --asked.underway);
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', () => ++this.connections);
  }

  #of(url: string): { count: number; underway: number } {
    const found = this.#asked.get(url) ?? { count: 0, underway: 0 };
    this.#asked.set(url, found);
    return found;
  }

  /** The number of requests for this address. */
  asked(url: string): number {
    return this.#of(url).count;
  }

  /** The number of answers from this address that have not ended. */
  underway(url: string): number {
    return this.#of(url).underway;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    // Another host name than the page's, not only another port.
    this.url = `http://127.0.0.1:${port}/`;
    return this;
  }

  async close(): Promise<void> {
    for (const gate of this.#gates.values()) gate.open();
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  /** The address of a model that is served well. */
  good(name: string): string {
    return `${this.url}good/${name}`;
  }

  /** The address of a model that is served in one of the bad ways below. */
  bad(fault: Fault, name = 'stories.gguf'): string {
    return `${this.url}${fault}/${name}`;
  }

  /** A model whose body stops after `bytes` until `open` is called, or `cut`, which breaks the connection; then it is gone. */
  gated(name: string, bytes: number): { url: string; open(): void; cut(): void } {
    const key = `${++this.#serial}`;
    const gate = makeGate();
    this.#gates.set(key, gate);
    const { open, cut } = gate;
    return { url: `${this.url}gated/${name}?key=${key}&bytes=${bytes}`, open, cut };
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const [, way = '', name = ''] = url.pathname.split('/');
    if (way !== 'no-cors') {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Access-Control-Expose-Headers', 'Content-Length, Content-Range');
    }
    response.setHeader('Cache-Control', 'no-store');
    const file = this.models.get(name);
    const gone = this.#gates.get(url.searchParams.get('key') ?? '')?.gone === true;
    if (way === 'missing' || file === undefined || gone) {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found\n');
      return;
    }
    if (way === 'html') {
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
      response.end(
        '<!doctype html><title>Sign in</title><p>Please sign in to download this file.</p>\n',
      );
      return;
    }
    if (way === 'error') {
      response.writeHead(503, { 'Content-Type': 'text/plain' }).end('too busy\n');
      return;
    }
    const status = BODILESS.get(way);
    if (status !== undefined) {
      // A redirect leads to its own address.
      response.writeHead(status, status === 302 ? { Location: url.href } : {}).end();
      return;
    }
    const body = await fs.promises.readFile(file);
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': body.length,
    });
    switch (way) {
      case 'good':
      case 'no-cors':
        response.end(body);
        return;
      case 'garbage':
        response.end(Buffer.alloc(body.length, 'no model '));
        return;
      case 'broken': {
        // It begins like a model; then other bytes follow.
        const half = body.length >> 1;
        response.end(
          Buffer.concat([body.subarray(0, 2000), Buffer.alloc(half, 0xff)], body.length),
        );
        return;
      }
      case 'short':
        // The connection breaks after most of the file, so that the header has come.
        response.write(body.subarray(0, Math.floor(body.length * 0.7)), () => response.destroy());
        return;
      case 'stalled':
        response.write(body.subarray(0, Math.floor(body.length * 0.7)));
        return;
      case 'gated': {
        const gate = this.#gates.get(url.searchParams.get('key') ?? '');
        const bytes = Number(url.searchParams.get('bytes'));
        response.write(body.subarray(0, bytes));
        if ((await gate?.whole) === true) response.end(body.subarray(bytes));
        else response.destroy();
        return;
      }
      default:
        response.end();
    }
  }
}

/** Ways to answer without a body, and their statuses. */
const BODILESS = new Map([
  ['empty', 200],
  ['no-content', 204],
  ['reset-content', 205],
  ['circle', 302],
  ['not-modified', 304],
]);

export type Fault =
  | 'empty'
  | 'no-content'
  | 'reset-content'
  | 'circle'
  | 'not-modified'
  | 'missing'
  | 'html'
  | 'error'
  | 'no-cors'
  | 'garbage'
  | 'broken'
  | 'short'
  | 'stalled';
