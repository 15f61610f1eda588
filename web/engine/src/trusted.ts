// Workers on pages whose Content-Security-Policy has require-trusted-types-for 'script'. There the address of a worker
// must come from a named policy. Ours is named sluice; a page may list the allowed names (trusted-types sluice).
import { SluiceError } from './errors.js';
import { notMade, policyHere } from './own-files.js';

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

/** A `Worker` class that passes the address through the policy, and calls `made` for each worker. */
export function trustedWorker(made: (worker: Worker, address: string) => void): typeof Worker {
  return class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      const trusted = sluicePolicy();
      const address = new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href).href;
      try {
        super(trusted === null ? url : trusted.createScriptURL(String(url)), options);
      } catch (cause) {
        if (cause instanceof DOMException && cause.name === 'SecurityError') throw notMade(address);
        if (trusted !== null || trustedTypes() === undefined || !(cause instanceof TypeError))
          throw cause;
        throw new SluiceError(
          'unsupported_browser',
          `${policyHere()} requires trusted types and refuses the policy 'sluice', which the library's workers need; ` +
            "add sluice to its trusted-types (and 'allow-duplicates' where a page has the library twice)",
          { facts: { missing: 'policy' }, cause },
        );
      }
      made(this, address);
    }
  };
}

/**
 * Runs `start`, which makes one worker in the form that bundlers recognize: new Worker(new URL('..', import.meta.url)).
 * During this call, `Worker` is the class above. Returns the worker and its address.
 */
export function startWorker(start: () => Worker): { worker: Worker; address: string } {
  const before = globalThis.Worker;
  let address = '';
  // If the page's `Worker` can't be replaced, that one is used; the address stays ''.
  const replaced = Reflect.set(
    globalThis,
    'Worker',
    trustedWorker((_, made) => {
      address = made;
    }),
  );
  try {
    const worker = start();
    return { worker, address };
  } finally {
    if (replaced) globalThis.Worker = before;
  }
}
