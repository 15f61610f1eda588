// Downloads from a server that misbehaves once.
import { expect, test } from './fixtures';
import { Hub } from './hub/server.mjs';
import { type LibraryWindow, harness } from './library';
import { BUNDLED } from './models';

declare const window: LibraryWindow;

// An isolated page may ask no other site whether it is there.
test.use({ isolation: false });

test('a connection that is closed before the first answer is made again', async ({
  page,
  site,
  allowed,
}) => {
  allowed.push(/net::ERR_/);
  const hub = await Hub.start();
  try {
    const file = hub.add('stories.gguf', BUNDLED, {
      plan: ({ number }) => ({ close: number === 0 }),
    });
    await harness(page, site);
    const tokens = await page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url, { cache: 'none' });
      await engine.ready;
      const { top } = await engine.logits([3, 4, 5]);
      await engine.close();
      return top.length;
    }, file.url);
    expect(tokens).toBe(10);
    expect(file.counts.statuses[0]).toBe(1);
  } finally {
    await hub.close();
  }
});
