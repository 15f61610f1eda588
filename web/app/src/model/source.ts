// Where a model comes from, as the page knows it: what to give the library, and what to call it.
import {
  addressFacts,
  shardOf,
  readAddress,
  type LoadOptions,
  type ModelSource,
} from '@sluice/engine';
import { plain } from '../texts/plain-text';

export type Source =
  | { kind: 'bundled' }
  /** `keep`: whether it is kept on this device; `sha256`: what it must be, if that is known. */
  | { kind: 'address'; url: string; keep: boolean; sha256?: string | undefined }
  /** One file, or all shards of a split model in their order. */
  | { kind: 'files'; files: [File, ...File[]]; handles?: Handles };

/** What the browser gives to open the same files another day; not all browsers have it. */
export type Handles = Promise<readonly (FileSystemHandle | null)[]>;

export const BUNDLED: Source = { kind: 'bundled' };

/** Parses the address of a model, relative to `base` if that is given. Returns undefined for anything else. */
export function parseModelAddress(text: string, base?: string): string | undefined {
  const read = readAddress(text, base === undefined ? {} : { base });
  return 'address' in read ? read.address : undefined;
}

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

/** A file's name without the number of its shard. */
export function wholeName(name: string): string {
  return shardOf(name)?.model ?? name;
}

/** What a model is called whose own name isn't known: its file, or what a hub is asked for. */
export function sourceName(source: Source): string {
  if (source.kind === 'files') return wholeName(source.files[0].name);
  const { file, repository, type } = addressFacts(addressOf(source) ?? '');
  return file === null ? `${repository?.name ?? ''} ${type}`.trimEnd() : wholeName(file);
}

/**
 * The model that chosen or dropped files are: a .gguf file, or all shards of one, in order. Null if they are several
 * models. Files of other kinds count only if there is no .gguf file.
 */
export function oneModel(files: File[], handles?: Handles): Source | null {
  const models = files.filter(({ name }) => name.toLowerCase().endsWith('.gguf'));
  const taken = models.length > 0 ? models : files.slice(0, 1);
  taken.sort((a, b) => (a.name < b.name ? -1 : 1));
  const shards = taken.map(({ name }) => shardOf(name));
  const sets = new Set(shards.map((shard) => `${shard?.model} ${shard?.parts}`));
  const split = !shards.includes(null) && sets.size === 1;
  const [first, ...others] = taken;
  if (first === undefined || (others.length > 0 && !split)) return null;
  const source: Source = { kind: 'files', files: [first, ...others] };
  return handles === undefined ? source : { ...source, handles };
}
