// @vitest-environment happy-dom
// @vitest-environment-options { "url": "https://page.example/" }
// A model that a link names: what is asked about one link is no answer about the next.
import { expect, it, vi } from 'vitest';
import { fromAddress } from '../src/model/source';
import { open } from '../src/model/state';
import { lookAtOffer, offer, start } from '../src/page/link';

const FIRST = 'https://first.example/a.gguf';
const SECOND = 'https://second.example/b.gguf';

const asked = vi.hoisted(() => new Map<string, (kept: boolean) => void>());
vi.mock('../src/model/kept', () => ({
  isKept: (url: string) => new Promise((resolve) => asked.set(url, resolve)),
  partOf: async () => null,
}));
vi.mock('../src/model/probe', () => ({ headerOf: () => new Promise(() => {}) }));
vi.mock('../src/model/state', async (original) => ({
  ...(await original<object>()),
  open: vi.fn(async () => {}),
}));

async function follow(url: string): Promise<void> {
  location.hash = `#model=${encodeURIComponent(url)}`;
  window.dispatchEvent(new Event('hashchange'));
  await vi.waitFor(() => expect(asked.has(url)).toBe(true));
}

it('is not loaded because the one before is kept on this device', async () => {
  start();
  await follow(FIRST);
  void lookAtOffer();
  await follow(SECOND);
  expect(offer.value).toMatchObject({ url: SECOND, asked: false });
  asked.get(FIRST)?.(true);
  await new Promise((resolve) => setTimeout(resolve));
  expect(offer.value).toMatchObject({ url: SECOND, asked: false });
  expect(open).not.toHaveBeenCalledWith(fromAddress(SECOND));
  // That it is kept itself is one.
  asked.get(SECOND)?.(true);
  await vi.waitFor(() => expect(open).toHaveBeenCalledWith(fromAddress(SECOND)));
});
