// What the address of a model says: for those that show where a model comes from, and what it is called.
import { HUB, canonicalOf, parseAddress } from '../loader/net/addresses.js';

export interface AddressFacts {
  /** The server that is asked. */
  host: string;
  /** The repository, if the address is of the hub. `page`: the address of its page. */
  repository: { owner: string; name: string; page: string } | null;
  /** The file's name, without folders; null if the hub chooses the file. */
  file: string | null;
  /** The type that `hf:owner/repo:Q4_0` names; '' if there is none. */
  type: string;
  /** Where the file is, under which it is also cached; null if the hub chooses the file. */
  url: string | null;
}

function lastOf(path: string): string {
  const name = path.split('/').filter(Boolean).at(-1) ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * What an address says that Engine.load takes; nothing is asked. For short addresses the hub is huggingface.co. Fails with
 * invalid_argument if it begins like a hub's address but is none, and with a TypeError if it is no address.
 */
export function addressFacts(address: string): AddressFacts {
  const meaning = parseAddress(address, HUB);
  if (meaning.kind === 'file') {
    const { host, pathname } = new URL(meaning.url);
    return { host, repository: null, file: lastOf(pathname) || host, type: '', url: meaning.url };
  }
  const { hub, repo } = meaning.repo;
  const [owner = '', name = ''] = repo.split('/');
  const repository = { owner, name, page: `${hub}/${repo}` };
  const { host } = new URL(hub);
  return meaning.kind === 'hub file'
    ? {
        host,
        repository,
        file: meaning.path.split('/').at(-1) ?? '',
        type: '',
        url: canonicalOf(meaning),
      }
    : { host, repository, file: null, type: meaning.selector, url: null };
}
