// The errors for files of the library that don't load, with fake fetches. e2e/causes.spec.ts tests real browsers.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Engine, cache, states } from '../src/index.js';
import { Refusals, unlessForbidden, whyNotLoaded } from '../src/platform/own-files.js';

const MODEL = 'https://models.example/m.gguf';
const LIBRARY = 'https://page.example/engine/';

type Listener = (event: object) => void;

/** A worker whose script is missing. */
class DeadWorker {
  static all: DeadWorker[] = [];
  readonly #listeners: [string, Listener][] = [];

  constructor() {
    DeadWorker.all.push(this);
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.push([type, listener]);
  }

  /** Sends the page a message. */
  say(data: object): void {
    for (const [type, listener] of this.#listeners) if (type === 'message') listener({ data });
  }

  /** Sends the error event of a script that did not load, which has no message. */
  fail(): void {
    for (const [type, listener] of this.#listeners)
      if (type === 'error') listener({ preventDefault: () => {} });
  }

  postMessage(): void {}
  terminate(): void {}
}

/** Answers each fetch by the file's name, and with 404 for other names. */
function serve(files: Record<string, () => Response>): void {
  vi.stubGlobal('fetch', (address: string) => {
    const name = new URL(address).pathname.split('/').at(-1) ?? '';
    return Promise.resolve(files[name]?.() ?? new Response('no', { status: 404 }));
  });
}

function script(text: string, headers: Record<string, string> = {}): () => Response {
  return () => new Response(text, { headers: { 'content-type': 'text/javascript', ...headers } });
}

beforeEach(() => {
  DeadWorker.all = [];
  vi.stubGlobal('Worker', DeadWorker);
});

afterEach(async () => {
  // Closed engines wait for their files.
  if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(40_000);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a worker that does not start', () => {
  it('is told by its missing file', async () => {
    serve({});
    const loading = Engine.load(MODEL);
    await vi.waitFor(() => expect(DeadWorker.all.length).toBe(2), 20_000);
    DeadWorker.all[0]?.fail();
    await expect(loading).rejects.toMatchObject({ code: 'download_failed', status: 404 });
    await expect(loading).rejects.toThrow(/engine-worker.js, a file of the library, is missing/);
  });

  it('is told where the browser says nothing, and is waited for where nothing is wrong', async () => {
    vi.useFakeTimers();
    serve({});
    const loading = Engine.load(MODEL);
    const told = expect(loading).rejects.toThrow(/-worker.js, a file of the library, is missing/);
    await vi.advanceTimersByTimeAsync(6000);
    await told;

    serve({
      'engine-worker.js': script('', { 'content-security-policy': "default-src 'self'" }),
      'loader-worker.js': script(''),
    });
    const settled = vi.fn();
    const controller = new AbortController();
    void Engine.load(MODEL, { signal: controller.signal }).then(settled, settled);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(settled).not.toHaveBeenCalled();
    controller.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).toHaveBeenCalledOnce();
  });

  it.each([
    ['https://page.example', /\(worker-src\) forbids .*-worker.js/, "add 'self' to its worker-src"],
    ['https://other.example', /\(worker-src\) forbids .*-worker.js/, 'add blob: to its worker-src'],
  ])('is told where the browser throws: a page of %s', async (origin, message, part) => {
    vi.stubGlobal('origin', origin);
    refuseWorkers();
    const loading = Engine.load(MODEL);
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toThrow(part);
  });
});

/** Here the library's own address is that of its source file; and the browser makes no workers. */
function refuseWorkers(): void {
  vi.stubGlobal(
    'URL',
    class extends URL {
      constructor(url: string | URL, base?: string | URL) {
        super(url, String(base).startsWith('file:') ? LIBRARY : base);
      }
    },
  );
  vi.stubGlobal(
    'Worker',
    class {
      constructor() {
        throw new DOMException('The operation is insecure.', 'SecurityError');
      }
    },
  );
}

/** Every call that needs a worker. */
const CALLS: [string, () => Promise<unknown>][] = [
  ['load', () => Engine.load(MODEL)],
  ['probe', () => Engine.probe(MODEL)],
  ['measure', () => Engine.measure()],
  ['cache.list', () => cache.list()],
  ['cache.has', () => cache.has(MODEL)],
  ['cache.delete', () => cache.delete(MODEL)],
  ['cache.clear', () => cache.clear()],
  ['cache.verify', () => cache.verify(MODEL)],
  ['cache.export', () => cache.export(MODEL)],
  ['cache.pin', () => cache.pin(MODEL)],
  ['cache.room', () => cache.room()],
  ['states.list', () => states.list()],
  ['states.delete', () => states.delete('a')],
  ['states.clear', () => states.clear()],
  ['states.limit', () => states.limit(1)],
];

describe.each(CALLS)('%s', (_, call) => {
  it('says so where there are no workers', async () => {
    vi.stubGlobal('Worker', undefined);
    await expect(call()).rejects.toMatchObject({
      code: 'unsupported_environment',
      message: expect.stringContaining('there is no Worker here') as string,
    });
  });

  it('hears nothing more of the page where there are no workers', async () => {
    const listening: AbortSignal[] = [];
    vi.stubGlobal('addEventListener', (_: string, __: Listener, options: AddEventListenerOptions) =>
      listening.push(options.signal as AbortSignal),
    );
    vi.stubGlobal('Worker', undefined);
    await expect(call()).rejects.toThrow();
    expect(listening.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('says so where the page has no origin: a sandboxed frame, a file', async () => {
    vi.stubGlobal('origin', 'null');
    refuseWorkers();
    await expect(call()).rejects.toMatchObject({
      code: 'unsupported_environment',
      message: expect.stringContaining('give a sandboxed frame allow-same-origin') as string,
    });
  });

  it('says so where the page has no origin, and the browser only sends an error', async () => {
    vi.stubGlobal('origin', 'null');
    serve({});
    const told = expect(call()).rejects.toMatchObject({ code: 'unsupported_environment' });
    await vi.waitFor(() => expect(DeadWorker.all.length).toBeGreaterThan(0), 20_000);
    for (const worker of DeadWorker.all) worker.fail();
    await told;
  });

  it('says so where a policy forbids workers', async () => {
    vi.stubGlobal('origin', 'https://page.example');
    refuseWorkers();
    await expect(call()).rejects.toMatchObject({
      code: 'unsupported_environment',
      message: expect.stringContaining("add 'self' to its worker-src") as string,
    });
  });

  it('settles where the browser says nothing of a missing file, and asks anew the next time', async () => {
    vi.useFakeTimers();
    serve({});
    for (const _ of [1, 2]) {
      const before = DeadWorker.all.length;
      const told = expect(call()).rejects.toMatchObject({ code: 'download_failed', status: 404 });
      await vi.advanceTimersByTimeAsync(6000);
      await told;
      expect(DeadWorker.all.length).toBeGreaterThan(before);
    }
  });
});

describe('a worker of another version', () => {
  const error = { code: 'a_new_one', message: 'it is new' };
  const told = {
    code: 'worker_died',
    message: expect.stringMatching(/\(it is new\).*same version/),
  };

  it.each([
    ['load', () => Engine.load(MODEL)],
    ['measure', () => Engine.measure()],
  ])('fails %s with a code that is not known here', async (_, call) => {
    const failing = expect(call()).rejects.toMatchObject(told);
    await vi.waitFor(() => expect(DeadWorker.all.length).toBeGreaterThan(0));
    DeadWorker.all[0]?.say({ type: 'error', id: 1, error });
    await failing;
  });

  it('fails a call of the cache, and one with no error at all', async () => {
    const failing = [cache.list(), cache.clear()];
    await vi.waitFor(() => expect(DeadWorker.all.length).toBe(1));
    DeadWorker.all[0]?.say({ type: 'error', id: 1, error });
    await expect(failing[0]).rejects.toMatchObject(told);
    DeadWorker.all[0]?.say({ type: 'error', id: 2 });
    await expect(failing[1]).rejects.toMatchObject({ code: 'worker_died' });
  });
});

it('a load whose second worker can not be made leaves nothing of the first', async () => {
  vi.useFakeTimers();
  const listening: AbortSignal[] = [];
  vi.stubGlobal('addEventListener', (_: string, __: Listener, options: AddEventListenerOptions) =>
    listening.push(options.signal as AbortSignal),
  );
  vi.stubGlobal(
    'Worker',
    class extends DeadWorker {
      constructor() {
        if (DeadWorker.all.length === 1) throw new RangeError('too many workers');
        super();
      }
    },
  );
  serve({});
  await expect(Engine.load(MODEL)).rejects.toThrow('too many workers');
  expect(listening.map(({ aborted }) => aborted)).toEqual([true, true]);
  expect(vi.getTimerCount()).toBe(0);
});

describe('whyNotLoaded', () => {
  const why = (kind: 'worker' | 'silent worker' | 'module'): Promise<string | undefined> =>
    whyNotLoaded(`${LIBRARY}a.js`, kind, new Refusals()).then((error) => error?.message);

  it('follows imports, each once', async () => {
    const cycle = script("import './a.js'; import { x } from './b.js';\nexport * from '/c.js';");
    serve({ 'a.js': cycle, 'b.js': cycle, 'c.js': script("import 'bare'; import './d.js'") });
    expect(await why('module')).toMatch(/^https:\/\/page.example\/d.js, .* answered 404/);
    serve({ 'a.js': cycle, 'b.js': cycle, 'c.js': script('') });
    expect(await why('module')).toBeUndefined();
  });

  it('tells a file that is not there from a server in trouble', async () => {
    const trouble = (): Response => new Response('no', { status: 503 });
    serve({ 'a.js': trouble });
    expect(await why('module')).toMatch(/did not come: the server answered 503; see to that/);
  });

  it('says little of an address with megabytes of data', async () => {
    serve({});
    const data = `data:text/javascript,${'x'.repeat(1e6)}`;
    const error = await whyNotLoaded(data, 'module', new Refusals());
    expect(error?.message).toMatch(/^data:text\/javascript,x+\.\., a file of the library/);
    expect(error?.message.length).toBeLessThan(1000);
  });

  it("suspects a worker's own policy where nothing else is seen, once it has failed", async () => {
    serve({ 'a.js': script('', { 'content-security-policy': "script-src 'none'" }) });
    expect(await why('worker')).toMatch(/came with the .*-Policy "script-src 'none'"; let/);
    expect(await why('silent worker')).toBeUndefined();
    expect(await why('module')).toBeUndefined();
  });

  it('does not hold a broken connection against a worker that is only slow', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    expect(await why('silent worker')).toBeUndefined();
    expect(await why('worker')).toMatch(/could not be fetched: the server did not answer, or/);
  });

  it('gives a server that is silent no more than some seconds', async () => {
    vi.useFakeTimers();
    vi.stubGlobal(
      'fetch',
      (_: string, { signal }: { signal: AbortSignal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    );
    const reason = why('worker');
    await vi.advanceTimersByTimeAsync(6000);
    expect(await reason).toBeUndefined();
  });
});

describe('unlessForbidden', () => {
  it('tells a policy from any other error', () => {
    const error = new Error('another');
    expect(unlessForbidden(error)).toBe(error);
    const forbid = (): never => {
      throw new EvalError('Refused');
    };
    // Chromium and Firefox forbid compiling, WebKit forbids making an instance.
    for (const name of ['Module', 'Instance'] as const) {
      const spy = vi.spyOn(WebAssembly, name).mockImplementation(forbid);
      expect(unlessForbidden(error)).toMatchObject({
        code: 'unsupported_environment',
        message: expect.stringContaining("add 'wasm-unsafe-eval' to its script-src") as string,
      });
      spy.mockRestore();
    }
  });
});
