// @ts-check
// The program, with a cache of its own for each run.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { IDS, PROGRAM } from './models.mjs';
import { HANGING } from './page.mjs';

/** @typedef {import('./judge.mjs').Outcome} Outcome */

/**
 * Bytes that the system holds for connections with these ports: sent, but not read by the other side yet.
 * @param {string[]} ports
 */
export function bytes_in_sockets(ports) {
  const wanted = new Set(ports.map((port) => Number(port).toString(16).toUpperCase()));
  let bytes = 0;
  for (const line of fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, from = '', to = '', , queues = ''] = line.trim().split(/\s+/);
    if (![from, to].some((address) => wanted.has((address.split(':')[1] ?? '').replace(/^0+/, ''))))
      continue;
    for (const queue of queues.split(':')) bytes += Number.parseInt(queue, 16) || 0;
  }
  return bytes;
}

/** The program's runs that share a cache. */
export class Program {
  #cache = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-cache-'));

  /**
   * Starts it. `kill` ends it at once; `ended` resolves with what it printed.
   * @param {string[]} args
   * @param {Record<string, string>} env
   */
  start(args, env = {}) {
    const child = spawn(PROGRAM, args, {
      env: { ...process.env, XDG_CACHE_HOME: this.#cache, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (text) => (out += text));
    child.stderr.on('data', (text) => (err += text));
    const ended = new Promise(
      (/** @type {(end: {status: number | null, out: string, err: string}) => void} */ resolve) => {
        child.on('close', (status) => resolve({ status, out, err }));
      },
    );
    return { kill: () => child.kill('SIGKILL'), ended };
  }

  /** Runs it to its end. @param {string[]} args @param {Record<string, string>} [env] */
  async run(args, env) {
    const { kill, ended } = this.start(args, env);
    let hangs = false;
    const timer = setTimeout(() => {
      hangs = true;
      kill();
    }, HANGING);
    const end = await ended;
    clearTimeout(timer);
    return { ...end, hangs };
  }

  /** The arguments that print the hash of a model's logits. @param {string} address @param {string[]} more */
  static logits(address, more) {
    return ['logits', address, '--tokens', IDS.join(','), '--hash', '--json', ...more];
  }

  /**
   * The hash of a model's logits, or the error.
   * @param {string} address
   * @param {string[]} more options
   * @param {Record<string, string>} env
   * @returns {Promise<Outcome>}
   */
  async load(address, more, env) {
    const { status, out, err, hangs } = await this.run(Program.logits(address, more), env);
    if (hangs) return { hangs, message: `no end after ${HANGING / 1000} s` };
    const lines = out.split('\n').filter((line) => line.startsWith('{'));
    const { hash, code, message } = JSON.parse(lines.at(-1) ?? '{}');
    if (status === 0) return { hash };
    // Wrong usage has no code.
    return { code: code ?? `exit status ${status}`, message: message ?? err.trim() };
  }

  /** What is kept: names of files. */
  kept() {
    const dir = path.join(this.#cache, 'sluice');
    return fs.existsSync(dir) ? fs.readdirSync(dir) : [];
  }

  close() {
    fs.rmSync(this.#cache, { recursive: true, force: true });
  }
}
