// The service worker: keeps the page's own files, so that the page opens without a network. offline.ts registers it.
//
// Each version of the page has a list of its files with their hashes (plugin.ts) and a cache of its own. A version is
// used when all of its files are in its cache and no tab shows the version before; then the older caches are deleted.
// A file counts only with the right hash, so no mixture of two versions is ever shown. Files that are not in the list,
// such as models from elsewhere, are none of its business.

export {};
declare const self: ServiceWorkerGlobalScope;
/** Of each file: its SHA-256, and when it is fetched (plugin.ts). */
declare const __FILES__: Record<string, [hash: string, when: string]>;
declare const __VERSION__: string;

const FILES = new Map(Object.entries(__FILES__));
const SCOPE = self.registration.scope;
/** The caches of this page; other pages of this origin may have others. */
const PREFIX = `page ${SCOPE} `;
const CACHE = PREFIX + __VERSION__;
/** The build of the engine that this browser runs. The others are not fetched. */
const FLAVOUR = new URL(self.location.href).searchParams.get('flavour');

/** These describe what was on the wire, not the bytes that are kept. */
const OF_THE_WIRE = ['content-encoding', 'content-length', 'transfer-encoding', 'vary'];

async function sha256(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The whole file with the headers it was sent with; null if it is not the file of this version. */
async function checked(path: string, response: Response): Promise<Response | null> {
  if (response.status !== 200) return null;
  const bytes = await response.arrayBuffer();
  if ((await sha256(bytes)) !== FILES.get(path)?.[0]) return null;
  const headers = new Headers(response.headers);
  for (const name of OF_THE_WIRE) headers.delete(name);
  headers.set('content-length', String(bytes.byteLength));
  return new Response(bytes, { headers });
}

async function keep(path: string): Promise<void> {
  const address = SCOPE + path;
  const cache = await caches.open(CACHE);
  if ((await cache.match(address)) !== undefined) return;
  // What the page has loaded is in the browser's HTTP cache. A file of another version there is asked for again.
  for (const how of ['default', 'reload'] as const) {
    const file = await checked(path, await fetch(address, { cache: how }));
    if (file !== null) return cache.put(address, file);
  }
  throw new Error(`${address} is not of version ${__VERSION__}`);
}

/** One file after another: nobody waits for them. If one fails, the browser tries again at a later visit. */
async function keepAll(): Promise<void> {
  for (const [path, [, when]] of FILES) {
    if (when === 'always' || when === FLAVOUR) await keep(path);
  }
}

async function takeOver(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== CACHE) await caches.delete(name);
  }
  await self.clients.claim();
}

/** The name in the list of what is at an address; undefined if it isn't there. `shown`: a window goes there. */
function listed(url: string, shown: boolean): string | undefined {
  const address = new URL(url);
  address.hash = '';
  if (shown) address.search = '';
  if (!address.href.startsWith(SCOPE)) return undefined;
  const path = address.href.slice(SCOPE.length);
  const name = path === 'index.html' ? '' : path;
  return FILES.has(name) ? name : undefined;
}

/** A kept file is answered whole, also to a request for a part of it: a server may do that as well. */
async function answer(event: FetchEvent, path: string): Promise<Response> {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(SCOPE + path);
  if (kept !== undefined) return kept;
  const response = await fetch(event.request);
  // A font for other letters, another build of the engine: kept from its first use on.
  const file = checked(path, response.clone()).then((so) =>
    so === null ? undefined : cache.put(SCOPE + path, so),
  );
  event.waitUntil(file.catch(() => {}));
  return response;
}

self.addEventListener('install', (event) => event.waitUntil(keepAll()));
self.addEventListener('activate', (event) => event.waitUntil(takeOver()));

self.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request;
  const path = method === 'GET' ? listed(url, mode === 'navigate') : undefined;
  if (path !== undefined) event.respondWith(answer(event, path));
});

// The page asks to use this version now. With other tabs open that would take away the files of theirs.
self.addEventListener('message', (event) => {
  if (event.data !== 'take over') return;
  const go = async (): Promise<void> => {
    // Those of the whole origin: other pages on it are none of ours.
    const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const tabs = windows.filter(({ url }) => listed(url, true) === '');
    if (tabs.length <= 1) await self.skipWaiting();
    else event.source?.postMessage('other tabs');
  };
  event.waitUntil(go());
});
