// Parts of a file from a server that may do anything: what is checked, what is tried again, what ends it.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection } from '../src/loader/net/connection.js';
import { Changed, Remote } from '../src/loader/net/remote.js';
import { FakeServer, makeNet, outcome, useFakeTime, type Odd } from './fake-server.js';
import { bytesOf, same } from './store-setup.js';

const URL_ = 'https://models.example/m.gguf';
const SIGNED = 'https://cdn.example/m.gguf?signature=1';
const WHOLE = bytesOf(1_000_000);

let server: FakeServer;
let net: ReturnType<typeof makeNet>;
let remote: Remote;

/** A remote file anew, with what is served now. */
function connect(
  options: Parameters<typeof makeNet>[1] = {},
  headers: [string, string][] = [],
): void {
  net = makeNet(server.fetch, options);
  remote = new Remote(URL_, headers, 'default', net);
}

beforeEach(() => {
  useFakeTime();
  vi.stubGlobal('location', new URL('https://page.example/'));
  server = new FakeServer(WHOLE).install();
  connect();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The bytes that a connection brings. */
async function read(from: number, to: number): Promise<Uint8Array> {
  const connection = new Connection(remote, from, to);
  const pieces: Uint8Array[] = [];
  let at = from;
  try {
    for (;;) {
      const piece = await connection.next(false);
      if (piece === null) return Buffer.concat(pieces);
      expect(piece.at).toBe(at);
      expect(piece.bytes.length).toBeGreaterThan(0);
      at += piece.bytes.length;
      pieces.push(piece.bytes);
    }
  } finally {
    connection.close();
  }
}

async function readsRight(from: number, to: number): Promise<boolean> {
  return same(await outcome(read(from, to)), WHOLE.subarray(from, to));
}

function failure(from = 0, to = 500_000): Promise<unknown> {
  return outcome(
    read(from, to).then(
      () => 'nothing',
      (error: unknown) => error,
    ),
  );
}

function failed(message: string | RegExp, more: object = {}): unknown {
  const text =
    typeof message === 'string'
      ? (expect.stringContaining(message) as string)
      : (expect.stringMatching(message) as string);
  return expect.objectContaining({ code: 'download_failed', message: text, ...more });
}

describe('a part', () => {
  it('is asked for and brought', async () => {
    expect(await readsRight(100_000, 300_000)).toBe(true);
    expect(server.asked).toEqual([[100_000, 300_000]]);
    expect(remote.facts).toEqual({ total: 1e6, exact: true, etag: '"one"', lastModified: '' });
    expect(remote.ranges).toBe(true);
  });

  it('may be shorter than what was asked for', async () => {
    server.plan = ({ range }) => {
      const { from, to } = range as { from: number; to: number };
      const end = Math.min(from + 70_000, to);
      return {
        body: WHOLE.subarray(from, end),
        headers: { 'content-range': `bytes ${from}-${end - 1}/1000000` },
      };
    };
    expect(await readsRight(0, 200_000)).toBe(true);
    expect(server.asked).toEqual([
      [0, 200_000],
      [70_000, 200_000],
      [140_000, 200_000],
    ]);
    expect(net.waits).toEqual([]);
  });

  it.each([
    ['of other bytes', 'bytes 5-499999/1000000'],
    ['of more bytes', 'bytes 0-500000/1000000'],
    ['that ends before it begins', 'bytes 0--1/1000000'],
    ['of another unit', 'items 0-499999/1000000'],
    ['beyond the end', 'bytes 0-499999/400000'],
    ['of nothing', ''],
  ])('%s is refused, and asked for again until the patience ends', async (_, range) => {
    server.plan = () => ({ headers: { 'content-range': range } });
    expect(await failure()).toEqual(failed('where the bytes from 0 to 499999 were asked for'));
    expect(server.calls.length).toBeGreaterThan(2);
    expect(server.calls.length).toBeLessThan(30);
    expect(server.sent).toBeLessThan(3_000_000);
    expect(remote.facts).toBeNull();
  });

  it.each(['multipart/byteranges; boundary=x', 'gzip'])(
    'whose bytes can not be placed (%s): the whole file is asked for',
    async (what) => {
      const header = what === 'gzip' ? 'content-encoding' : 'content-type';
      server.plan = ({ range }) => (range === null ? {} : { headers: { [header]: what } });
      expect(await readsRight(0, 1_000_000)).toBe(true);
      expect(server.asked).toEqual([[0, 1_000_000], null]);
      expect(remote.ranges).toBe(false);
    },
  );

  it('is skipped to in the whole file, where the server has no parts', async () => {
    server.ranges = false;
    expect(same(await outcome(read(300_000, 400_000)), WHOLE.subarray(300_000))).toBe(true);
    expect(remote.ranges).toBe(false);
    // Ranges aren't tried again.
    expect(same(await outcome(read(0, 1)), WHOLE)).toBe(true);
    expect(server.asked[1]).toBeNull();
  });

  it('of a server that sent parts before can not be the whole file', async () => {
    await outcome(read(0, 100));
    server.ranges = false;
    expect(await failure(100)).toEqual(failed('sent the whole file where a part was asked for'));
  });

  it('beyond the end says that the file has changed, and at the beginning that there are no parts', async () => {
    expect(await failure(2_000_000, 3_000_000)).toBeInstanceOf(Changed);
    server.plan = ({ range }) => (range === null ? {} : { status: 416 });
    connect();
    expect(same(await outcome(read(0, 100)), WHOLE)).toBe(true);
  });
});

describe('another origin, which hides the range', () => {
  const hidden = { 'content-range': null };

  it('has its length found out by HEAD', async () => {
    server.plan = () => ({ headers: hidden });
    expect(await readsRight(0, 300_000)).toBe(true);
    expect(server.calls.map(({ method }) => method)).toEqual(['GET', 'HEAD', 'HEAD']);
    expect(remote.facts).toMatchObject({ total: 1_000_000, exact: true });
    expect(await readsRight(300_000, 1_000_000)).toBe(true);
    expect(server.calls.length).toBe(4);
  });

  it('needs one HEAD for a file that is shorter than the part', async () => {
    server.plan = () => ({ headers: hidden });
    expect(same(await outcome(read(0, 16 << 20)), WHOLE)).toBe(true);
    expect(server.calls.map(({ method }) => method)).toEqual(['GET', 'HEAD']);
    expect(remote.facts).toMatchObject({ total: 1_000_000 });
  });

  it('and is another file by the HEAD', async () => {
    server.plan = ({ method }) => {
      if (method === 'HEAD') server.bytes = bytesOf(200_000);
      return { headers: hidden };
    };
    expect(await failure(0, 300_000)).toBeInstanceOf(Changed);
  });

  it('and answers no HEAD: the length of a file that is shorter than the part is believed', async () => {
    server.plan = ({ method }) => (method === 'HEAD' ? { status: 405 } : { headers: hidden });
    expect(same(await outcome(read(0, 16 << 20)), WHOLE)).toBe(true);
    expect(server.calls.length).toBe(2);
  });

  it.each([
    ['the first part', 16 << 20, 0],
    ['the first HEAD', 300_000, 1],
    ['both', 16 << 20, 1],
  ])('and names a wrong length with %s', async (what, to, last) => {
    for (const wrong of [3000, -3000]) {
      server.calls.length = 0;
      connect();
      server.plan = (_, n) => {
        const lies = n <= last && (what !== 'the first HEAD' || n === 1);
        // What it sends is as long as it should be: the two are seen apart only by other answers.
        const length = { 'content-length': String(1_000_000 + (n + 1) * wrong) };
        return { headers: { ...hidden, ...(lies ? length : {}) } };
      };
      expect(same(await outcome(read(0, to)), WHOLE.subarray(0, to))).toBe(true);
      expect(remote.facts).toMatchObject({ total: 1_000_000 });
    }
  });

  it.each([
    ['answers with an error', { status: 405 } as Odd],
    ['tells no length', { headers: { 'content-length': null } } as Odd],
    ['fails', new TypeError('Failed to fetch')],
    ['never comes', 'hang' as const],
  ])('and whose HEAD %s: the whole file is asked for', async (_, odd) => {
    server.plan = ({ method, range }) =>
      method === 'HEAD' ? odd : range === null ? {} : { headers: hidden };
    expect(same(await outcome(read(0, 300_000)), WHOLE)).toBe(true);
    expect(server.asked.at(-1)).toBeNull();
  });

  it('can not send a part of another length', async () => {
    await outcome(read(0, 100));
    server.plan = () => ({ headers: hidden, body: WHOLE.subarray(100, 50_000) });
    expect(await failure(100)).toEqual(failed('sent 49900 bytes where the bytes from 100'));
  });
});

describe('a file that has changed', () => {
  it.each<[string, () => void]>([
    ['its ETag', () => (server.etag = '"two"')],
    ['its size', () => (server.bytes = bytesOf(900_000))],
    ['its date', () => ((server.etag = ''), (server.lastModified = 'Fri'))],
  ])('is seen by %s', async (what, change) => {
    if (what === 'its date') [server.etag, server.lastModified] = ['', 'Thu'];
    await outcome(read(0, 100));
    change();
    const error = await failure(100);
    expect(error).toBeInstanceOf(Changed);
    expect((error as Error).message).toMatch(new RegExp(`^${what} was`));
  });

  it('is not one whose ETag is weak for once, or is missing', async () => {
    await outcome(read(0, 100));
    server.etag = 'W/"one"';
    expect(await readsRight(100, 200)).toBe(true);
    server.plan = () => ({ headers: { etag: null } });
    expect(await readsRight(200, 300)).toBe(true);
    expect(remote.facts?.etag).not.toBe('');
  });

  it('is compared with what was known before', async () => {
    remote.expect({ total: 1_000_000, exact: true, etag: '"old"', lastModified: '' });
    expect(await failure()).toBeInstanceOf(Changed);
  });
});

describe('lost connections', () => {
  it.each([
    ['breaks', new TypeError('network error')],
    ['ends too soon', 'end'],
    ['stalls', 'hang'],
  ] as const)('go on at the byte where a body %s', async (_, after) => {
    server.plan = (_call, n) => (n < 3 ? { cut: 120_000, after } : {});
    expect(await readsRight(0, 1_000_000)).toBe(true);
    expect(server.asked.map((range) => range?.[0])).toEqual([0, 120_000, 240_000, 360_000]);
    expect(net.waits.length).toBe(3);
    expect(net.waits[0]).toMatch(/^network: /);
  });

  it('begin anew and skip, where the server has no parts', async () => {
    server.ranges = false;
    server.plan = (_call, n) =>
      n < 3 ? { cut: 100_000 * (n + 1) + 7, after: new Error('cut') } : {};
    expect(await readsRight(0, 1_000_000)).toBe(true);
    expect(server.asked.slice(1)).toEqual([null, null, null]);
  });

  it.each([408, 425, 429, 500, 502, 503, 504])('come back after %i', async (status) => {
    server.plan = (_call, n) => (n < 4 ? { status } : {});
    expect(await readsRight(0, 1000)).toBe(true);
    expect(net.waits.length).toBe(4);
  });

  it('come back after no answer, once a byte has come', async () => {
    server.plan = (_call, n) =>
      n === 0 ? { cut: 1000, after: new Error('cut') } : n < 4 ? new TypeError('Failed') : {};
    expect(await readsRight(0, 3000)).toBe(true);
  });

  it.each([
    [404, /answered 404 \(there is no such file\)/],
    [401, /answered 401 .*headers: { authorization: 'Bearer ..' }/],
    [403, /answered 403 .*headers: /],
    [410, /answered 410/],
    [204, /answered 204 \(no content\)/],
    [501, /answered 501/],
  ])('are not tried again after %i', async (status, message) => {
    server.plan = () => ({ status });
    expect(await failure()).toEqual(failed(message, { status }));
    expect(server.calls.length).toBe(1);
  });

  it('are tried for the whole patience from where the trouble begins, however long the page was idle', async () => {
    await outcome(read(0, 1000));
    await vi.advanceTimersByTimeAsync(600_000);
    const began = performance.now();
    server.plan = () => ({ status: 503 });
    expect(await failure(1000)).toEqual(failed('answered 503', { status: 503 }));
    expect(performance.now() - began).toBeGreaterThan(59_000);
  });
});

describe('a fault that never ends', () => {
  const faults: [string, () => Odd | Error | 'hang'][] = [
    ['503', () => ({ status: 503 })],
    ['429 with a wait', () => ({ status: 429, headers: { 'retry-after': '20' } })],
    ['no answer', () => new TypeError('Failed to fetch')],
    ['silence', () => 'hang'],
    [
      'no answer, and silence when it is asked why',
      () => (server.calls.at(-1)?.range ? 'hang' : new TypeError('Failed to fetch')),
    ],
    ['an empty body', () => ({ cut: 0 })],
    ['a body that breaks at once', () => ({ cut: 0, after: new Error('cut') })],
    ['a body that stalls at once', () => ({ cut: 0, after: 'hang' })],
    ['a wrong range', () => ({ headers: { 'content-range': 'bytes 7-8/9' } })],
    [
      'a hidden range of a wrong length',
      () => ({ headers: { 'content-range': null, 'content-length': '77' } }),
    ],
  ];
  for (const begun of [false, true]) {
    it.each(faults)(`ends: %s (after the first byte: ${begun})`, async (_, fault) => {
      if (begun) await outcome(read(0, 1000));
      server.plan = fault;
      expect(await failure(begun ? 1000 : 1)).toEqual(failed(/./));
      expect(server.calls.length).toBeLessThan(60);
    });
  }

  it('ends where the whole file is cut at the same byte again and again', async () => {
    server.ranges = false;
    server.plan = () => ({ cut: 300_000 });
    expect(await failure()).toEqual(failed('300000 of 1000000 bytes'));
  });

  it('is told as offline if the device is', async () => {
    await outcome(read(0, 1000));
    vi.stubGlobal('navigator', { onLine: false });
    server.plan = () => new TypeError('Failed to fetch');
    expect(await failure(1000)).toMatchObject({ code: 'offline' });
  });
});

describe('a server that asks to wait', () => {
  it('is waited for, by all connections, and the user is told', async () => {
    await outcome(read(0, 100));
    const times: number[] = [];
    const began = performance.now();
    server.plan = (_call, n) => {
      times.push(performance.now() - began);
      return n === 1 ? { status: 429, headers: { 'retry-after': '20' } } : {};
    };
    const first = read(100, 200);
    await vi.advanceTimersByTimeAsync(5000);
    const second = read(200, 300);
    await Promise.all([outcome(first), outcome(second)]);
    expect(times.length).toBe(3);
    for (const time of times.slice(1)) {
      expect(time).toBeGreaterThanOrEqual(20_000);
      expect(time).toBeLessThanOrEqual(23_100);
    }
    expect(net.waits[0]).toMatch(/^server: .* answered 429 .*and asks to wait 20 s/);
  });

  it('is waited for even if the device comes online meanwhile', async () => {
    const events = new EventTarget();
    vi.stubGlobal('addEventListener', events.addEventListener.bind(events));
    vi.stubGlobal('removeEventListener', events.removeEventListener.bind(events));
    await outcome(read(0, 100));
    server.plan = (_call, n) => (n === 1 ? { status: 429, headers: { 'retry-after': '20' } } : {});
    const reading = read(100, 200);
    await vi.advanceTimersByTimeAsync(5000);
    for (let i = 0; i < 5; ++i) {
      events.dispatchEvent(new Event('online'));
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(server.calls.length).toBe(2);
    expect((await outcome(reading)).length).toBe(100);
  });

  it('too long is not, and the message names the time', async () => {
    server.plan = () => ({ status: 429, headers: { 'retry-after': '301' } });
    expect(await failure()).toEqual(failed('asks to wait 301 s', { status: 429 }));
    expect(server.calls.length).toBe(1);
  });
});

describe('a signed address behind a redirect', () => {
  it('is used again, without the headers, and resolved anew when it refuses', async () => {
    connect({}, [['authorization', 'Bearer secret']]);
    let valid = true;
    server.plan = ({ url }) =>
      url === URL_ ? { redirectedTo: SIGNED } : valid ? {} : { status: 403 };
    expect(await readsRight(0, 100)).toBe(true);
    expect(await readsRight(100, 200)).toBe(true);
    valid = false;
    expect(await readsRight(200, 300)).toBe(true);
    expect(server.calls.map(({ url }) => url)).toEqual([URL_, SIGNED, SIGNED, URL_]);
    for (const { url, headers } of server.calls)
      expect(headers.get('authorization')).toBe(url === URL_ ? 'Bearer secret' : null);
    expect(net.waits).toEqual([]);
  });

  it('keeps the headers on its own origin', async () => {
    connect({}, [['authorization', 'Bearer secret']]);
    server.plan = ({ url }) => (url === URL_ ? { redirectedTo: `${URL_}?v=2` } : {});
    await outcome(read(0, 100));
    await outcome(read(100, 200));
    expect(server.calls[1]?.url).toBe(`${URL_}?v=2`);
    expect(server.calls[1]?.headers.get('authorization')).toBe('Bearer secret');
  });

  it.each([401, 403, 404, 410])('that answers %i at once is resolved anew', async (status) => {
    server.plan = (_call, n) => ({ redirectedTo: SIGNED, ...(n < 3 ? { status } : {}) });
    expect(await readsRight(0, 100)).toBe(true);
    expect(server.calls.map(({ url }) => url)).toEqual([URL_, URL_, URL_, URL_]);
  });

  it('that always refuses ends it after three', async () => {
    server.plan = () => ({ redirectedTo: SIGNED, status: 403 });
    expect(await failure()).toEqual(failed('answered 403', { status: 403 }));
    expect(server.calls.length).toBe(4);
  });

  it('that expires for many connections at once is resolved anew by each', async () => {
    let now = 1;
    server.plan = ({ url }) => {
      if (url === URL_) return { redirectedTo: `${SIGNED}&n=${now}` };
      return url.endsWith(`n=${now}`) ? {} : { status: 403 };
    };
    await outcome(read(0, 100));
    now = 2;
    const reads = Array.from({ length: 8 }, (_, i) => read(100 * i, 100 * i + 100));
    const all = await outcome(Promise.all(reads));
    expect(same(Buffer.concat(all), WHOLE.subarray(0, 800))).toBe(true);
  });

  it('that is not answered is resolved anew', async () => {
    server.plan = ({ url }) => (url === URL_ ? { redirectedTo: SIGNED } : new TypeError('Failed'));
    await outcome(read(0, 100));
    expect(await readsRight(100, 200)).toBe(true);
    expect(server.calls.map(({ url }) => url)).toEqual([URL_, SIGNED, URL_]);
  });
});

describe('an end from outside', () => {
  it.each<[string, () => void]>([
    ['an answer', () => (server.plan = () => 'hang')],
    ['a byte', () => (server.plan = () => ({ cut: 0, after: 'hang' }))],
    ['the next try', () => (server.plan = () => ({ status: 503 }))],
    [
      'the time that the server named',
      () => (server.plan = () => ({ status: 503, headers: { 'retry-after': '99' } })),
    ],
  ])('is heard while waiting for %s', async (_, wait) => {
    wait();
    const reading = read(0, 100).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    net.end.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(await Promise.race([reading, 'late'])).toMatchObject({ name: 'AbortError' });
    expect(server.calls.every(({ signal }) => signal.aborted)).toBe(true);
  });

  it('leaves no listeners behind, however many requests there were', async () => {
    let listeners = 0;
    const signal: AbortSignal = net.signal;
    const [add, remove] = [
      signal.addEventListener.bind(signal),
      signal.removeEventListener.bind(signal),
    ];
    const heard = new Set<unknown>();
    vi.spyOn(signal, 'addEventListener').mockImplementation((...given: Parameters<typeof add>) => {
      heard.add(given[1]);
      add(...given);
    });
    vi.spyOn(signal, 'removeEventListener').mockImplementation(
      (...given: Parameters<typeof remove>) => {
        heard.delete(given[1]);
        remove(...given);
      },
    );
    server.plan = (_call, n) =>
      [
        { status: 503 },
        { cut: 10, after: new Error('cut') },
        { status: 403, redirectedTo: SIGNED },
        {},
      ][n % 4];
    for (let at = 0; at < 1000; at += 100) await outcome(read(at, at + 100));
    listeners = heard.size;
    expect(listeners).toBe(0);
  });
});

it('refuses a file that no disk holds', async () => {
  server.plan = () => ({ headers: { 'content-range': `bytes 0-499999/${2 ** 52}` } });
  expect(await failure()).toEqual(failed('names 4503599627370496 bytes'));
});
