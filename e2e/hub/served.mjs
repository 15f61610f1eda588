// @ts-check
// A file that a hub serves: its addresses, its plan of misbehaviour, its counts.
import { content_of } from './content.mjs';
import { Counts } from './counting.mjs';
import { answer_file, send_error } from './faults.mjs';
import { Random } from './random.mjs';

/**
 * @typedef {import('./faults.mjs').Behaviour} Behaviour
 * @typedef {import('./faults.mjs').Request} Request
 * @typedef {import('./faults.mjs').Response} Response
 * @typedef {import('./content.mjs').Content} Content
 * @typedef {string | Buffer | import('./content.mjs').Made} Source
 */

/**
 * A request, as a plan sees it.
 * @typedef {object} Asked
 * @property {'file' | 'moved' | 'signed' | 'preflight'} kind 'moved': of an address that redirects to a signed one
 * @property {number} number of the requests of this kind for this file, from 0
 * @property {Random} random follows from the plan's seed, the kind and the number
 * @property {string | undefined} range the header
 * @property {number} sent different bytes of the file that were sent before
 * @property {number} ms since the first request for the file
 */

/** @typedef {(asked: Asked) => Behaviour | undefined} Plan */

/**
 * @typedef {object} FileOptions
 * @property {Plan} [plan] default: all is answered well
 * @property {number} [seed] of the plan's random numbers
 * @property {Source[]} [versions] further contents, for `version` in a behaviour
 */

const KINDS = /** @type {const} */ (['file', 'moved', 'signed', 'preflight']);

/** A file that is served at several addresses. */
export class Served {
  counts = new Counts();
  /** @type {Plan} */
  plan;
  /** @type {Content[]} */
  contents;
  /** Signed addresses by their keys. @type {Map<string, {uses: number, until: number}>} */
  #signed = new Map();
  #numbers = { file: 0, moved: 0, signed: 0, preflight: 0 };
  #started = 0;
  #seed;

  /**
   * @param {{url: string, cdn: string}} origins
   * @param {string} id unique in its hub
   * @param {string} name the last part of its addresses
   * @param {Source} source
   * @param {FileOptions} options
   */
  constructor(origins, id, name, source, { plan = () => ({}), seed = 1, versions = [] }) {
    this.origins = origins;
    this.id = id;
    this.name = name;
    this.plan = plan;
    this.contents = [source, ...versions].map(content_of);
    this.#seed = seed;
  }

  /** The address that gives the file itself. */
  get url() {
    return `${this.origins.url}/file/${this.id}/${this.name}`;
  }

  /** An address that redirects to a signed one at the other origin. */
  get moved() {
    return `${this.origins.url}/moved/${this.id}/${this.name}`;
  }

  get content() {
    return /** @type {Content} */ (this.contents[0]);
  }

  get size() {
    return this.content.size;
  }

  /** Makes a signed address. @param {{uses?: number, ms?: number}} [good] */
  sign({ uses = Infinity, ms = Infinity } = {}) {
    const key = `k${this.#signed.size + 1}`;
    this.#signed.set(key, { uses, until: performance.now() + ms });
    return `${this.origins.cdn}/signed/${this.id}/${this.name}?key=${key}`;
  }

  /** Whether a signed address may be used now; this counts as one use. @param {string | null} key */
  use(key) {
    const good = this.#signed.get(key ?? '');
    return good !== undefined && good.uses-- > 0 && performance.now() <= good.until;
  }

  /** What the plan says for a request. @param {Asked['kind']} kind @param {Request} request @returns {Behaviour} */
  behaviour(kind, request) {
    const now = performance.now();
    this.#started ||= now;
    const number = this.#numbers[kind]++;
    const asked = {
      kind,
      number,
      random: new Random(this.#seed, KINDS.indexOf(kind), number),
      range: request.headers.range,
      sent: this.counts.sent.size,
      ms: now - this.#started,
    };
    return this.plan(asked) ?? {};
  }

  /** What answers are about that send a version. @param {Behaviour} behaviour @param {string} address */
  subject({ version = 0 }, address) {
    const content = this.contents[version];
    if (content === undefined) throw new Error(`${this.name} has no version ${version}`);
    return { content, counts: this.counts, address };
  }
}

/**
 * Answers a request for a file at one of its addresses.
 * @param {Served} served
 * @param {'file' | 'moved' | 'signed'} way
 * @param {URL} url
 * @param {Request} request
 * @param {Response} response
 * @param {Record<string, string>} [headers] of a redirect
 */
export async function answer_served(served, way, url, request, response, headers = {}) {
  const { counts } = served;
  if (request.method === 'OPTIONS') {
    ++counts.preflights;
    const { status, ...rest } = served.behaviour('preflight', request);
    if (status !== undefined) {
      ++counts.refused;
      send_error(response, { ...rest, status });
    } else allow_preflight(request, response);
    return;
  }
  counts.begin();
  response.on('close', () => counts.end());
  if (way === 'signed' && request.headers.authorization !== undefined) ++counts.leaked;
  const behaviour = { ...served.behaviour(way, request) };
  const misbehaves = behaviour.status !== undefined || behaviour.redirect !== undefined;
  if (way === 'moved' && !misbehaves && !behaviour.close && !behaviour.silent && !behaviour.html) {
    behaviour.redirect = () => served.sign(behaviour.signed);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  }
  if (way === 'signed' && !served.use(url.searchParams.get('key'))) behaviour.status ??= 403;
  const address = `${served.origins.url}${url.pathname}${url.search}`;
  await answer_file(served.subject(behaviour, address), behaviour, request, response);
}

/** @param {Request} request @param {Response} response */
export function allow_preflight(request, response) {
  response.writeHead(204, {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET, HEAD',
    'Access-Control-Allow-Headers': request.headers['access-control-request-headers'] ?? '',
  });
  response.end();
}
