// What the system says of processes and files: the most memory that a process took, and a file's place in the page cache.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import readline from 'node:readline';
import { Failure } from '../../scripts/lib.mjs';

/** A field of /proc/PID/status in bytes; 0 once the process has ended. */
export function memory_of(pid, field) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Forgets the most memory that a process had (VmHWM). See proc(5), clear_refs. */
export function reset_peak(pid) {
  fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Takes a file out of the page cache: posix_fadvise(POSIX_FADV_DONTNEED) for all of it (see dd's `nocache`). */
export function drop_cache(file) {
  execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}

/**
 * Runs a program. Returns the lines that it printed with the times at which they came (performance.now()), and the most
 * memory that it had resident. `on_line` is called with each line.
 */
export async function run_watched(program, args, on_line = () => {}) {
  const child = spawn(program, args.map(String), { stdio: ['ignore', 'pipe', 'pipe'] });
  let peak = 0;
  // The peak is kept until the process ends: a look every 5 ms misses little of its last one.
  const watch = setInterval(() => {
    peak = Math.max(peak, memory_of(child.pid, 'VmHWM'));
  }, 5);
  let messages = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (messages += text));
  const lines = [];
  const input = readline.createInterface({ input: child.stdout });
  input.on('line', (text) => {
    lines.push({ text, at: performance.now() });
    peak = Math.max(peak, memory_of(child.pid, 'VmHWM'));
    on_line(text);
  });
  const read = new Promise((resolve) => input.once('close', resolve));
  const status = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  await read;
  clearInterval(watch);
  if (status !== 0) {
    const why = messages.trim() || lines.at(-1)?.text;
    throw new Failure(`${program} ${args.join(' ')} ended with ${status}: ${why}`);
  }
  return { lines, peak, messages };
}

/** Sizes of reads, bytes; the fastest counts. */
export const PIECES = [1, 4, 16].map((mib) => mib << 20);

/** Bytes per second of reading a file with each size of piece, into the same memory, which was touched before. */
export function read_rates(file, { cold }) {
  const bytes = fs.statSync(file).size;
  const memory = Buffer.alloc(64 << 20, 1);
  const rates = {};
  for (const piece of PIECES) {
    if (cold) drop_cache(file);
    const handle = fs.openSync(file, 'r');
    const began = performance.now();
    for (let at = 0; at < bytes;) {
      const got = fs.readSync(handle, memory, at % (memory.length - piece + 1), piece, at);
      if (got === 0) throw new Failure(`${file} became shorter`);
      at += got;
    }
    rates[piece >> 20] = (bytes / (performance.now() - began)) * 1000;
    fs.closeSync(handle);
  }
  return rates;
}
