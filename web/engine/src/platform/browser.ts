// The platform of pages and their workers (platform.ts says what each is).
import type { Words } from './platform.js';

export {
  askToPersist,
  deviceMemory,
  fileAt,
  ifStillThere,
  pathOf,
  postable,
  processors,
  relaxedIsRight,
  whyNoThreads,
} from './abilities.js';
export { openChannel, workerPort } from './channels.js';
export { compileEarly } from './compile.js';
export { hasLifelines, holdLifeline, lifelineCut, lifelineName, uniqueName } from './lifeline.js';
export {
  estimate,
  evictsModels,
  exportFile,
  isWhole,
  locksHeld,
  openFolder,
  persisted,
  setWhole,
  takeLock,
} from './opfs.js';
export {
  Refusals,
  compileFile,
  here,
  ownOrigin,
  unlessForbidden,
  whyNotLoaded,
  withoutOrigin,
} from './own-files.js';
export { startEngineWorker, startLoaderWorker, workerFolder } from './own-workers.js';
export { importScript, watchThreads } from './threads.js';
export { filesBeside } from './wasm-files.js';

export const hasPolicies: boolean = true;

export const words: Words = {
  here: 'this browser',
  gives: 'this browser gives a page',
  noMore: 'This browser gives a page no more',
  others: 'other tabs',
  disk: 'the browser',
  grants: 'that the browser grants this site',
  site: ' for this site',
  instead: 'use Chrome or Edge 91, Firefox 89, Safari 16.4 or newer',
  unsupported: 'unsupported_browser',
};
