// The fixtures of the tests in Firefox and WebKit.
import fs from 'node:fs';
import path from 'node:path';
import { expect, test as base } from '../fixtures';
import { importLibrary } from '../library';
import type { Browser, Size, Tab } from './driver';
import { Firefox } from './firefox';
import { WAYS, type Way } from './ways';
import { WebKit } from './webkit';

export { expect };

export const LAPTOP: Size = { width: 1366, height: 768 };

interface Fixtures {
  /** Opens an address of the site in a tab that is closed after the test. */
  open: (address: string, size?: Size) => Promise<Tab>;
  /** An empty page with the library. */
  tab: Tab;
}

export const test = base.extend<Fixtures, { way: Way; driven: Browser }>({
  way: [
    async ({}, use, { project }) => {
      const way = WAYS[project.name];
      if (way === undefined) throw new Error(`no such way: ${project.name}`);
      await use(way);
    },
    { scope: 'worker' },
  ],

  driven: [
    async ({ way }, use, { project, workerIndex }) => {
      const driven =
        way.browser === 'firefox'
          ? await Firefox.launch(path.join(project.outputDir, `profile-${workerIndex}`))
          : await WebKit.launch(way.sharedMemory === true);
      await use(driven);
      await driven.close();
    },
    { scope: 'worker', timeout: 120_000 },
  ],

  open: async ({ driven, site, allowed }, use, info) => {
    const tabs: Tab[] = [];
    await use(async (address, size = LAPTOP) => {
      // The front page is the conversation; the tests write.
      const shown = address.startsWith('#') ? `#view=write&${address.slice(1)}` : address;
      const tab = await driven.open(site.url + shown, size);
      tabs.push(tab);
      return tab;
    });
    const messages = tabs.flatMap((tab) => tab.messages ?? []);
    if (info.status !== info.expectedStatus) {
      for (const [i, tab] of tabs.entries()) {
        await tab.screenshot().then(
          (png) => fs.promises.writeFile(info.outputPath(`tab-${i}.png`), png),
          (error) => console.log(`no screenshot: ${error}`),
        );
      }
    }
    for (const tab of tabs) await tab.close();
    const unexpected = messages.filter((text) => !allowed.some((pattern) => pattern.test(text)));
    expect(unexpected, 'the console').toEqual([]);
  },

  tab: async ({ open }, use) => {
    const tab = await open('harness/');
    await tab.evaluate(importLibrary, undefined);
    await use(tab);
  },
});
