// The store's locks in Node, by files that the program `sluice` knows, too (locks.ts).
//
// The program has one lock for an entry, KEY.lock: shared to read it, exclusive to write or delete it. The store has two: many
// threads use an entry, and one of them writes it while others follow. So:
//
//   use, shared      KEY.lock, shared. Without it if another one has it alone: that one writes, and a follower only reads blocks
//                    whose hashes are right. Lock.setAlone() makes it exclusive, for a writer, and shared again; follow()
//                    gives it back.
//   use, exclusive   KEY.lock, exclusive: to delete the entry
//   write            KEY.journal, which only this library locks, and KEY.lock unless this thread has it already
//   pack             KEY.index, as the program
//   state            KEY.state
import path from 'node:path';
import {
  PACK_LOCK,
  STATE_LOCK,
  USE_LOCK,
  WRITE_LOCK,
  type Lock,
  type LockOptions,
} from '../platform/platform.js';
import { cacheFolder } from './folder.js';
import { isHeld, tryTake, type FileLock } from './locks.js';

/** Milliseconds between two tries. */
const AGAIN_MS = 50;

const ENDINGS: Record<string, string> = {
  [WRITE_LOCK]: '.journal',
  [USE_LOCK]: '.lock',
  [PACK_LOCK]: '.index',
  [STATE_LOCK]: '.state',
};

function parse(name: string): { kind: string; key: string } {
  const end = name.indexOf(':') + 1;
  return { kind: name.slice(0, end), key: name.slice(end) };
}

function pathOf(kind: string, key: string): string {
  return path.join(cacheFolder(), key + (ENDINGS[kind] as string));
}

/** What this thread has of KEY.lock. */
class EntryHold {
  /** Null for a follower. */
  lock: FileLock | null = null;
  users = 0;
  /** Users, and whoever may write the journal. */
  holders = 0;

  constructor(readonly path: string) {}

  /** False: another one has it alone. */
  share(): boolean {
    this.lock ??= tryTake(this.path, 'shared');
    return this.lock !== null;
  }

  /** False: others have it. */
  setAlone(on: boolean): boolean {
    if (!on) this.lock?.share();
    else if (this.lock === null) this.lock = tryTake(this.path, 'exclusive');
    else return this.lock.tryUpgrade();
    return !on || this.lock !== null;
  }

  follow(): void {
    if (this.holders > 1) return;
    this.lock?.release();
    this.lock = null;
  }

  drop(): void {
    if (this.holders > 0) return;
    this.lock?.release();
    this.lock = null;
  }
}

const holds = new Map<string, EntryHold>();

function holdOf(key: string): EntryHold {
  let hold = holds.get(key);
  if (hold === undefined) {
    hold = new EntryHold(pathOf(USE_LOCK, key));
    holds.set(key, hold);
  }
  return hold;
}

/** A lock that `free` releases, once. */
function once(free: () => void): Lock {
  let held = true;
  return {
    release: async () => {
      if (held) free();
      held = false;
    },
  };
}

function takeUse(key: string, mode: 'shared' | 'exclusive'): Lock | null {
  const hold = holdOf(key);
  if (mode === 'exclusive' && (hold.users > 0 || !hold.setAlone(true))) return null;
  if (mode === 'shared') hold.share();
  hold.users += 1;
  hold.holders += 1;
  const free = (): void => {
    hold.users -= 1;
    hold.holders -= 1;
    if (hold.holders > 0) hold.setAlone(false);
    hold.drop();
  };
  return {
    ...once(free),
    setAlone: (on) => hold.setAlone(on),
    follow: () => hold.follow(),
  };
}

function takeWrite(key: string): Lock | null {
  const journal = tryTake(pathOf(WRITE_LOCK, key), 'exclusive');
  if (journal === null) return null;
  const hold = holdOf(key);
  try {
    if (!hold.share()) {
      journal.release();
      return null;
    }
  } catch (error) {
    journal.release();
    throw error;
  }
  hold.holders += 1;
  return once(() => {
    journal.release();
    hold.holders -= 1;
    hold.drop();
  });
}

function tryLock(name: string, mode: 'shared' | 'exclusive'): Lock | null {
  const { kind, key } = parse(name);
  if (kind === USE_LOCK) return takeUse(key, mode);
  if (kind === WRITE_LOCK) return takeWrite(key);
  const lock = tryTake(pathOf(kind, key), mode);
  return lock === null ? null : once(() => lock.release());
}

export async function takeLock(
  name: string,
  { mode = 'exclusive', ifAvailable = false, signal }: LockOptions,
): Promise<Lock | null> {
  for (;;) {
    if (signal?.aborted) return null;
    const lock = tryLock(name, mode);
    if (lock !== null || ifAvailable) return lock;
    await pause(signal);
  }
}

/** Until the next try, or until `signal` fires. */
function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, AGAIN_MS);
    signal?.addEventListener('abort', end);
  });
}

export async function locksHeld(names: readonly string[]): Promise<Set<string>> {
  return new Set(
    names.filter((name) => {
      const { kind, key } = parse(name);
      return isHeld(pathOf(kind, key));
    }),
  );
}
