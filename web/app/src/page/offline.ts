// Lets the page open without a network: registers the service worker (offline/service-worker.ts).
import { signal } from '@preact/signals';
import { whenAtRest } from './rest';
import { stats } from '../model/state';

/** A newer version of the page is kept and waits to be used: 'here'; 'later' if other tabs still show the old one. */
export const newer = signal<'none' | 'here' | 'later'>('none');

let waiting: ServiceWorker | null = null;

function watch(registration: ServiceWorkerRegistration): void {
  const look = (): void => {
    // Without a controller this is the first version, which doesn't wait.
    waiting = navigator.serviceWorker.controller === null ? null : registration.waiting;
    newer.value = waiting === null ? 'none' : 'here';
  };
  registration.addEventListener('updatefound', () => {
    registration.installing?.addEventListener('statechange', look);
  });
  look();
}

/** Loads the page again in its newer version; not while other tabs show the old one, whose files would be gone. */
export function useNewer(): void {
  const { serviceWorker } = navigator;
  serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
  waiting?.postMessage('take over');
}

async function register(flavour: string): Promise<void> {
  const { serviceWorker } = navigator;
  serviceWorker.addEventListener('message', ({ data }) => {
    if (data === 'other tabs') newer.value = 'later';
  });
  try {
    watch(
      await serviceWorker.register(`./service-worker.js?flavour=${flavour}`, {
        updateViaCache: 'none',
      }),
    );
  } catch {
    // Private windows and some settings allow none: then the page needs the network, as any page does.
  }
}

/** Registers the service worker when the page is at rest; in the dev server there is none. */
export function keepPage(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  whenAtRest(() => {
    const flavour = stats.value?.flavour;
    if (flavour !== undefined) void register(flavour);
  });
}
