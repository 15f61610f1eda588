// Reads a hub's list of a repository's files: their paths, sizes and sha256.
import { hasPolicies } from '../../platform/here.js';
import { SluiceError } from '../../shared/errors.js';
import { failedAt } from '../../shared/facts.js';
import { makeNote, type Note } from '../../shared/notes.js';
import type { RemoteSource } from '../../shared/protocol.js';
import { shardsOf } from '../../shared/shards.js';
import type { ModelFile } from '../../shared/cache-types.js';
import {
  type Address,
  canonicalOf,
  chooseModel,
  commitOf,
  fileUrl,
  modelsOf,
  parseAddress,
  type Repo,
  shardUrls,
  typeOf,
} from './addresses.js';
import type { FileSpec } from './file-spec.js';
import { askedWait, isPassing, Passing } from './patience.js';
import type { RemoteAnswer, Net } from './remote.js';
import { sleep, within } from './time.js';
import { hostOf, networkError, offline } from './why.js';

/** The most pages of a hub's list that are read. */
const MOST_PAGES = 20;
const SHA256 = /^[0-9a-f]{64}$/;

/** A file of a repository. `sha256`: lower case, or ''. */
interface Listed {
  path: string;
  size: number;
  sha256: string;
}

/** Checks what a hub sent: any server may be one. */
function readList(json: unknown): Listed[] {
  if (!Array.isArray(json)) throw new TypeError('the list of files is no list');
  return json.flatMap((item: unknown) => {
    const { type, path, size, lfs } = (item ?? {}) as Record<string, unknown>;
    if (type !== 'file' || typeof path !== 'string') return [];
    const { oid } = (lfs ?? {}) as Record<string, unknown>;
    const sha256 =
      typeof oid === 'string' && SHA256.test(oid.toLowerCase()) ? oid.toLowerCase() : '';
    const known = typeof size === 'number' && Number.isSafeInteger(size) && size > 0;
    return [{ path, size: known ? size : 0, sha256 }];
  });
}

/** The address of the next page, from `Link: <..>; rel="next"` (RFC 8288); it must be the hub's own. */
function nextPage(headers: Headers, hub: string): string | null {
  const match = /<([^>]+)>\s*;[^,]*rel="?next"?/i.exec(headers.get('link') ?? '');
  if (match?.[1] === undefined || !URL.canParse(match[1], hub)) return null;
  const url = new URL(match[1], hub);
  return url.origin === new URL(hub).origin ? url.href : null;
}

async function getPage(url: string, headers: [string, string][], net: Net): Promise<RemoteAnswer> {
  const who = hostOf(url);
  const tries = { failed: 0, waited: 0 };
  for (;;) {
    let problem: Passing;
    try {
      const asking = net.fetch(url, { headers, signal: net.signal, cache: 'no-store' });
      const late = (): Passing => {
        const text = `${who} did not answer`;
        return new Passing(
          text,
          networkError(`${text}; try again`, undefined, failedAt(url, 'stalled')),
        );
      };
      const answer = await within(asking, net.patiences.stallTimeout, late, () => {});
      if (answer.ok) return answer;
      const { status } = answer;
      const todo =
        status === 404
          ? 'there is no such repository or revision; check the address'
          : status === 401 || status === 403
            ? 'it asks for a token, or there is no such repository; give headers: { authorization: "Bearer .." }'
            : 'try again later';
      const error = new SluiceError('download_failed', `${who} answered ${status}: ${todo}`, {
        status,
        facts: failedAt(url, 'status'),
      });
      if (!isPassing(status)) throw error;
      problem = new Passing(
        `${who} answered ${status}`,
        error,
        askedWait(answer.headers, Date.now()),
      );
    } catch (cause) {
      net.signal.throwIfAborted();
      if (cause instanceof SluiceError) throw cause;
      const text = `${who} can't be reached`;
      problem =
        cause instanceof Passing
          ? cause
          : new Passing(
              text,
              networkError(
                hasPolicies ? `${text}, or does not let this page read its list` : text,
                cause,
                failedAt(url, 'unreachable'),
              ),
            );
      if (offline()) throw problem.error;
      // Browsers don't tell a forbidden request (CORS) from a broken network: only two more tries.
      if (tries.failed >= 2) throw problem.error;
    }
    const pause = net.patience.pause(tries, problem.wait);
    if (pause === null) throw problem.error;
    net.onwaiting(
      `${problem.problem}; trying again in ${Math.ceil(pause / 1000)} s`,
      problem.waitsFor,
    );
    await sleep(pause, net.signal);
    net.onwaited();
  }
}

/** The JSON of an answer, which need not be a Response. */
function bodyOf({ body }: RemoteAnswer): Promise<unknown> {
  return new Response(body as BodyInit | null).json();
}

