// The addresses of models: of any server, of a hub's files and pages, and `hf:owner/repo[:file or type][@revision]`.
import { SluiceError } from '../../shared/errors.js';
import { shardOf, shardsOf } from '../../shared/shards.js';

/** The hub of `hf:` addresses, unless the caller names another. */
export const HUB = 'https://huggingface.co';
/** Addresses of these hosts are the hub's, even if `hubUrl` names a mirror of it. */
const HUB_HOSTS = new Set(['huggingface.co', 'www.huggingface.co', 'hf.co']);
/** Whether addresses of a host are the hub's. */
export function isHubHost(host: string): boolean {
  return HUB_HOSTS.has(host);
}

/** A repository of the hub at one revision. */
export interface Repo {
  /** The hub's origin, without a slash at the end. */
  hub: string;
  /** owner/name */
  repo: string;
  /** A branch, a tag, a reference or a commit. */
  revision: string;
}

/** What an address means. */
export type Address =
  /** A file at any address. */
  | { kind: 'file'; url: string }
  /** A file of the hub. `path`: in its repository. */
  | { kind: 'hub file'; repo: Repo; path: string }
  /** The file of the hub that `selector` chooses: a type, or '' for the usual one. `folder`: ends with '/', or ''. */
  | { kind: 'hub choice'; repo: Repo; selector: string; folder: string };

function invalid(message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid_argument', message, { cause });
}

const NAME = /^[\w][\w.-]*$/;
const SHORT = 'hf:owner/repo[:file or type][@revision]';

function checkedRepo(hub: string, owner: string, name: string, revision: string): Repo {
  if (!NAME.test(owner) || !NAME.test(name)) {
    throw invalid(`'${owner}/${name}' is no repository of a hub; give ${SHORT}`);
  }
  const bad = /^$|^[/.]|\.\.|\/$|[\s\\]/;
  if (revision.length > 200 || bad.test(revision))
    throw invalid(`'${revision}' is no revision; give a branch, a tag or a commit`);
  return { hub, repo: `${owner}/${name}`, revision };
}

function checkedPath(path: string): string {
  const parts = path.split('/');
  if (path.length > 1000 || parts.some((part) => ['', '.', '..'].includes(part)))
    throw invalid(`'${path}' is no file in a repository; give its path, such as model-Q4_0.gguf`);
  return path;
}

function parseShort(text: string, hub: string): Address {
  const match = /^hf:(?:\/\/)?([^/:@]+)\/([^/:@]+)(?::([^@]*))?(?:@(.*))?$/i.exec(text);
  if (match === null) throw invalid(`'${text}' is no address; give ${SHORT}`);
  const [, owner = '', name = '', selector = '', revision = 'main'] = match;
  const repo = checkedRepo(hub, owner, name, revision);
  return /\.gguf$/i.test(selector)
    ? { kind: 'hub file', repo, path: checkedPath(selector) }
    : { kind: 'hub choice', repo, selector, folder: '' };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw invalid(`the address holds '${segment}', which is wrongly encoded`, cause);
  }
}

/** The repository or file that a page of the hub shows; null if it shows neither. */
function parsePage(url: URL, hub: string): Address | null {
  const [owner = '', name = '', view = '', revision = '', ...rest] = url.pathname
    .split('/')
    .slice(1)
    .map(decoded);
  const reserved = ['api', 'datasets', 'spaces', 'docs', 'models', 'collections', 'papers'];
  if (reserved.includes(owner) || !NAME.test(owner) || !NAME.test(name)) return null;
  if (view === '')
    return {
      kind: 'hub choice',
      repo: checkedRepo(hub, owner, name, 'main'),
      selector: '',
      folder: '',
    };
  if (!['tree', 'blob', 'resolve', 'raw'].includes(view) || revision === '') return null;
  const repo = checkedRepo(hub, owner, name, revision);
  const path = rest.filter((part) => part !== '').join('/');
  if (view !== 'tree') return { kind: 'hub file', repo, path: checkedPath(path) };
  return {
    kind: 'hub choice',
    repo,
    selector: '',
    folder: path === '' ? '' : `${checkedPath(path)}/`,
  };
}

