// The process of a page: its memory, its workers, its open files.
import fs from 'node:fs';
import { expect, type Browser, type CDPSession, type Page } from '@playwright/test';

/** The number of workers in a process, including those that workers have made. */
function workersOf(pid: number): number {
  const tasks = fs.readdirSync(`/proc/${pid}/task`);
  return tasks.filter((id) => {
    try {
      return fs.readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').startsWith('DedicatedWorker');
    } catch {
      return false; // it has ended
    }
  }).length;
}

/** The page's process: its workers, its private memory, and the most memory that it ever had. */
export class Renderer {
  private constructor(
    readonly session: CDPSession,
    readonly pid: number,
  ) {}

  /** Finds the page's process: it is the one in which a worker appears and disappears. The page must have no workers yet. */
  static async of(page: Page): Promise<Renderer> {
    const browser = page.context().browser();
    if (browser === null) throw new Error('the browser is gone');
    const worker = await page.evaluateHandle(
      () => new Worker('/engine/loader-worker.js', { type: 'module' }),
    );
    const whole = await browser.newBrowserCDPSession();
    const { processInfo } = await whole.send('SystemInfo.getProcessInfo');
    await whole.detach();
    const hasWorker = ({ id }: { id: number }): boolean => {
      try {
        return workersOf(id) > 0;
      } catch {
        return false; // an earlier page's process, which has ended
      }
    };
    let found: { id: number }[] = [];
    const find = (): number =>
      (found = processInfo.filter(({ type }) => type === 'renderer').filter(hasWorker)).length;
    await expect.poll(find).toBe(1);
    const renderer = new Renderer(await page.context().newCDPSession(page), found[0]?.id ?? 0);
    expect(renderer.workers()).toBe(1);
    await worker.evaluate((one) => one.terminate());
    await expect.poll(() => renderer.workers()).toBe(0);
    return renderer;
  }

  #bytes(file: string, field: string): number {
    const text = fs.readFileSync(`/proc/${this.pid}/${file}`, 'utf8');
    return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]);
  }

  /** After garbage collection. */
  async privateBytes(): Promise<number> {
    await this.session.send('HeapProfiler.collectGarbage');
    return this.#bytes('smaps_rollup', 'Private_Dirty');
  }

  /** Since `resetPeak`. */
  peakBytes(): number {
    return this.#bytes('status', 'VmHWM');
  }

  /** See proc(5), clear_refs. */
  resetPeak(): void {
    fs.writeFileSync(`/proc/${this.pid}/clear_refs`, '5');
  }

  residentBytes(): number {
    return this.#bytes('status', 'VmRSS');
  }

  /** Of scripts, after garbage collection. */
  async heapBytes(): Promise<number> {
    await this.session.send('HeapProfiler.collectGarbage');
    return (await this.session.send('Runtime.getHeapUsage')).usedSize;
  }

  workers(): number {
    return workersOf(this.pid);
  }
}

/** The number of files, sockets and other handles that the processes of a browser have open. */
export async function openHandles(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const count = ({ id }: { id: number }): number => {
    try {
      return fs.readdirSync(`/proc/${id}/fd`).length;
    } catch {
      return 0; // it has ended
    }
  };
  return processInfo.map(count).reduce((a, b) => a + b, 0);
}
