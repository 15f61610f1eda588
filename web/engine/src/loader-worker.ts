// The loader worker of a page.
import { runLoaderWorker } from './loader/worker.js';
import { workerPort } from './platform/here.js';

runLoaderWorker(workerPort());