/** All files of a repository at a revision. */
async function listFiles(repo: Repo, headers: [string, string][], net: Net): Promise<Listed[]> {
  const revision = encodeURIComponent(repo.revision);
  let url: string | null = `${repo.hub}/api/models/${repo.repo}/tree/${revision}?recursive=true`;
  const files: Listed[] = [];
  for (let page = 0; url !== null && page < MOST_PAGES; ++page) {
    const answer = await getPage(url, headers, net);
    try {
      const late = (): Error => new Error('it came no further');
      const { stallTimeout } = net.patiences;
      files.push(...readList(await within(bodyOf(answer), stallTimeout, late, () => {})));
    } catch (cause) {
      net.signal.throwIfAborted();
      throw new SluiceError(
        'download_failed',
        `${hostOf(url)} sent no list of files that can be read (${String(cause)}); check hubUrl`,
        { facts: failedAt(url, 'answer'), cause },
      );
    }
    url = nextPage(answer.headers, repo.hub);
  }
  return files;
}

/**
 * The models of a repository, or of one of its folders. Fails with invalid_argument if the address is not a repository's.
 */
export async function listModelFiles(
  source: string,
  hub: string,
  headers: [string, string][],
  net: Net,
): Promise<ModelFile[]> {
  const address = parseAddress(source, hub);
  if (address.kind !== 'hub choice') {
    throw new SluiceError(
      'invalid_argument',
      'the address is of a file, and the files of a repository are listed; give one such as hf:owner/repo',
    );
  }
  const { repo, folder } = address;
  const listed = await listFiles(repo, headers, net);
  const sizes = new Map(listed.map(({ path, size }) => [path, size]));
  return modelsOf([...sizes.keys()], folder).map((path) => {
    const shards = shardsOf(path) ?? [path];
    const known = shards.map((shard) => sizes.get(shard) ?? 0);
    return {
      name: path,
      type: typeOf(path),
      bytes: known.includes(0) ? 0 : known.reduce((sum, size) => sum + size, 0),
      parts: shards.length,
      address: fileUrl(repo, path),
    };
  });
}

/** The address of the file that is cached under a name; null if there is none. */
export type FindNamed = (name: string) => Promise<string | null>;
/** Whether the whole file of this address is cached. */
export type IsKept = (address: string) => Promise<boolean>;

function specOf(source: RemoteSource, url: string, commit: string): FileSpec {
  return {
    url,
    commit,
    total: 0,
    sha256: '',
    names: [],
    set: '',
    part: 0,
    parts: 1,
    headers: source.headers,
  };
}

/** Numbers the files of a split model. */
function asSet(specs: FileSpec[]): FileSpec[] {
  if (specs.length === 1) return specs;
  const set = specs[0]?.url ?? '';
  return specs.map((spec, part) => ({ ...spec, set, part, parts: specs.length }));
}

/** The files of one address, as the hub lists them. */
async function ofHub(
  source: RemoteSource,
  address: Exclude<Address, { kind: 'file' }>,
  net: Net,
  note: (note: Note) => void,
): Promise<FileSpec[]> {
  const { repo } = address;
  let listed: Listed[] = [];
  try {
    listed = await listFiles(repo, source.headers, net);
  } catch (error) {
    net.signal.throwIfAborted();
    if (address.kind === 'hub choice' || (error as SluiceError).code === 'offline') throw error;
    const why = (error as Error).message;
    const text = `The hub's list of files could not be read, so the sha256 of the model isn't known (${why}).`;
    note(makeNote('sha256_unknown', text, error instanceof SluiceError ? error.facts : {}));
  }
  const paths = listed.map(({ path }) => path);
  const path =
    address.kind === 'hub file'
      ? address.path
      : chooseModel(paths, address.selector, address.folder);
  return (shardsOf(path) ?? [path]).map((shard) => {
    const known = listed.find((file) => file.path === shard);
    return {
      ...specOf(source, fileUrl(repo, shard), commitOf(address)),
      names: address.kind === 'hub choice' ? [canonicalOf(address)] : [],
      total: known?.size ?? 0,
      sha256: known?.sha256 ?? '',
    };
  });
}

/**
 * The files of a model at addresses. A cached model needs no network. `note`: tells the user. Fails with download_failed or
 * invalid_argument if a hub has no such model.
 */
export async function resolveFiles(
  source: RemoteSource,
  net: Net,
  findNamed: FindNamed,
  isKept: IsKept,
  note: (note: Note) => void,
): Promise<FileSpec[]> {
  const files: FileSpec[] = [];
  for (const text of source.addresses) {
    const address = parseAddress(text, source.hub);
    let found: FileSpec[];
    if (address.kind === 'file') {
      const urls = (source.addresses.length === 1 ? shardUrls(address.url) : null) ?? [address.url];
      found = urls.map((url) => specOf(source, url, ''));
    } else {
      const name = canonicalOf(address);
      const kept = address.kind === 'hub file' ? name : await findNamed(name);
      const urls = kept === null ? [] : (shardUrls(kept) ?? [kept]);
      const all =
        urls.length > 0 && !source.refresh && (await Promise.all(urls.map(isKept))).every(Boolean);
      found = all
        ? urls.map((url) => specOf(source, url, commitOf(address)))
        : await ofHub(source, address, net, note);
    }
    files.push(...found);
  }
  const { sha256 } = source;
  if (sha256.length > 0 && sha256.length !== files.length) {
    throw new SluiceError(
      'invalid_argument',
      `sha256 has ${sha256.length} values, and the model ${files.length} files; give one for each`,
    );
  }
  return asSet(files.map((file, i) => ({ ...file, sha256: sha256[i] ?? file.sha256 })));
}
