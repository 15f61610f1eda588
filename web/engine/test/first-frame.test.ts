// The page's first frame goes before the wasm.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

let frame: (() => void) | null;
let fetched: string[];
let compileEarly: (url: string) => Promise<WebAssembly.Module | null>;

function page(visibilityState: string, painted = false): void {
  vi.stubGlobal('document', { visibilityState });
  const entries = painted ? [{ name: 'first-contentful-paint' }] : [];
  vi.spyOn(performance, 'getEntriesByName').mockReturnValue(entries as PerformanceEntry[]);
}

beforeEach(async () => {
  vi.useFakeTimers();
  frame = null;
  fetched = [];
  vi.stubGlobal('requestAnimationFrame', (drawn: () => void) => (frame = drawn));
  vi.stubGlobal('fetch', (url: string) => {
    fetched.push(url);
    return Promise.reject(new TypeError('there is no network'));
  });
  vi.resetModules();
  ({ compileEarly } = await import('../src/platform/compile.js'));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('the code is fetched when the first frame is drawn', async () => {
  page('visible');
  const code = compileEarly('a.wasm');
  await vi.advanceTimersByTimeAsync(10);
  expect(fetched).toEqual([]);
  frame?.();
  await vi.advanceTimersByTimeAsync(1);
  expect(fetched).toEqual(['a.wasm']);
  expect(await code).toBeNull();
});

test('and without one soon after all', async () => {
  page('visible');
  const code = compileEarly('a.wasm');
  await vi.advanceTimersByTimeAsync(299);
  expect(fetched).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(fetched).toEqual(['a.wasm']);
  await code;
});

test.each([
  ['a tab behind others', () => page('hidden')],
  ['a page that is drawn already', () => page('visible', true)],
  ['a worker', () => undefined],
])('%s waits for nothing', async (_, where) => {
  where();
  await compileEarly('a.wasm');
  expect(fetched).toEqual(['a.wasm']);
});
