// configure: where the library's own files are looked for, and how workers from elsewhere are started. e2e/elsewhere.spec.ts
// does it in a browser.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { workerAddress } from '../src/page/configure.js';
import { filesOf } from '../src/page/wasm-files.js';
import { Engine, cache, configure, type Configuration } from '../src/index.js';
import { Refusals, whyNotLoaded } from '../src/platform/own-files.js';
import { trustedWorker } from '../src/platform/trusted.js';

const PAGE = 'https://page.example/app/';
const CDN = 'https://cdn.example/sluice/';

/** The workers that were asked for. */
let asked: { url: string; options: WorkerOptions | undefined }[] = [];

class SilentWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    asked.push({ url: String(url), options });
  }
  addEventListener(): void {}
  postMessage(): void {}
  terminate(): void {}
}

/** What the blob at this address has. */
async function textOf(address: string): Promise<string> {
  return (await fetch(address.replace(/#.*/, ''))).text();
}

beforeEach(() => {
  asked = [];
  vi.stubGlobal('Worker', SilentWorker);
  vi.stubGlobal('origin', new URL(PAGE).origin);
  vi.stubGlobal('location', { href: PAGE });
});

afterEach(() => {
  configure({});
  vi.unstubAllGlobals();
});

describe('configure', () => {
  it.each<[string, Configuration, worker: string, glue: string, wasm: string]>([
    [
      'a folder of the page',
      { baseUrl: './engine' },
      `${PAGE}engine/loader-worker.js`,
      `${PAGE}engine/wasm/sluice-simd.mjs`,
      `${PAGE}engine/wasm/sluice-simd.wasm`,
    ],
    [
      'a folder elsewhere',
      { baseUrl: new URL(CDN) },
      `${CDN}loader-worker.js`,
      `${CDN}wasm/sluice-simd.mjs`,
      `${CDN}wasm/sluice-simd.wasm`,
    ],
    [
      'other folders for some',
      { baseUrl: CDN, workerUrl: '/workers/', wasmUrl: '../wasm' },
      'https://page.example/workers/loader-worker.js',
      'https://page.example/wasm/sluice-simd.mjs',
      'https://page.example/wasm/sluice-simd.wasm',
    ],
    [
      'each file by itself',
      {
        workerUrl: (file) => `/w-${file}?v=1`,
        wasmUrl: (file) => new URL(`${file}?key=2`, CDN),
      },
      'https://page.example/w-loader-worker.js?v=1',
      `${CDN}sluice-simd.mjs?key=2`,
      `${CDN}sluice-simd.wasm?key=2`,
    ],
  ])('takes %s', (_, configuration, worker, glue, wasm) => {
    configure(configuration);
    expect(workerAddress('loader-worker.js')).toBe(worker);
    const analysis = glue.replace('sluice-simd', 'sluice-analysis');
    expect(filesOf('simd')).toEqual({ glue, wasm, analysis });
  });

  it('replaces what was said before, and is taken back', () => {
    configure({ baseUrl: CDN });
    configure({ workerUrl: '/workers/' });
    expect(filesOf('simd-mt').wasm).toMatch(/^file:.*\/wasm\/sluice-simd-mt.wasm$/);
    configure({});
    expect(workerAddress('engine-worker.js')).toBeNull();
  });

  it('may be called where a page is rendered, whose address is not known there', () => {
    vi.stubGlobal('location', undefined);
    configure({ baseUrl: '/engine/' });
    vi.stubGlobal('location', { href: PAGE });
    expect(workerAddress('engine-worker.js')).toBe('https://page.example/engine/engine-worker.js');
  });

  it.each<[unknown, RegExp]>([
    [undefined, /the configuration is undefined; give an object/],
    [CDN, /give an object with baseUrl/],
    [[CDN], /give an object/],
    [{ baseURL: CDN }, /'baseURL' is unknown .* baseUrl, workerUrl, wasmUrl/],
    [{ baseUrl: 7 }, /baseUrl is 7; give an address/],
    [{ baseUrl: null }, /baseUrl is null/],
    [{ baseUrl: () => CDN }, /baseUrl is a function; give an address/],
    [{ wasmUrl: {} }, /wasmUrl is .*; give an address/],
    [{ baseUrl: 'https://' }, /no address; give one as/],
    [{ baseUrl: 'data:text/javascript,1' }, /no address of a folder/],
    [{ baseUrl: 'blob:https://page.example/1' }, /no address of a folder/],
    [{ baseUrl: 'https://me:pw@cdn.example/' }, /user name or a password/],
    [{ workerUrl: `${CDN}?v=2` }, /a query .* as functions/],
    [{ wasmUrl: `${CDN}#x` }, /a fragment/],
  ])('refuses %o, and keeps what was said before', (configuration, message) => {
    configure({ baseUrl: CDN });
    expect(() => configure(configuration as Configuration)).toThrow(message);
    expect(() => configure(configuration as Configuration)).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }) as Error,
    );
    expect(workerAddress('engine-worker.js')).toBe(`${CDN}engine-worker.js`);
  });

  it('refuses what throws when it is read', () => {
    const configuration = {
      get baseUrl(): string {
        throw new Error('mine');
      },
    };
    expect(() => configure(configuration)).toThrow(/baseUrl can't be read/);
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    class AngryUrl extends URL {
      override toString(): string {
        throw new Error('mine');
      }
    }
    for (const given of [proxy, { baseUrl: new AngryUrl(CDN) }])
      expect(() => configure(given)).toThrow(
        expect.objectContaining({ code: 'invalid_argument' }) as Error,
      );
  });

  it('reads an object once, whatever its members come from', () => {
    class Settings {
      get baseUrl(): URL {
        return url;
      }
    }
    const url = new URL(CDN);
    configure(new Settings());
    url.href = 'https://later.example/?q';
    expect(workerAddress('engine-worker.js')).toBe(`${CDN}engine-worker.js`);
  });

  it('means the page as it was then, also after its address has changed', () => {
    configure({ baseUrl: './engine/' });
    vi.stubGlobal('location', { href: 'https://page.example/app/talks/7/' });
    expect(workerAddress('engine-worker.js')).toBe(`${PAGE}engine/engine-worker.js`);
  });

  it('what a function throws is told as its fault', async () => {
    const mine = new Error('mine');
    const fail = (): never => {
      throw mine;
    };
    configure({ wasmUrl: fail });
    await expect(Engine.load('https://models.example/m.gguf')).rejects.toMatchObject({
      code: 'invalid_argument',
      cause: mine,
      message: expect.stringContaining("what wasmUrl('sluice-") as string,
    });
    configure({ workerUrl: fail });
    await expect(cache.list()).rejects.toMatchObject({
      code: 'invalid_argument',
      cause: mine,
      message: expect.stringContaining("what workerUrl('loader-worker.js') gives can't") as string,
    });
    expect(asked).toEqual([]);
  });

  it.each<[unknown, RegExp]>([
    [undefined, /what wasmUrl\('sluice-\S+'\) gives is undefined; give an address/],
    ['https://', /is no address/],
    [`${CDN}x.wasm#1`, /a fragment/],
  ])(
    'tells what is wrong with %o from a function, and starts no worker',
    async (given, message) => {
      configure({ wasmUrl: () => given as string });
      const loading = Engine.load('https://models.example/m.gguf');
      await expect(loading).rejects.toThrow(message);
      await expect(loading).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(asked).toEqual([]);
    },
  );
});

describe('a worker', () => {
  const Trusted = (): typeof Worker => trustedWorker(() => {});

  it('of the same origin is started by its address', () => {
    const made = vi.fn();
    const Made = trustedWorker(made);
    const worker = new Made('/engine/engine-worker.js', { type: 'module' });
    expect(asked).toEqual([{ url: '/engine/engine-worker.js', options: { type: 'module' } }]);
    expect(made).toHaveBeenCalledWith(worker, 'https://page.example/engine/engine-worker.js');
  });

  it('from another origin is started by a blob that imports it, with its fragment, one for all', async () => {
    for (const end of ['#a', '#b']) new (Trusted())(`${CDN}x.mjs?q="${end}`, { type: 'module' });
    const [first = '', second = ''] = asked.map(({ url }) => url);
    expect(first).toMatch(/^blob:.*#a$/);
    expect(second).toBe(first.replace(/#a$/, '#b'));
    expect(await textOf(first)).toBe(`import "${CDN}x.mjs?q=%22";`);
  });

  it('that is no module, as some bundlers make them, is imported as a script', async () => {
    new (Trusted())(new URL('chunk.js', CDN), { name: 'x' });
    expect(await textOf(asked[0]?.url ?? '')).toBe(`importScripts("${CDN}chunk.js");`);
  });

  it('of the cache is looked for in the same place, under its own name', () => {
    configure({ baseUrl: '/engine/' });
    void cache.list();
    expect(asked).toEqual([
      {
        url: 'https://page.example/engine/loader-worker.js',
        options: { type: 'module', name: 'sluice-cache' },
      },
    ]);
  });
});

describe('a worker from another origin that does not run', () => {
  const why = (headers: Record<string, string> | null): Promise<string | undefined> => {
    vi.stubGlobal('crossOriginIsolated', true);
    vi.stubGlobal('fetch', () =>
      headers === null
        ? Promise.reject(new TypeError('Failed to fetch'))
        : Promise.resolve(
            new Response('', { headers: { 'content-type': 'text/javascript', ...headers } }),
          ),
    );
    const address = `${CDN}engine-worker.js`;
    return whyNotLoaded(address, 'worker', new Refusals()).then((error) => error?.message);
  };

  it('may lack the permission of its server', async () => {
    expect(await why(null)).toMatch(
      /could not be fetched: .*\(CORS: Access-Control-Allow-Origin\)/,
    );
  });

  it("may be forbidden by the page's policy; its own headers don't count", async () => {
    expect(await why({ 'content-security-policy': "default-src 'none'" })).toMatch(
      /from another origin, did not run; .*add https:\/\/cdn.example to its script-src and worker-src, and .* Cross-Origin-Embedder-Policy: require-corp$/,
    );
  });
});
