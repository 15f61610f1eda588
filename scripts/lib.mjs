// Shared by the scripts: paths, commands, hashes, locks. Uses only Node, because it runs before npm packages are there.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** The directory of what all checkouts share (the Emscripten root). */
export const CACHE = path.join(
  process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'),
  'sluice',
);

export const IS_ROOT = process.getuid?.() === 0;

/** A failure whose message says enough; the scripts print it without a stack. */
export class Failure extends Error {}

/** Runs a script's main function; a Failure ends it with its message and exit status 1. */
export function main(body) {
  Promise.resolve()
    .then(body)
    .then(
      (status) => {
        process.exitCode = status ?? (stopped ? 130 : 0);
      },
      (error) => {
        console.error(error instanceof Failure ? `sluice: ${error.message}` : error);
        process.exitCode = 1;
      },
    );
}

/** Whether Node was started with this file. Otherwise another file imports it. */
export function is_program(meta_url) {
  return (
    process.argv[1] !== undefined && fs.realpathSync(process.argv[1]) === fileURLToPath(meta_url)
  );
}

/** The path of a program on the PATH, in /usr/sbin or in /sbin, or null. */
export function which(name) {
  const dirs = (process.env.PATH ?? '').split(path.delimiter).concat('/usr/sbin', '/sbin');
  for (const dir of dirs) {
    const file = path.join(dir, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile()) return file;
    } catch {
      // not here; the next directory
    }
  }
  return null;
}

/** Runs a command, waits for its end, and returns {status, stdout, stderr}. */
export function capture(command, args, options = {}) {
  const r = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  return {
    status: r.status ?? 1,
    stdout: r.stdout ?? '',
    stderr: r.stderr ?? String(r.error ?? ''),
  };
}

/** Functions that send a signal to a running command, or end it at this process's 'exit'. */
const children = new Set();
let catching = false;
let stopped = false;

/** Whether a signal told this process to end. Then start nothing new. */
export function interrupted() {
  return stopped;
}

/**
 * Passes signals on to the running commands and waits for them. Ctrl-C reaches them anyway, but `kill` does not. Where this
 * process ends without a signal, because nobody reads its output any more or by an error, they end with it.
 */
function catch_signals() {
  if (catching) return;
  catching = true;
  process.on('exit', () => {
    for (const send of children) send('exit');
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      stopped = true;
      for (const send of children) send(signal);
      // With nothing running the process ends here, unless somebody else listens: the server ends by itself.
      if (children.size === 0 && process.listenerCount(signal) === 1) process.exit(130);
    });
  }
}

/** The variable that names, to all that a command starts, the watched commands it runs for. */
export const WATCHED = 'SLUICE_WATCHED';
let watched_commands = 0;

/**
 * Kills every process whose environment has `mark` in the variable WATCHED. A process group isn't enough: ninja and
 * browsers give their children groups of their own, and these outlive them. Does nothing where there is no /proc.
 */
export function end_watched(mark) {
  const own = String(process.pid);
  const marked = (pid) => {
    try {
      return fs
        .readFileSync(`/proc/${pid}/environ`, 'latin1')
        .split('\0')
        .some((entry) => entry.startsWith(`${WATCHED}=`) && entry.includes(mark));
    } catch {
      return false; // it has ended, or is somebody else's
    }
  };
  // Again until none is left: one may have started another meanwhile.
  for (let round = 0; round < 20 && fs.existsSync('/proc'); ++round) {
    const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== own);
    const found = pids.filter(marked);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // it has ended
      }
    }
  }
}

/** How long a watched command may go on after a signal that it passes on. Then it is killed. */
const GRACE_MS = 20_000;
/** The largest log of a watched command: one that writes more would fill the disk, and nobody could read it. */
const MOST_LOG_BYTES = 64 << 20;

/**
 * Runs a command and resolves with its exit status (128 + n when signal n ended it).
 * `log`: a file to append its output to. `stdio`: as in child_process; default 'inherit'.
 * `silent_ms`, with `log`: the command is watched. If it writes nothing for so long it hangs, and if the log gets more than
 * `most_bytes` it writes without end: it is killed with all that it started, however far down, and the log says so. So are
 * those that it leaves behind when a signal ends it.
 */
export function run(
  command,
  args,
  { cwd = ROOT, env = process.env, stdio, log, silent_ms, most_bytes = MOST_LOG_BYTES } = {},
) {
  catch_signals();
  if (stopped) return Promise.reject(new Failure('interrupted'));
  const watched = silent_ms !== undefined;
  const mark = `:${process.pid}.${++watched_commands}:`;
  return new Promise((resolve, reject) => {
    const out = log === undefined ? null : fs.openSync(log, 'a');
    const child = spawn(command, args, {
      cwd,
      env: watched ? { ...env, [WATCHED]: `${env[WATCHED] ?? ''}${mark}` } : env,
      stdio: out === null ? (stdio ?? 'inherit') : ['ignore', out, out],
      // A process group of its own, to which signals are sent.
      detached: watched,
    });
    const kill = (signal) => {
      try {
        process.kill(watched ? -child.pid : child.pid, signal);
      } catch {
        // it has ended
      }
    };
    let grace;
    let watch;
    /** Why it was ended, for the log. */
    let why = null;
    let ended = false;
    const end = (reason = null) => {
      clearInterval(watch);
      why = reason;
      ended = true;
      kill('SIGKILL');
      end_watched(mark);
    };
    const send = (signal) => {
      if (signal === 'exit') {
        if (watched) end();
        else kill('SIGTERM');
        return;
      }
      kill(signal);
      ended = true;
      if (watched) grace ??= setTimeout(() => end(), GRACE_MS);
    };
    children.add(send);
    let size = -1;
    let heard = performance.now();
    const look = () => {
      const now = fs.fstatSync(out).size;
      if (now !== size) heard = performance.now();
      size = now;
      if (size > most_bytes) end(`it wrote more than ${most_bytes} bytes: it has no end`);
      else if (performance.now() - heard >= silent_ms)
        end(`it said nothing for ${silent_ms / 1000} s: it hangs`);
    };
    if (watched) watch = setInterval(look, Math.min(1000, silent_ms / 4));
    let over = false;
    const done = () => {
      over = true;
      children.delete(send);
      clearInterval(watch);
      clearTimeout(grace);
      if (watched && ended) end_watched(mark);
      if (out === null) return;
      if (why !== null) {
        if (fs.fstatSync(out).size > most_bytes) fs.ftruncateSync(out, most_bytes);
        fs.writeSync(out, `\nended, because ${why}\n`);
      }
      fs.closeSync(out);
    };
    // A command that can't be started has an error and then is closed, too.
    child.on('error', (error) => {
      if (over) return;
      done();
      reject(new Failure(`${command} could not be started: ${error.message}`));
    });
    child.on('close', (code, signal) => {
      if (over) return;
      done();
      resolve(code ?? 128 + (os.constants.signals[signal] ?? 0));
    });
  });
}

