// Lets the page open without a network: registers the service worker (offline/service-worker.ts).
import { whenAtRest } from '../model/rest';
import { stats } from '../model/state';
import { newer, watchForNewer } from '../ui/newer';

async function register(flavour: string): Promise<void> {
  const { serviceWorker } = navigator;
  serviceWorker.addEventListener('message', ({ data }) => {
    if (data === 'other tabs') newer.value = 'later';
  });
  try {
    watchForNewer(
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