/** Reads `hubUrl`: its origin and path, without a slash at the end. */
export function hubOf(hubUrl: string | undefined): string {
  if (hubUrl === undefined) return HUB;
  let url: URL;
  try {
    url = new URL(hubUrl);
  } catch (cause) {
    throw invalid(`hubUrl is '${hubUrl}'; give an address such as ${HUB}`, cause);
  }
  if (!['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    throw invalid(`hubUrl is an address that can't be used; give one such as ${HUB}`);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/**
 * Reads an address. `text` is absolute, or begins with `hf:`; `hub` as hubOf gives it. Fails with invalid_argument if it
 * begins like a hub's address, but isn't one.
 */
export function parseAddress(text: string, hub: string): Address {
  if (/^hf:/i.test(text)) return parseShort(text.trim(), hub);
  const url = new URL(text);
  url.hash = '';
  const own = new URL(hub);
  const prefix = own.pathname.replace(/\/$/, '');
  const onHub = url.origin === own.origin && url.pathname.startsWith(`${prefix}/`);
  if (isHubHost(url.hostname) || onHub) {
    const path = onHub ? url.pathname.slice(prefix.length) : url.pathname;
    const page = parsePage(new URL(path, url.origin), hub);
    if (page !== null) return page;
  }
  return { kind: 'file', url: url.href };
}

const encoded = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** The address of a hub's file. */
export function fileUrl({ hub, repo, revision }: Repo, path: string): string {
  return `${hub}/${repo}/resolve/${encodeURIComponent(revision)}/${encoded(path)}`;
}

/** The address under which a file is cached; for a choice, the name that is stored with the chosen file (Meta.names). */
export function canonicalOf(address: Address): string {
  if (address.kind === 'file') return address.url;
  if (address.kind === 'hub file') return fileUrl(address.repo, address.path);
  const { repo, selector, folder } = address;
  return `${repo.hub}/${repo.repo}@${repo.revision}:${folder}${selector.toUpperCase()}`;
}

/** The commit that an address names; '' if it names none. */
export function commitOf(address: Address): string {
  const revision = address.kind === 'file' ? '' : address.repo.revision;
  return /^[0-9a-f]{40}$/.test(revision) ? revision : '';
}

/** The addresses of all shards of a split model in order, from the address of one; null if its path names no shard. */
export function shardUrls(url: string): string[] | null {
  const parsed = new URL(url);
  if (!['http:', 'https:'].includes(parsed.protocol)) return null;
  return (
    shardsOf(parsed.pathname)?.map((pathname) => {
      const shard = new URL(url);
      shard.pathname = pathname;
      return shard.href;
    }) ?? null
  );
}

/** The types to choose from if none is named, best first. */
const USUAL = ['Q4_K_M', 'Q4_0', 'Q8_0'];

/** The paths of a repository's models (of a split model's first shard), sorted: fewer folders first, then by name. */
export function modelsOf(paths: readonly string[], folder: string): string[] {
  const depth = (path: string): number => path.split('/').length;
  return paths
    .filter((path) => path.startsWith(folder) && /\.gguf$/i.test(path))
    .filter((path) => !/^mmproj/i.test(path.split('/').at(-1) ?? ''))
    .filter((path) => (shardsOf(path)?.[0] ?? path) === path)
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
}

/** The type that a file's name ends with, such as Q4_K_M; '' if it names none. */
export function typeOf(path: string): string {
  const name = (shardOf(path)?.model ?? path).replace(/\.gguf$/i, '');
  const type = /(?:^|[-._/])((?:UD-)?(?:I?Q\d\w*|TQ\d_\d|(?:MX|NV)FP4\w*|BF16|F16|F32))$/i.exec(
    name,
  )?.[1];
  return type?.toUpperCase() ?? '';
}

/** The model of a repository that a selector chooses. Fails with invalid_argument, which lists what there is. */
export function chooseModel(paths: readonly string[], selector: string, folder: string): string {
  const models = modelsOf(paths, folder);
  const ofType = (type: string): string | undefined => {
    const end = new RegExp(`(^|[-._/])${type.replace(/[^\w-]/g, '\\$&')}$`, 'i');
    return models.find((path) => end.test((shardOf(path)?.model ?? path).replace(/\.gguf$/i, '')));
  };
  if (selector !== '') {
    const found = ofType(selector);
    if (found !== undefined) return found;
  } else {
    for (const type of USUAL) {
      const found = ofType(type);
      if (found !== undefined) return found;
    }
    if (models.length === 1) return models[0] as string;
  }
  const shown = models.slice(0, 20).join(', ') + (models.length > 20 ? ', ..' : '');
  throw invalid(
    models.length === 0
      ? 'the repository has no GGUF model; give one that has (its name often ends with -GGUF)'
      : `the repository has no model of ${selector === '' ? 'a usual type' : `the type '${selector}'`}; name one of its files: ${shown}`,
  );
}