/** Like run, but if the status is not 0 it throws a Failure that names the command. */
export async function must(command, args, options = {}) {
  const status = await run(command, args, options);
  if (status !== 0) {
    throw new Failure(`${[command, ...args].join(' ')} failed with exit status ${status}`);
  }
}

/** How often what goes on quietly says so, so that nobody takes it for one that hangs. */
const QUIET_MS = 60_000;

/** Like must, but prints the command's output only if it fails, and then only its first and last lines. */
export async function must_quietly(command, args, options = {}) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-'));
  const log = path.join(dir, 'log');
  let shown = 0;
  const show = setInterval(() => {
    const text = fs.readFileSync(log, 'utf8');
    if (text.length > shown) console.error(`  ${path.basename(command)}: ${tail(text, 1)}`);
    shown = text.length;
  }, QUIET_MS);
  try {
    const status = await run(command, args, { ...options, log });
    if (status !== 0) {
      process.stderr.write(`${excerpt(fs.readFileSync(log, 'utf8'), 25, 45)}\n`);
      throw new Failure(`${[command, ...args].join(' ')} failed with exit status ${status}`);
    }
  } finally {
    clearInterval(show);
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

/** The last lines of a text. */
export function tail(text, lines) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** The first and last lines of a text, or all of it if it has no more lines than that. */
export function excerpt(text, first, last) {
  const lines = text.trimEnd().split('\n');
  if (lines.length <= first + last) return lines.join('\n');
  const between = `[... ${lines.length - first - last} lines ...]`;
  return [...lines.slice(0, first), between, ...lines.slice(-last)].join('\n');
}

/** The files under a path of the checkout (or the file that it is), relative to ROOT and sorted. None if it is missing. */
export function files_under(relative, skip = () => false) {
  const full = path.join(ROOT, relative);
  let stat;
  try {
    stat = fs.statSync(full);
  } catch {
    return [];
  }
  if (stat.isFile()) return skip(relative) ? [] : [relative];
  if (!stat.isDirectory()) return []; // a pipe or a socket
  return fs
    .readdirSync(full)
    .sort()
    .map((name) => path.posix.join(relative, name))
    .filter((child) => !skip(child))
    .flatMap((child) => files_under(child, skip));
}

/** SHA-256 of the names and contents of files of the checkout, and of the texts in `extra`. */
export function hash_files(relatives, ...extra) {
  const hash = createHash('sha256');
  for (const text of extra) hash.update(`${text}\0`);
  for (const relative of [...relatives].sort()) {
    const bytes = fs.readFileSync(path.join(ROOT, relative));
    hash.update(`${relative}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

export function sha256_file(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

export function read_json(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Writes a file in one step, so that a reader finds the old one or the new one. */
export function write_atomically(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const partial = `${file}.${process.pid}.partial`;
  fs.writeFileSync(partial, text);
  fs.renameSync(partial, file);
}

/**
 * Runs `body` while holding a lock; other processes that call this wait for it, and say so every `say_ms`. The lock is a
 * directory that holds the process id of its owner. If that process has ended, the lock is taken over.
 */
export async function with_lock(file, body, { say_ms = QUIET_MS } = {}) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const holder = path.join(file, 'pid');
  let told = -Infinity;
  for (;;) {
    try {
      fs.mkdirSync(file);
      fs.writeFileSync(holder, String(process.pid));
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (lock_is_stale(file, holder)) {
      // Rename before removing: if several processes find it stale, only one can rename it.
      const grave = `${file}.${process.pid}.stale`;
      try {
        fs.renameSync(file, grave);
        fs.rmSync(grave, { recursive: true, force: true });
      } catch {
        // another one was quicker
      }
      continue;
    }
    if (performance.now() - told >= say_ms) {
      console.error(`sluice: waiting for another build (${file})`);
      told = performance.now();
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  try {
    return await body();
  } finally {
    fs.rmSync(file, { recursive: true, force: true });
  }
}

function lock_is_stale(file, holder) {
  let pid;
  try {
    pid = Number(fs.readFileSync(holder, 'utf8'));
  } catch {
    // Its owner is just taking it, or died while taking it.
    try {
      return Date.now() - fs.statSync(file).mtimeMs > 10_000;
    } catch {
      return false;
    }
  }
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
