// @ts-check
// The addresses of a hub of models: the list of a repository's files, the files themselves (/resolve/, which redirects to a
// signed address), and the limit of requests.
import { createHash } from 'node:crypto';
import { allow_other_sites, send_error } from './faults.mjs';
import { allow_preflight, answer_served } from './served.mjs';

/**
 * @typedef {import('./faults.mjs').Behaviour} Behaviour
 * @typedef {import('./faults.mjs').Request} Request
 * @typedef {import('./faults.mjs').Response} Response
 * @typedef {import('./served.mjs').Served} Served
 */

/**
 * So many requests within so many seconds from one address, counted for the API and for files apart.
 * @typedef {{requests: number, seconds: number}} Limit
 */

/**
 * @typedef {object} Repository
 * @property {Map<string, Served>} files by their paths
 * @property {Record<string, Map<string, Served>>} history the files of commits that have others
 * @property {Record<string, string>} revisions commits (40 hex digits) by the names of branches and tags
 * @property {string} token what Authorization must bear; '' if anyone may read
 * @property {number} page entries of the list in one answer
 * @property {(number: number) => Behaviour | undefined} plan for requests of the list, by their number from 0
 * @property {number} asked requests of the list so far
 */

/** A limit of requests from one address, as hubs have it: a number for each window of time. */
class Window {
  #count = 0;
  #ends = 0;

  /** @param {Limit} limit */
  constructor(limit) {
    this.limit = limit;
  }

