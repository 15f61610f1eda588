// Where a model comes from, as the page knows it: what to give the library, and what to call it.
import type { LoadOptions, ModelSource } from '@sluice/engine';
import { plain } from '../plain-text';

export type Source =
  | { kind: 'bundled' }
  /** `keep`: whether it is kept on this device; `sha256`: what it must be, if that is known. */
  | { kind: 'address'; url: string; keep: boolean; sha256?: string | undefined }
  /** One file, or all shards of a split model in their order. */
  | { kind: 'files'; files: [File, ...File[]]; handles?: Handles };

/** What the browser gives to open the same files another day; not all browsers have it. */
export type Handles = Promise<readonly (FileSystemHandle | null)[]>;

export const BUNDLED: Source = { kind: 'bundled' };

export function fromAddress(url: string, keep = true, sha256?: string): Source {
  return { kind: 'address', url, keep, sha256 };
}

/** The address; undefined for files. */
export function addressOf(source: Source): string | undefined {
  if (source.kind === 'files') return undefined;
  if (source.kind === 'address') return source.url;
  return new URL('models/stories-q8_0.gguf', document.baseURI).href;
}

export function inputOf(source: Source): ModelSource {
  if (source.kind !== 'files') return addressOf(source) ?? '';
  const { files } = source;
  return files.length === 1 ? files[0] : files;
}

/** The service worker keeps the page's own model. */
export function cacheOf(source: Source): LoadOptions['cache'] {
  if (source.kind === 'files') return undefined;
  return source.kind === 'address' && source.keep ? 'opfs' : 'none';
}

export function sha256Of(source: Source): LoadOptions['sha256'] {
  return source.kind === 'address' ? source.sha256 : undefined;
}

/** The page's own model in `refOf`. */
export const OWN = 'page:';

/**
 * Which model it is, as a text that is kept: its address, OWN, or of a file `file:`, its bytes, when it was changed, and its
 * name. So a file that was changed since is another model, and so is one of the same name elsewhere.
 */
export function refOf(source: Source): string {
  if (source.kind === 'bundled') return OWN;
  if (source.kind === 'address') return source.url;
  const { files } = source;
  const size = files.reduce((sum, one) => sum + one.size, 0);
  const changed = Math.max(...files.map(({ lastModified }) => lastModified));
  return `file:${size}.${changed}/${sourceName(source)}`;
}

/** The name of the file that such a text is about; null: it is about none. */
export function fileOf(ref: string): string | null {
  return ref.startsWith('file:') ? plain(ref.replace(/^file:(\d+\.\d+\/)?/, '')) : null;
}

/** The page of the repository that an address of the hub names. */
export function pageOf(address: string): string {
  if (address.startsWith('hf:'))
    return `https://huggingface.co/${address.slice('hf:'.length).split(/[:@]/)[0]}`;
  const { origin, pathname } = new URL(address);
  return origin + pathname.split('/').slice(0, 3).join('/');
}

/** The host that an address leads to, in words. */
export function hostOf(url: string): string {
  return url.startsWith('hf:') ? 'huggingface.co' : new URL(url).host;
}

/** hf:owner/repo:file@revision; in the place of a file may be a type. */
const AT_HUB = /^hf:[^/]+\/([^:@]+)(?::([^@]+))?/;

const SHARD = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;

/** A file's name without the number of its shard. */
export function wholeName(name: string): string {
  return name.replace(SHARD, '');
}

export function sourceName(source: Source): string {
  if (source.kind === 'files') return wholeName(source.files[0].name);
  const address = addressOf(source) ?? '';
  const [atHub, repository = '', of = ''] = AT_HUB.exec(address) ?? [];
  if (atHub !== undefined)
    return /\.gguf$/i.test(of)
      ? wholeName(of.slice(of.lastIndexOf('/') + 1))
      : `${repository} ${of}`.trimEnd();
  const url = new URL(address);
  const last = url.pathname.split('/').filter(Boolean).at(-1) ?? url.host;
  try {
    return wholeName(decodeURIComponent(last));
  } catch {
    return wholeName(last);
  }
}

/**
 * The model that chosen or dropped files are: a .gguf file, or all shards of one, in order. Null if they are several
 * models. Files of other kinds count only if there is no .gguf file.
 */
export function oneModel(files: File[], handles?: Handles): Source | null {
  const models = files.filter(({ name }) => name.toLowerCase().endsWith('.gguf'));
  const taken = models.length > 0 ? models : files.slice(0, 1);
  taken.sort((a, b) => (a.name < b.name ? -1 : 1));
  const sets = new Set(taken.map(({ name }) => `${wholeName(name)} ${SHARD.exec(name)?.[2]}`));
  const split = taken.every(({ name }) => SHARD.test(name));
  const [first, ...others] = taken;
  if (first === undefined || (others.length > 0 && !(split && sets.size === 1))) return null;
  const source: Source = { kind: 'files', files: [first, ...others] };
  return handles === undefined ? source : { ...source, handles };
}
