// Locks on files of the cache that the program `sluice` takes, too. Their rules are in native/pull/holder.h.
//
// A lock is named by a path. Each holder has a file beside it, whose name says which process and thread it is of, and whose
// size says what it does.
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  readlinkSync,
  unlinkSync,
  type Stats,
} from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { threadId } from 'node:worker_threads';

export type LockMode = 'shared' | 'exclusive';

/** How long to wait for others that try, too. */
const PATIENCE_MS = 300;
const OLD_EXCLUSIVE_MS = 24 * 3600 * 1000;
const OLD_SHARED_MS = 7 * OLD_EXCLUSIVE_MS;

/** Sizes of a holder's file. */
const TRIES_EXCLUSIVE = 0;
const TRIES_SHARED = 1;
const SHARED = 2;
const EXCLUSIVE = 3;

function excludes(size: number, mode: LockMode): boolean {
  return mode === 'exclusive' || size === TRIES_EXCLUSIVE || size >= EXCLUSIVE;
}

const HOLDER =
  /^(?<lock>.+)\.(?<machine>[0-9a-f]{12})-(?<boot>[0-9a-f]{1,12})-(?<space>\d{1,20})-(?<pid>\d{1,9})-(?<start>\d{1,20})-(?<kind>[nf])-(?<thread>\d{1,10})-[0-9a-f]{16}$/s;

/** What a holder's name says of it. */
interface Identity {
  machine: string;
  boot: string;
  space: string;
  pid: string;
  /** '0' unknown, as the boot and the space. */
  start: string;
}

interface Named extends Identity {
  lock: string;
  thread: string;
}

/** Null if it is no holder's name. */
function readName(name: string): Named | null {
  return (HOLDER.exec(name)?.groups as unknown as Named | undefined) ?? null;
}

/** The first bytes of a small file of the system; '' if it can't be read. */
function firstBytes(file: string): string {
  let descriptor = -1;
  try {
    descriptor = openSync(file, 'r');
    const bytes = Buffer.alloc(1024);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  } catch {
    return '';
  } finally {
    if (descriptor >= 0) closeSync(descriptor);
  }
}

function processOf(pid: string): { ended: boolean; start: string } {
  const stat = firstBytes(`/proc/${pid}/stat`);
  // Behind the program's name, which may contain anything: field 3, the state, and more.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, threads, start] = [fields[0], fields[17], fields[19]];
  // While it has threads they may still write.
  const ended = state === 'X' || (state === 'Z' && (threads === '0' || threads === '1'));
  return { ended, start: start !== undefined && /^\d{1,20}$/.test(start) ? start : '0' };
}

function spaceOf(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '').slice(0, 20) || '0';
  } catch {
    return '0';
  }
}

function readOwn(): Identity {
  const id = firstBytes('/etc/machine-id').trim();
  const boot = firstBytes('/proc/sys/kernel/random/boot_id').replace(/[^0-9a-f]/g, '');
  const pid = String(process.pid);
  return {
    machine: createHash('sha256').update(`${hostname()}\n${id}`).digest('hex').slice(0, 12),
    boot: boot.slice(0, 12) || '0',
    space: spaceOf(),
    pid,
    start: processOf(pid).start,
  };
}

let known: Identity | null = null;

/** Who this process is. */
function own(): Identity {
  known ??= readOwn();
  return known;
}

function prefixOf({ machine, boot, space, pid, start }: Identity): string {
  return `${machine}-${boot}-${space}-${pid}-${start}-f-`;
}

function isDeadProcess(of: Identity): boolean {
  const pid = Number(of.pid);
  if (pid <= 0) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return true;
  }
  const { ended, start } = processOf(of.pid);
  return ended || (of.start !== '0' && start !== '0' && of.start !== start);
}

