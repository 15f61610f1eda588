// Each platform has all functions of the seam, and none besides.
import { expect, test } from 'vitest';
import * as node from '../src/node/platform.js';
import * as browser from '../src/platform/browser.js';
import type { Platform } from '../src/platform/platform.js';

// tsc compares the signatures.
const PLATFORMS: Record<string, Platform> = { browser, node };

/** The names in the interface. */
type Name = keyof Platform;

const NAMES: Record<Name, true> = {
  Refusals: true,
  askToPersist: true,
  compileEarly: true,
  compileFile: true,
  deviceMemory: true,
  estimate: true,
  evictsModels: true,
  exportFile: true,
  fileAt: true,
  filesBeside: true,
  hasLifelines: true,
  hasPolicies: true,
  here: true,
  holdLifeline: true,
  ifStillThere: true,
  importScript: true,
  isWhole: true,
  lifelineCut: true,
  lifelineName: true,
  locksHeld: true,
  openChannel: true,
  openFolder: true,
  ownOrigin: true,
  pathOf: true,
  persisted: true,
  postable: true,
  processors: true,
  relaxedIsRight: true,
  setWhole: true,
  startEngineWorker: true,
  startLoaderWorker: true,
  takeLock: true,
  uniqueName: true,
  unlessForbidden: true,
  watchThreads: true,
  whyNoThreads: true,
  whyNotLoaded: true,
  withoutOrigin: true,
  words: true,
  workerFolder: true,
  workerPort: true,
};

test.each(Object.keys(PLATFORMS))('%s has what the seam names, and nothing else', (name) => {
  expect(Object.keys(PLATFORMS[name] as object).sort()).toEqual(Object.keys(NAMES).sort());
});
