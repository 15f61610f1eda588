// What the tests ask of a browser that Playwright doesn't drive as people have it installed. One list of checks
// (browsers.spec.ts) runs through this in each.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Size {
  width: number;
  height: number;
}

export interface Browser {
  /** As it calls itself, with its version. */
  readonly name: string;
  /** Opens an address in a tab whose page is seen in this size (CSS pixels), and waits until it is loaded. */
  open(url: string, size: Size): Promise<Tab>;
  /** Ends the browser and everything that it started. */
  close(): Promise<void>;
}

export interface Tab {
  /**
   * What the console says, and errors that nobody caught, since the tab was opened; null in a browser that doesn't
   * tell.
   */
  readonly messages: readonly string[] | null;
  /** Calls a function that stands on its own in the page; argument and result are JSON, promises are awaited. */
  evaluate<A, R>(body: (argument: A) => R | Promise<R>, argument: A): Promise<R>;
  /** Presses the first element of a CSS selector, by the browser's own input. */
  press(selector: string): Promise<void>;
  /** Replaces what stands in a field. */
  fill(selector: string, text: string): Promise<void>;
  /** Chooses a file for an <input type=file>. */
  chooseFile(selector: string, file: string): Promise<void>;
  /** What is seen, as a PNG. */
  screenshot(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** How long a browser may take for anything that is asked of it. */
export const PATIENCE = 60_000;

/** A program with all that it starts, in a process group of its own. */
export class Group {
  readonly #guard: ChildProcess;

  /** `pid`: the group's leader. The group ends with this process, too, however that goes. */
  constructor(readonly pid: number) {
    // Its standard input ends when this process does.
    this.#guard = spawn('sh', ['-c', `cat; kill -s KILL -- -${pid}`], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
  }

  /** Ends all of it, now. */
  async kill(): Promise<void> {
    if (this.#guard.exitCode !== null) return;
    this.#guard.stdin?.end();
    await once(this.#guard, 'close');
  }
}

/** What doesn't come to its end in time is an error that names it. */
export async function inTime<T>(what: string, promise: Promise<T>, ms = PATIENCE): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
