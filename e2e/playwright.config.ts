import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';
import { UNTHROTTLED } from './bench/tabs.mjs';
import { PATIENCE } from './browsers/driver';
import { WAYS } from './browsers/ways';
import type { Options } from './fixtures';
import { ALL, leftOut } from './tags';

// The headless shell is the same engine without the browser's own windows, which cost more than the page's tests do.
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const found = (paths: string[]): { executablePath?: string } => {
  const executablePath = paths.find((path) => existsSync(path));
  return executablePath === undefined ? {} : { executablePath };
};

const LAUNCH = {
  // Hidden pages are slowed down, as in an ordinary browser.
  ignoreDefaultArgs: UNTHROTTLED,
  args: [
    // Chromium's sandbox doesn't work for root, the usual user in a container.
    '--no-sandbox',
    '--disable-dev-shm-usage',
  ],
};

/** What the page's users do first, and a site's author: `npm test` runs these. */
const USUAL = ['page', 'talk', 'engine', 'chat', 'openai', 'size'].map((name) => `${name}.spec.ts`);

/** Steps of the ladder may run at the same time, and each empties its output directory. */
const CHROMIUM = {
  testIgnore: ['browsers*.spec.ts', 'busy.spec.ts', 'kernels.spec.ts', 'real-*.spec.ts'],
  grepInvert: leftOut(),
  outputDir: 'test-results/chromium',
};

/** Where the ladder wants a report (scripts/reports.mjs). A step may run several projects one after another. */
const REPORTS = process.env['SLUICE_REPORTS'] ?? '';
const report = `${REPORTS}/playwright-${process.pid}.xml`;

export default defineConfig<Options>({
  testDir: '.',
  reporter: REPORTS === '' ? 'list' : [['list'], ['junit', { outputFile: report }]],
  forbidOnly: process.env['CI'] !== undefined,
  fullyParallel: true,
  workers: 2,
  // Far more than the slowest test needs alone: on a busy machine all take longer.
  timeout: 180_000,
  expect: { timeout: 60_000 },
  use: {
    browserName: 'chromium',
    headless: true,
    // Requests that pass through a service worker can't be changed by a test. offline.spec.ts allows it.
    serviceWorkers: 'block',
    launchOptions: { ...LAUNCH, ...found(['/usr/bin/chromium-headless-shell', ...BROWSERS]) },
    screenshot: 'only-on-failure',
  },
  projects: [
    { ...CHROMIUM, name: 'isolated', use: { isolation: true } },
    { ...CHROMIUM, name: 'usual', use: { isolation: true }, testMatch: USUAL },
    // The headless shell has no tabs of which one hides the others.
    {
      ...CHROMIUM,
      name: 'tabs',
      use: { isolation: true, launchOptions: { ...LAUNCH, ...found(BROWSERS) } },
      testIgnore: [],
      testMatch: 'busy.spec.ts',
      outputDir: 'test-results/tabs',
    },
    // Needs the checks that a fresh wasm build makes.
    {
      ...CHROMIUM,
      name: 'kernels',
      use: { isolation: true },
      testIgnore: [],
      testMatch: 'kernels.spec.ts',
      outputDir: 'test-results/kernels',
    },
    // Without the headers for cross-origin isolation there is no shared memory, so there is one thread.
    {
      ...CHROMIUM,
      name: 'plain',
      use: { isolation: false },
      grepInvert: leftOut(true),
      // Where models come from and what the page keeps don't depend on threads: SLUICE_ALL_TABS=1 runs that here, too.
      testMatch: [
        'page.spec.ts',
        ...(ALL ? ['models.spec.ts', 'kept.spec.ts', 'offline.spec.ts'] : []),
      ],
    },
    // Each page has a model of 253 MB in memory, so there is one at a time. tests/real/real-model.mjs runs it.
    {
      ...CHROMIUM,
      name: 'real',
      use: { isolation: true },
      testMatch: 'real-*.spec.ts',
      testIgnore: [],
      outputDir: 'test-results/real',
      workers: 1,
    },
    ...Object.entries(WAYS).map(([name, { browser, isolation, keepsNothing }]) => ({
      name,
      use: { isolation },
      testMatch: 'browsers*.spec.ts',
      grepInvert: leftOut(name.endsWith('-plain'), keepsNothing === null),
      outputDir: `test-results/${browser}`,
      workers: 1,
      timeout: 120_000,
      expect: { timeout: PATIENCE },
    })),
  ],
});
