// The platform of Node: worker_threads and the file system (platform/platform.ts says what each is).
export {
  askToPersist,
  deviceMemory,
  fileAt,
  hasPolicies,
  here,
  ifStillThere,
  ownOrigin,
  pathOf,
  postable,
  processors,
  whyNoThreads,
  words,
} from './abilities.js';
export {
  hasLifelines,
  holdLifeline,
  lifelineCut,
  lifelineName,
  openChannel,
  uniqueName,
  workerPort,
} from './channels.js';
export {
  estimate,
  evictsModels,
  exportFile,
  isWhole,
  openFolder,
  persisted,
  setWhole,
} from './folder.js';
export {
  Refusals,
  compileEarly,
  compileFile,
  filesBeside,
  importScript,
  unlessForbidden,
  whyNotLoaded,
  withoutOrigin,
} from './own-files.js';
export { relaxedIsRight } from './relaxed.js';
export { locksHeld, takeLock } from './store-locks.js';
export { watchThreads } from './threads.js';
export { startEngineWorker, startLoaderWorker, workerFolder } from './workers.js';
