// @ts-check
// A server of models that misbehaves as it is told, and plays a hub. It listens at two origins: `url` is the hub's, `cdn`
// is the one to which redirects lead. What is sent is counted.
//   const hub = await Hub.start();
//   const file = hub.add('a.gguf', path, { plan: ({ number }) => (number === 0 ? { cut: 1000 } : {}) });
//   .. load file.url, file.moved or hf:owner/repo (api.mjs) ..
//   file.counts.again; await hub.close();
import http from 'node:http';
import { Api } from './api.mjs';
import { allow_other_sites, send_error } from './faults.mjs';
import { Served, answer_served } from './served.mjs';

/**
 * @typedef {import('./faults.mjs').Request} Request
 * @typedef {import('./faults.mjs').Response} Response
 * @typedef {import('./served.mjs').Source} Source
 * @typedef {import('./served.mjs').FileOptions} FileOptions
 */

export class Hub {
  url = '';
  cdn = '';
  /** The addresses of a hub: `api.repository(..)` adds one. */
  api;
  /** @type {Map<string, Served>} */
  #files = new Map();
  /** @type {http.Server[]} */
  #servers = [];
  /** Requests that no file has. */
  unknown = 0;

  /** @param {import('./api.mjs').Limit | null} limit */
  constructor(limit) {
    this.api = new Api(this, limit);
  }

  /** @param {{limit?: import('./api.mjs').Limit | null}} [options] `limit`: of the hub's own addresses; default: none */
  static async start({ limit = null } = {}) {
    const hub = new Hub(limit);
    hub.url = `http://127.0.0.1:${await hub.#listen()}`;
    hub.cdn = `http://localhost:${await hub.#listen()}`;
    return hub;
  }

  /** Listens at a free port, which it returns. @returns {Promise<number>} */
  async #listen() {
    const server = http.createServer((request, response) => {
      // What breaks here is a bug in the server or in a test, unless the client has left.
      this.#answer(request, response).catch((error) => {
        if (!response.destroyed) console.error(error);
        response.destroy();
      });
    });
    // As long as the tests want: a stalled body has no limit.
    server.requestTimeout = 0;
    server.keepAliveTimeout = 60_000;
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  }

  async close() {
    await Promise.all(
      this.#servers.map(
        (server) =>
          new Promise((resolve) => {
            server.close(resolve);
            server.closeAllConnections();
          }),
      ),
    );
  }

  /** Serves a file. Several may have the same name. @param {string} name @param {Source} source @param {FileOptions} [options] */
  add(name, source, options = {}) {
    const id = String(this.#files.size + 1);
    const served = new Served(this, id, name, source, options);
    this.#files.set(id, served);
    return served;
  }

  /** Closes all connections, as a server does that is restarted. It goes on listening. */
  drop_connections() {
    for (const server of this.#servers) server.closeAllConnections();
  }

  /** @param {Request} request @param {Response} response */
  async #answer(request, response) {
    const url = new URL(request.url ?? '/', this.url);
    const [, way = '', id = ''] = url.pathname.split('/');
    if (way !== 'file' && way !== 'moved' && way !== 'signed') {
      await this.api.answer(url, request, response);
      return;
    }
    const served = this.#files.get(id);
    if (served === undefined) {
      ++this.unknown;
      allow_other_sites(response, {});
      send_error(response, { status: 404 });
    } else await answer_served(served, way, url, request, response);
  }
}
