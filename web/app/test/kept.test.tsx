// @vitest-environment happy-dom
// What is said of the models on this device: of one's own, whatever other tabs do.
import type * as Library from '@sluice/engine';
import type { CachedModel } from '@sluice/engine';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { kept } from '../src/model/kept';
import { refresh, refused, removable } from '../src/model/kept-list';
import { LoadLine } from '../src/model/load-line';
import { loadParts } from '../src/model/parts';
import { sheetOpen } from '../src/model/open';
import { fromAddress } from '../src/model/source';
import { models, paused, putAside } from '../src/model/state';
import { beginning } from '../src/model/phases';
import { setPhase, showModel } from './phase';

const device = vi.hoisted(() => ({
  list: [] as CachedModel[],
  /** Where short names lead. */
  names: new Map<string, string>(),
}));
vi.mock('@sluice/engine', async (original) => ({
  ...(await original<typeof Library>()),
  cache: {
    list: async () => device.list,
    find: async (url: string) =>
      device.list.find(({ source }) => source === (device.names.get(url) ?? url)) ?? null,
    room: async () => ({ usage: 0, quota: 1e9, persisted: false, evictable: 0 }),
  },
}));

const MINE = 'https://models.example/mine.gguf';
const OTHERS = 'https://models.example/others.gguf';

function part(source: string, stored: number, used: number): CachedModel {
  return {
    source,
    name: 'a.gguf',
    bytes: 5_000_000,
    stored,
    packed: 0,
    complete: false,
    used,
    verified: false,
    sha256: '',
    etag: '',
    commit: '',
    pinned: false,
    created: 0,
    inUse: true,
    parts: 1,
  };
}

// What the line says comes later.
beforeAll(async () => void (await loadParts.fetch()));

let place: HTMLElement;
beforeEach(() => {
  place = document.createElement('div');
  device.list = [];
  device.names.clear();
});
afterEach(async () => {
  await act(() => render(null, place));
  showModel(models, null);
  refused.value = null;
  sheetOpen.value = false;
});

/** Shows that the load from an address is paused. */
async function pausedFrom(url: string): Promise<void> {
  await act(() => {
    putAside(fromAddress(url));
    render(<LoadLine />, place);
  });
}

it('a paused load of which nothing is kept is not told as another tab’s', async () => {
  device.list = [part(OTHERS, 4_000_000, 9e12)];
  await pausedFrom(MINE);
  await vi.waitFor(() => expect(place.textContent).toContain('Nothing of it could be kept'));
  expect(place.textContent).not.toContain('4.00 MB');
});

it('a paused load says what is kept of it, though another tab’s is newer', async () => {
  device.list = [part(OTHERS, 4_000_000, 9e12), part(MINE, 1_000_000, 5)];
  await pausedFrom(MINE);
  await vi.waitFor(() => expect(place.textContent).toContain('1.00 MB of 5.00 MB are on'));
});

it('so does one that was loaded by its short name', async () => {
  device.list = [part(OTHERS, 4_000_000, 9e12), part(MINE, 1_000_000, 5)];
  device.names.set('hf:o/r:Q4_0', MINE);
  await pausedFrom('hf:o/r:Q4_0');
  await vi.waitFor(() => expect(place.textContent).toContain('1.00 MB of 5.00 MB are on'));
});

it('of the models in use, only the one that comes here is said to come here', async () => {
  device.list = [part(OTHERS, 4_000_000, 9e12), part(MINE, 1_000_000, 5)];
  device.names.set('hf:o/r:Q4_0', MINE);
  setPhase(models, {
    kind: 'loading',
    coming: beginning(fromAddress('hf:o/r:Q4_0'), false),
    shown: null,
    paused: null,
    problem: null,
  });
  expect(await removable(part(MINE, 1, 1))).toBe(false);
  expect(refused.value?.own).toContain('fetched here');
  expect(await removable(part(OTHERS, 1, 1))).toBe(false);
  expect(refused.value?.own).toContain('in another tab');
});

it('an older look at the list does not replace a newer one', async () => {
  const [old, recent] = [[part(MINE, 1, 1)], [part(OTHERS, 1, 1)]];
  let answer = (_: CachedModel[]): void => {};
  const { cache } = await import('@sluice/engine');
  vi.spyOn(cache, 'list').mockReturnValueOnce(new Promise((resolve) => (answer = resolve)));
  const first = refresh();
  device.list = recent;
  await refresh();
  answer(old);
  await first;
  expect(kept.value).toEqual(recent);
});

it('what has come is asked about, though Discard is pressed before the look at it ends', async () => {
  let answer = (_: CachedModel | null): void => {};
  const held = new Promise<CachedModel | null>((resolve) => (answer = resolve));
  const { cache } = await import('@sluice/engine');
  const find = vi.spyOn(cache, 'find').mockReturnValue(held);
  await pausedFrom(MINE);
  await act(() => place.querySelector<HTMLElement>('[aria-label="Discard"]')?.click());
  answer(part(MINE, 1_000_000, 5));
  await vi.waitFor(() => expect(sheetOpen.value).toBe(true));
  expect(paused.value).not.toBeNull();
  find.mockRestore();
});
