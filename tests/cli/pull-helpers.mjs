// A server that plays a hub, caches of their own, and models to download.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { Hub } from '../../e2e/hub/server.mjs';
import { bundled, sluice, start, temporaryDirectory } from './helpers.mjs';

export const MiB = 1 << 20;
export const model = fs.readFileSync(bundled);
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const { dataOffset } = JSON.parse(sluice(['inspect', bundled, '--json']).out);
/** A header that promises as many bytes as `model` has, and random ones: pull doesn't look further. */
export const random_file = (length) =>
  Buffer.concat([model.subarray(0, dataOffset), randomBytes(length - dataOffset)]);
/** A file of several ranges. */
export const large = random_file(37 * MiB + 12345);

export const hub = await Hub.start();
after(() => hub.close());

/** The environment of a cache of its own. */
export function fresh_cache(env = {}) {
  return {
    XDG_CACHE_HOME: temporaryDirectory(),
    HF_ENDPOINT: hub.url,
    HF_TOKEN: '',
    http_proxy: '',
    no_proxy: '*',
    ...env,
  };
}

/** Runs the program beside the server, which is in this process: {status, out, err}. */
export const run = (args, env) => start(args, env).ended;

export async function pull(address, env, ...more) {
  const { status, out, err } = await run(['pull', address, '--json', ...more], env);
  const lines = out.trim().split('\n');
  return { status, err, ...(out === '' ? {} : JSON.parse(lines[0])) };
}

export async function pulls(address, env, bytes, ...more) {
  const done = await pull(address, env, ...more);
  assert.equal(done.status, 0, done.err);
  assert.ok(fs.readFileSync(done.path).equals(bytes), 'the bytes in the cache');
  return done;
}

export async function refused(address, env, code, reason, ...more) {
  const done = await pull(address, env, ...more);
  assert.equal(
    done.status,
    ['download_corrupt', 'bad_file'].includes(code) ? 3 : code === 'invalid_argument' ? 2 : 1,
  );
  assert.equal(done.code, code, done.err);
  assert.match(done.message, reason);
  return done;
}

export const entries = (env) =>
  sluice(['cache', 'list', '--json'], { env })
    .out.split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
export const files_of = (env) => {
  const dir = path.join(env.XDG_CACHE_HOME, 'sluice');
  return fs.existsSync(dir) ? fs.readdirSync(dir).sort() : [];
};
