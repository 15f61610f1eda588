// Workers on pages whose Content-Security-Policy has require-trusted-types-for 'script': their addresses have to come
// from a policy by name, and such a page can list the name (trusted-types sluice).
import { SluiceError } from './errors.js';
import { notMade, policyHere } from './own-files.js';

/** The part of the browser's interface that is used here; older ones have none of it. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): string };
}

type Policy = ReturnType<TrustedTypes['createPolicy']>;

/** Made once for this page or worker; null: there are no trusted types here, or the policy was refused. */
let policy: Policy | null | undefined;

function trustedTypes(): TrustedTypes | undefined {
  return (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
}

/** Nobody else can reach it: it says yes to the library's own addresses. */
function sluicePolicy(): Policy | null {
  if (policy !== undefined) return policy;
  try {
    policy = trustedTypes()?.createPolicy('sluice', { createScriptURL: (address) => address });
  } catch {
    // Refused. It matters only where trusted types are required, too.
  }
  return (policy ??= null);
}

/** `Worker` with an address that the policy has taken; tells `made` of each. */
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
          { cause },
        );
      }
      made(this, address);
    }
  };
}

/**
 * Runs `start`, which makes one worker with the very words that bundlers know: new Worker(new URL('..', import.meta.url)).
 * Gives the worker and its address. For as long as `start` runs, which is no longer than this call, `Worker` is the one above.
 */
export function startWorker(start: () => Worker): { worker: Worker; address: string } {
  const before = globalThis.Worker;
  let address = '';
  // Where the page doesn't let go of its own, that one does as well as it can.
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
