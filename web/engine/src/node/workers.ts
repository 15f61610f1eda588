// Starts the library's workers in Node: worker_threads, as the page's side uses them.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Started, WorkerLike } from '../platform/platform.js';
import { SluiceError } from '../shared/errors.js';
import { cacheFolder } from './folder.js';
import { releaseThreads } from './locks.js';
import { fileBeside } from './own-files.js';

type Hear = (event: unknown) => void;

/** A Worker with the methods of a browser's. An end that nobody asked for is an error event. */
class NodeWorker {
  readonly gone: Promise<void>;
  readonly #worker: Worker;
  readonly #hearers = new Map<string, Hear[]>();
  #wanted = false;

  constructor(script: URL, name: string) {
    // Node's own options, such as --input-type, are for the program's script.
    this.#worker = new Worker(script, { name, execArgv: [] });
    const { threadId } = this.#worker;
    let failed = false;
    this.#worker.on('message', (data: unknown) => this.#tell('message', { data }));
    const fail = (message: string): void => {
      if (failed || this.#wanted) return;
      failed = true;
      this.#tell('error', { message, preventDefault: () => {} });
    };
    this.#worker.on('error', (error: unknown) =>
      fail(error instanceof Error ? error.message : String(error)),
    );
    this.gone = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        // It may have been terminated while it held locks.
        releaseThreads(cacheFolder(), threadId);
        fail(`it exited with the code ${code}`);
        resolve();
      });
    });
  }

  #tell(type: string, event: unknown): void {
    for (const hear of this.#hearers.get(type) ?? []) hear(event);
  }

  addEventListener(type: string, hear: Hear): void {
    this.#hearers.set(type, [...(this.#hearers.get(type) ?? []), hear]);
  }

  postMessage(message: unknown, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transfer as Parameters<Worker['postMessage']>[1]);
  }

  terminate(): void {
    this.#wanted = true;
    void this.#worker.terminate();
  }

  keepAlive(on: boolean): void {
    if (on) this.#worker.ref();
    else this.#worker.unref();
  }
}

export const workerFolder: '' | 'node/' = 'node/';

const OLDEST = 20;

let isWatching = false;

/** A process that exits ends its workers without a chance to release their locks. */
function releaseAtExit(): void {
  if (isWatching) return;
  isWatching = true;
  process.once('exit', () => releaseThreads(cacheFolder()));
}

function start(file: string, address: string | null, name: string): Started {
  if (Number.parseInt(process.versions.node, 10) < OLDEST) {
    throw new SluiceError(
      'unsupported_environment',
      `this is Node ${process.versions.node}; use Node ${OLDEST} or newer`,
    );
  }
  const script = address === null ? fileBeside(file) : new URL(address);
  if (script.protocol !== 'file:') {
    throw new SluiceError(
      'unsupported_environment',
      `${script.href}: Node starts no workers from there; give configure() a folder of the file system, as a file: URL`,
    );
  }
  if (!existsSync(fileURLToPath(script))) {
    throw new SluiceError(
      'unsupported_environment',
      `${script.href}, a file of the library, is missing; keep the package's dist folder together (leave it out of bundles, as ` +
        'external), or say where it is with configure({ baseUrl })',
    );
  }
  releaseAtExit();
  const worker = new NodeWorker(script, name);
  return {
    worker: worker as unknown as WorkerLike,
    address: script.href,
    gone: worker.gone,
    keepAlive: (on) => worker.keepAlive(on),
  };
}

export function startEngineWorker(address: string | null): Started {
  return start('engine-worker.js', address, 'sluice-engine');
}

export function startLoaderWorker(address: string | null, name = 'sluice-loader'): Started {
  return start('loader-worker.js', address, name);
}
