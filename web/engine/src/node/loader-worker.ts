// The loader worker in Node: it reads paths, too.
import { runLoaderWorker } from '../loader/worker.js';
import { workerPort } from '../platform/here.js';
import { PathFile } from './path-file.js';

runLoaderWorker(workerPort(), (path) => new PathFile(path));
