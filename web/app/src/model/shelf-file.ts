// The file of the models on offer. It is fetched while the script comes that reads it (shelf.ts).

let coming: Promise<string> | null = null;

async function bring(): Promise<string> {
  try {
    const url = new URL('models/shelf.json', document.baseURI);
    const response = await fetch(url, { redirect: 'error', credentials: 'omit' });
    return response.ok ? await response.text() : '';
  } catch (error) {
    coming = null;
    throw error;
  }
}

/** Its text; '' if the site has none. Rejects if the network is gone: the next call tries again. */
export function fetchShelfFile(): Promise<string> {
  return (coming ??= bring());
}
