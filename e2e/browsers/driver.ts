// What browsers.spec.ts needs of a browser. Playwright drives only its own builds of Firefox and WebKit, not the
// installed ones, so these have drivers of their own.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Size {
  width: number;
  height: number;
}

export interface Browser {
  /** Its own name and version. */
  readonly name: string;
  /** Opens an address in a tab whose viewport has this size (CSS pixels), and waits until it is loaded. */
  open(url: string, size: Size): Promise<Tab>;
  /** Ends the browser and everything that it started. */
  close(): Promise<void>;
}

export interface Tab {
  /**
   * The console's messages and the uncaught errors since the tab was opened; null if the browser doesn't report them.
   */
  readonly messages: readonly string[] | null;
  /** Calls a self-contained function in the page. Argument and result are JSON; promises are awaited. */
  evaluate<A, R>(body: (argument: A) => R | Promise<R>, argument: A): Promise<R>;
  /** Clicks the first element of a CSS selector, through the browser's own input. */
  press(selector: string): Promise<void>;
  /** Replaces the text of a field. */
  fill(selector: string, text: string): Promise<void>;
  /** Chooses a file for an <input type=file>. */
  chooseFile(selector: string, file: string): Promise<void>;
  /** A screenshot of the viewport, as a PNG. */
  screenshot(): Promise<Uint8Array>;
  /** May be called again. */
  close(): Promise<void>;
}

/** Milliseconds that a browser may take for one command. */
export const PATIENCE = 60_000;

/** A program and all that it starts, in a process group of its own. */
export class Group {
  readonly #guard: ChildProcess;

  /** `pid`: the group's leader. The group also ends when this process ends, for whatever reason. */
  constructor(readonly pid: number) {
    // The guard's standard input ends when this process does.
    this.#guard = spawn('sh', ['-c', `cat; kill -s KILL -- -${pid}`], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
  }

  /** Kills the whole group. */
  async kill(): Promise<void> {
    if (this.#guard.exitCode !== null) return;
    this.#guard.stdin?.end();
    await once(this.#guard, 'close');
  }
}

/** Waits for `promise`, for `ms` at most. Then it throws an error that names `what`. */
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
