// A model that this page has closed is in use until its loader has closed its files. Calls of the cache wait for that.
import { afterEach, expect, test, vi } from 'vitest';
import { Engine, cache } from '../src/index.js';
import { Keeper } from '../src/loader/keeper.js';
import { deferred } from '../src/shared/promises.js';
import { MODEL, file } from './engine-setup.js';
import { FakeOpfs } from './fake-opfs.js';
import { FakeWorker, useFakes } from './fake-workers.js';
import { fill, settle } from './store-setup.js';

/** Lets the loaders' files close when the returned function is called. */
function closeLater(): () => void {
  const { promise, resolve } = deferred();
  const close = Object.getOwnPropertyDescriptor(Keeper.prototype, 'close')
    ?.value as Keeper['close'];
  vi.spyOn(Keeper.prototype, 'close').mockImplementation(async function (this: Keeper, refused) {
    await promise;
    await close.call(this, refused);
  });
  return resolve;
}

afterEach(async () => {
  await settle();
  for (const worker of FakeWorker.all)
    worker.emit('error', { message: 'the test is over', preventDefault: () => {} });
  await settle();
});

test.each(['close()', 'a signal'])('a model whose engine was ended by %s', async (way) => {
  new FakeOpfs().install();
  useFakes();
  await fill(MODEL, file);
  const release = closeLater();
  const abort = new AbortController();
  const engine = await Engine.load(MODEL, { cache: 'opfs', signal: abort.signal });
  engine.ready.catch(() => {});
  expect(await cache.list()).toMatchObject([{ source: MODEL, inUse: true }]);

  let over = false;
  if (way === 'a signal') abort.abort();
  const closed = engine.close().then(() => (over = true));
  let known = false;
  const listed = cache.list().finally(() => (known = true));
  const pinned = cache.pin(MODEL);
  await settle();
  expect([known, over]).toEqual([false, false]);
  release();
  expect(await listed).toMatchObject([{ source: MODEL, inUse: false }]);
  await pinned;
  expect(await cache.delete(MODEL)).toBe(true);
  await closed;
});