  /** Counts a request. Returns the requests left, -1 if it is one too many, and the seconds to the window's end. */
  take() {
    // In whole milliseconds: fractions would add a second to the first answer's.
    const now = Math.floor(performance.now());
    if (now >= this.#ends) {
      this.#count = 0;
      this.#ends = now + this.limit.seconds * 1000;
    }
    const left = Math.max(-1, this.limit.requests - ++this.#count);
    return { left, seconds: Math.ceil((this.#ends - now) / 1000) };
  }
}

/** @param {string} text */
function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}

export class Api {
  #hub;
  #limit;
  /** @type {Map<string, Repository>} */
  #repositories = new Map();
  /** By kind and address. @type {Map<string, Window>} */
  #windows = new Map();
  /** Requests of each kind, those over the limit, too. */
  counts = { resolvers: 0, api: 0, limited: 0 };

  /** @param {{url: string}} hub @param {Limit | null} limit */
  constructor(hub, limit) {
    this.#hub = hub;
    this.#limit = limit;
  }

  /**
   * Adds a repository. What is left out: `main` is a commit of its own, anyone may read, the list comes in one page.
   * @param {string} name owner/name
   * @param {Record<string, Served>} files by their paths
   * @param {Partial<Omit<Repository, 'files'>>} [options]
   */
  repository(name, files, options = {}) {
    /** @type {Repository} */
    const repository = {
      files: new Map(Object.entries(files)),
      history: {},
      revisions: { main: sha1(name) },
      token: '',
      page: 1000,
      plan: () => ({}),
      asked: 0,
      ...options,
    };
    this.#repositories.set(name, repository);
    return repository;
  }

  /** @param {URL} url @param {Request} request @param {Response} response */
  async answer(url, request, response) {
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent);
    const list = parts[0] === 'api' && parts[1] === 'models' && parts[4] === 'tree';
    const [owner, name, , revision = ''] = list ? parts.slice(2) : parts;
    if (!list && parts[2] !== 'resolve' && parts[2] !== 'raw') {
      allow_other_sites(response, {});
      send_error(response, { status: 404 });
      return;
    }
    const kind = list ? 'api' : 'resolvers';
    if (request.method !== 'OPTIONS' && this.#limited(kind, request, response)) return;
    const repository = this.#repositories.get(`${owner}/${name}`);
    const place = { repository, revision, path: parts.slice(4).join('/') };
    if (list) this.#list(place, url, request, response);
    else await this.#resolve(place, parts[2] === 'raw', url, request, response);
  }

  /** Counts a request, and refuses it if it is one too many. @param {'api' | 'resolvers'} kind @param {Request} request @param {Response} response */
  #limited(kind, request, response) {
    ++this.counts[kind];
    if (this.#limit === null) return false;
    const key = `${kind} ${request.socket.remoteAddress}`;
    const window = this.#windows.get(key) ?? new Window(this.#limit);
    this.#windows.set(key, window);
    const { left, seconds } = window.take();
    const { requests, seconds: all } = this.#limit;
    response.setHeader('RateLimit', `"${kind}";r=${Math.max(0, left)};t=${seconds}`);
    response.setHeader('RateLimit-Policy', `"fixed window";"${kind}";q=${requests};w=${all}`);
    if (left >= 0) return false;
    ++this.counts.limited;
    allow_other_sites(response, {});
    send_error(response, { status: 429 });
    return true;
  }

  /**
   * The repository and commit that are asked for; undefined if they aren't there, and then that is answered. As hubs do,
   * it doesn't tell a repository that isn't there from one that may not be read.
   * @param {{repository: Repository | undefined, revision: string}} place
   * @param {Request} request
   * @param {Response} response
   */
  #find({ repository, revision }, request, response) {
    const given = request.headers.authorization;
    const allowed = repository?.token === '' || given === `Bearer ${repository?.token}`;
    const refuse = (/** @type {number} */ status, /** @type {string} */ code) => {
      response.setHeader('X-Error-Code', code);
      allow_other_sites(response, {});
      send_error(response, { status });
    };
    if (repository === undefined || !allowed) {
      refuse(given === undefined ? 401 : 404, 'RepoNotFound');
      return undefined;
    }
    const commits = Object.values(repository.revisions);
    const commit = commits.includes(revision) ? revision : repository.revisions[revision];
    if (commit === undefined) refuse(404, 'RevisionNotFound');
    return commit === undefined ? undefined : { repository, commit };
  }

  /**
   * @param {{repository: Repository | undefined, revision: string}} place
   * @param {URL} url
   * @param {Request} request
   * @param {Response} response
   */
  #list(place, url, request, response) {
    if (request.method === 'OPTIONS') {
      allow_preflight(request, response);
      return;
    }
    const found = this.#find(place, request, response);
    if (found === undefined) return;
    const { repository, commit } = found;
    const { status, close, ...rest } = repository.plan(repository.asked++) ?? {};
    if (close) {
      response.destroy();
      return;
    }
    allow_other_sites(response, rest);
    if (status !== undefined) {
      send_error(response, { ...rest, status });
      return;
    }
    const entries = [
      ...list_entries(
        repository.history[commit] ?? repository.files,
        url.searchParams.get('recursive') === 'true',
      ),
    ];
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const until = from + repository.page;
    if (until < entries.length) {
      const next = new URL(url.pathname + url.search, this.#hub.url);
      next.searchParams.set('cursor', String(until));
      response.setHeader('Link', `<${next.href}>; rel="next"`);
    }
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(entries.slice(from, until)));
  }

  /**
   * @param {{repository: Repository | undefined, revision: string, path: string}} place
   * @param {boolean} raw the pointer file instead of the file
   * @param {URL} url
   * @param {Request} request
   * @param {Response} response
   */
  async #resolve(place, raw, url, request, response) {
    const usual = place.repository?.files.get(place.path);
    if (request.method === 'OPTIONS' && usual !== undefined) {
      await answer_served(usual, 'moved', url, request, response);
      return;
    }
    const found = this.#find(place, request, response);
    if (found === undefined) return;
    const { history } = found.repository;
    const served = history[found.commit] ? history[found.commit]?.get(place.path) : usual;
    if (served === undefined) {
      response.setHeader('X-Error-Code', 'EntryNotFound');
      allow_other_sites(response, {});
      send_error(response, { status: 404 });
      return;
    }
    const { sha256, size } = served.content;
    if (raw) {
      allow_other_sites(response, {});
      response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(
        `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${size}\n`,
      );
      return;
    }
    // On the redirect alone: a script in a page never sees them.
    await answer_served(served, 'moved', url, request, response, {
      'X-Linked-ETag': `"${sha256}"`,
      'X-Linked-Size': String(size),
      'X-Repo-Commit': found.commit,
    });
  }
}

/**
 * The entries of a list, folders too.
 * @param {Map<string, Served>} files
 * @param {boolean} recursive
 */
function* list_entries(files, recursive) {
  const folders = new Set();
  for (const [path, { content }] of files) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; ++depth) {
      const folder = parts.slice(0, depth).join('/');
      if (folders.has(folder) || (depth > 1 && !recursive)) continue;
      folders.add(folder);
      yield { type: 'directory', oid: sha1(folder), size: 0, path: folder };
    }
    if (parts.length > 1 && !recursive) continue;
    const { size, sha256 } = content;
    const lfs = { oid: sha256, size, pointerSize: 134 };
    yield { type: 'file', oid: sha1(sha256), size, lfs, path };
  }
}
