// Starts workers on pages with trusted types, and from other origins.
//
// On pages whose Content-Security-Policy has require-trusted-types-for 'script', the address of a worker must come from a
// named policy. Ours is named sluice; a page may list the allowed names (trusted-types sluice).
//
// A browser starts no worker from another origin than the page's, but a worker may import scripts from there. So such a worker
// is started from a blob of one line, which imports its script.
import { SluiceError } from '../shared/errors.js';
import { here, isForeign, notMade, policyHere } from './own-files.js';

/** The part of the browser's API that is used here; older browsers don't have it. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): string };
}

type Policy = ReturnType<TrustedTypes['createPolicy']>;

/** Made once for this page or worker; null: the browser has no trusted types, or it refused the policy. */
let policy: Policy | null | undefined;

function trustedTypes(): TrustedTypes | undefined {
  return (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
}

/** It accepts every address, because only the library can reach it. */
function sluicePolicy(): Policy | null {
  if (policy !== undefined) return policy;
  try {
    policy = trustedTypes()?.createPolicy('sluice', { createScriptURL: (address) => address });
  } catch {
    // Refused. That matters only if trusted types are required, too.
  }
  return (policy ??= null);
}

/** The addresses of these blobs, by their text. They are few, and never revoked. */
const starters = new Map<string, string>();

/**
 * The address of a blob of this origin that imports the script of another one. It has the same fragment, which names the
 * channel of a pool's thread (thread-guard.ts).
 */
function starterOf(address: string, type: WorkerType | undefined): string {
  const { hash } = new URL(address);
  const script = JSON.stringify(address.slice(0, address.length - hash.length));
  const text = type === 'module' ? `import ${script};` : `importScripts(${script});`;
  let starter = starters.get(text);
  if (starter === undefined) {
    starter = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    starters.set(text, starter);
  }
  return starter + hash;
}

/** A `Worker` class for any page and any address. It calls `made` for each worker. `name`: replaces the one in its options. */
export function trustedWorker(
  made: (worker: Worker, address: string) => void,
  name?: string,
): typeof Worker {
  return class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      const trusted = sluicePolicy();
      const address = new URL(url, here()).href;
      const script = isForeign(address) ? starterOf(address, options?.type) : url;
      try {
        super(
          trusted === null ? script : trusted.createScriptURL(String(script)),
          name === undefined ? options : { ...options, name },
        );
      } catch (cause) {
        if (cause instanceof DOMException && cause.name === 'SecurityError') throw notMade(address);
        if (trusted !== null || trustedTypes() === undefined || !(cause instanceof TypeError))
          throw cause;
        throw new SluiceError(
          'unsupported_environment',
          `${policyHere()} requires trusted types and refuses the policy 'sluice', which the library's workers need; ` +
            "add sluice to its trusted-types (and 'allow-duplicates' where a page has the library twice)",
          { facts: { missing: 'policy' }, cause },
        );
      }
      made(this, address);
    }
  };
}

/** A worker and the address of its script; '' if that can't be known. */
export interface Made {
  worker: Worker;
  address: string;
}

/** Starts the module of this address as a worker. */
export function startWorkerAt(address: string, name: string): Made {
  const Trusted = trustedWorker(() => {});
  return { worker: new Trusted(address, { type: 'module', name }), address };
}

/**
 * Runs `start`, which makes one worker in the form that bundlers recognize: new Worker(new URL('..', import.meta.url)).
 * During this call, `Worker` is the class above.
 */
export function startWorker(start: () => Worker, name?: string): Made {
  const before = globalThis.Worker;
  let address = '';
  // If the page's `Worker` can't be replaced, that one is used; the address stays ''.
  const replaced = Reflect.set(
    globalThis,
    'Worker',
    trustedWorker((_, made) => {
      address = made;
    }, name),
  );
  try {
    const worker = start();
    return { worker, address };
  } finally {
    if (replaced) globalThis.Worker = before;
  }
}