function isDead(of: Identity, file: Stats): boolean {
  const self = own();
  const ours = of.machine === self.machine;
  if (ours && of.boot !== '0' && self.boot !== '0' && of.boot !== self.boot) return true;
  if (ours && of.boot === self.boot && of.space === self.space) return isDeadProcess(of);
  const old = excludes(file.size, 'shared') ? OLD_EXCLUSIVE_MS : OLD_SHARED_MS;
  return Date.now() - file.mtimeMs > old;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** True of errors of a folder that can't be written to. */
function isRefused(error: unknown): boolean {
  return ['EACCES', 'EROFS', 'EPERM'].includes(codeOf(error));
}

// Windows has neither.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** A regular file's size and time. Null of anything else. */
function lookAt(file: string): Stats | null {
  let descriptor = -1;
  try {
    // Opening it makes a network's file system ask for the size anew.
    descriptor = openSync(file, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stats = fstatSync(descriptor);
    return stats.isFile() && stats.nlink > 0 ? stats : null;
  } catch {
    // It can be another user's.
    const stats = lstatSync(file, { throwIfNoEntry: false });
    return stats?.isFile() === true ? stats : null;
  } finally {
    if (descriptor >= 0) closeSync(descriptor);
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Another one has removed it, or it can't be removed.
  }
}

interface Others {
  /** One of them has the lock. */
  hold: boolean;
  /** One of them tries to take it. */
  attempt: boolean;
  /** And its name is smaller than ours. */
  smaller: boolean;
}

/** Looks at the holders of a lock but `self`. Removes the files of dead holders, also those of other locks. */
function look(lockPath: string, self: string, mode: LockMode): Others {
  const folder = path.dirname(lockPath);
  const lock = path.basename(lockPath);
  const others: Others = { hold: false, attempt: false, smaller: false };
  for (const name of readdirSync(folder)) {
    const holder = name === self ? null : readName(name);
    if (holder === null) continue;
    const file = path.join(folder, name);
    const stats = lookAt(file);
    if (stats === null) continue;
    if (isDead(holder, stats)) {
      remove(file);
      continue;
    }
    if (holder.lock !== lock || !excludes(stats.size, mode)) continue;
    if (stats.size >= SHARED) {
      others.hold = true;
    } else {
      others.attempt = true;
      others.smaller ||= name < self;
    }
  }
  return others;
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function sleep(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms);
}

/** Sets the size of a holder's file. False if it can't be: then others wait longer, and no harm is done else. */
function setSize(descriptor: number, size: number): boolean {
  try {
    ftruncateSync(descriptor, size);
    return true;
  } catch {
    return false;
  }
}

/** The locks that are released when the process, or this worker, ends by itself. */
const held = new Set<FileLock>();
let isWatching = false;

function releaseAll(): void {
  for (const lock of held) lock.release();
}

/** A lock that this thread holds. It excludes other processes, and other locks of this one. */
export class FileLock {
  #mode: LockMode;
  readonly #path: string;
  readonly #file: string;
  #descriptor: number;

  /** `file`: of the holder, '' if it has none. */
  constructor(lockPath: string, mode: LockMode, file: string, descriptor: number) {
    this.#path = lockPath;
    this.#mode = mode;
    this.#file = file;
    this.#descriptor = descriptor;
    held.add(this);
    if (isWatching) return;
    isWatching = true;
    process.on('exit', releaseAll);
  }

  get mode(): LockMode {
    return this.#mode;
  }

  /** From exclusive to shared. */
  share(): void {
    if (this.#descriptor < 0 || this.#mode === 'shared') return;
    // Without it the others still take it as exclusive.
    setSize(this.#descriptor, SHARED);
    this.#mode = 'shared';
  }

  /** From shared to exclusive, if nobody else has it; else it stays shared. May sleep for 300 ms. */
  tryUpgrade(): boolean {
    if (this.#mode === 'exclusive') return true;
    if (this.#descriptor < 0 || !setSize(this.#descriptor, TRIES_EXCLUSIVE)) return false;
    try {
      if (decide(this.#path, path.basename(this.#file), 'exclusive') === 'granted') {
        setSize(this.#descriptor, EXCLUSIVE);
        this.#mode = 'exclusive';
        return true;
      }
    } finally {
      if (this.#mode === 'shared') setSize(this.#descriptor, SHARED);
    }
    return false;
  }

  /** May be called again. */
  release(): void {
    held.delete(this);
    if (this.#descriptor < 0) return;
    remove(this.#file);
    closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

/**
 * Waits until the others have decided. 'held': one of them has the lock, or needs too long. 'later': another one with a smaller
 * name tries to take it.
 */
function decide(
  lockPath: string,
  self: string,
  mode: LockMode,
  until = performance.now() + PATIENCE_MS,
): 'granted' | 'held' | 'later' {
  for (;;) {
    const { hold, attempt, smaller } = look(lockPath, self, mode);
    if (!hold && !attempt) return 'granted';
    if (hold || performance.now() > until) return 'held';
    if (smaller) return 'later';
    sleep(1);
  }
}

/**
 * Takes a lock if it is free; else null. May sleep for 300 ms while others decide. In a folder that can't be written to, a
 * shared lock has no file, so writers of other users don't see it. Throws the system's error if the folder can't be read, or
 * the holder's file can't be made.
 */
export function tryTake(lockPath: string, mode: LockMode): FileLock | null {
  const folder = path.dirname(lockPath);
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const random = randomBytes(8).toString('hex');
    const name = `${path.basename(lockPath)}.${prefixOf(own())}${threadId}-${random}`;
    const file = path.join(folder, name);
    let descriptor: number;
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW;
      descriptor = openSync(file, flags, 0o600);
    } catch (error) {
      if (mode === 'exclusive' || !isRefused(error)) throw error;
      return isHeld(lockPath, mode) ? null : new FileLock(lockPath, mode, '', -1);
    }
    const lock = new FileLock(lockPath, mode, file, descriptor);
    let decision: ReturnType<typeof decide> = 'held';
    try {
      if (mode === 'shared') setSize(descriptor, TRIES_SHARED);
      decision = decide(lockPath, name, mode, until);
      if (decision === 'granted') {
        setSize(descriptor, mode === 'shared' ? SHARED : EXCLUSIVE);
        return lock;
      }
    } finally {
      if (decision !== 'granted') lock.release();
    }
    if (decision === 'held') return null;
    sleep(2);
  }
}

/** Whether anybody holds a lock, or tries to, in a way that excludes `mode`. Makes no file. Throws as tryTake(). */
export function isHeld(lockPath: string, mode: LockMode = 'exclusive'): boolean {
  const { hold, attempt } = look(lockPath, '', mode);
  return hold || attempt;
}

/**
 * Releases all locks in a folder that a thread of this process holds, or all of its threads without `thread`. For a worker that
 * was terminated: it can't do that itself, and this process lives on.
 */
export function releaseThreads(folder: string, thread?: number): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return;
  }
  const prefix = prefixOf(own());
  for (const name of names) {
    const holder = readName(name);
    if (holder === null || !name.startsWith(`${holder.lock}.${prefix}`)) continue;
    if (thread === undefined || holder.thread === String(thread)) remove(path.join(folder, name));
  }
}
