// A newer version of the page. The service worker (offline/service-worker.ts) keeps it until it is used.
import { signal } from '@preact/signals';

/** A newer version of the page is kept and waits to be used: 'here'; 'later' if other tabs still show the old one. */
export const newer = signal<'none' | 'here' | 'later'>('none');

let waiting: ServiceWorker | null = null;

/** Looks from now on whether there is a newer version. */
export function watchForNewer(registration: ServiceWorkerRegistration): void {
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
