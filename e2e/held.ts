// Holds a page in the middle of its work, at an exact place. Nothing here knows what the library's threads tell each other.
// The place is found in what the library gives to every site, a stream of tokens, or in what the page shows. From there on the
// page hears nothing of its workers, whatever they say.
import type { Page } from '@playwright/test';

/** A stream of tokens, or of an answer's parts. */
interface Stream {
  next(): Promise<unknown>;
  return(): Promise<unknown>;
  /** Rejects at once when the stream is stopped, or fails. */
  ending: Promise<unknown>;
}

interface Hold {
  /** Whether the next text is held. */
  holds: boolean;
  /** Resolves when something is held. */
  isHeld(): Promise<void>;
  /** The page hears nothing more: of the worker that it has heard last, or of all. */
  close(workers: 'last' | 'all'): void;
  /** It hears what came meanwhile, and what comes. */
  open(): void;
  /** Resolves with open(). */
  isOpen(): Promise<void>;
}

declare const window: { hold: Hold } & typeof globalThis;

/** Runs in the page, before the library starts a worker. */
function putHold(): void {
  const later: (() => void)[] = [];
  const closed = new Set<Worker>();
  const passing = new WeakSet<Event>();
  let last: Worker | null = null;
  let all = false;
  const gate = new EventTarget();
  const next = (name: string): Promise<void> =>
    new Promise((resolve) => {
      gate.addEventListener(name, () => resolve(), { once: true });
    });
  window.hold = {
    holds: true,
    isHeld: async () => {
      if (!all && closed.size === 0) await next('close');
    },
    close: (workers) => {
      if (workers === 'all') all = true;
      else if (last !== null) closed.add(last);
      gate.dispatchEvent(new Event('close'));
    },
    open: () => {
      all = false;
      closed.clear();
      gate.dispatchEvent(new Event('open'));
      for (const tell of later.splice(0)) tell();
    },
    isOpen: () => next('open'),
  };
  const { Worker } = window;
  window.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      // The first listener decides what the others hear.
      this.addEventListener('message', (event) => {
        if (!(all || closed.has(this)) || passing.has(event)) {
          last = this;
          return;
        }
        event.stopImmediatePropagation();
        const again = new MessageEvent('message', { data: event.data as unknown });
        passing.add(again);
        later.push(() => this.dispatchEvent(again));
      });
    }
  };
}

/** Runs in the page: its loop over a stream gets so many items, and the others when they are let go. */
function holdStreams(items: number): void {
  const platform = Object.getPrototypeOf(
    Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())),
  ) as object;
  const hold = async (stream: Stream): Promise<void> => {
    const open = window.hold.isOpen();
    const ended = new Promise<void>((resolve) => void stream.ending.catch(() => resolve()));
    window.hold.close('last');
    await Promise.race([open, ended]);
  };
  // Loops ask this of the library's streams, as of all async iterators that are like the platform's own.
  Object.defineProperty(platform, Symbol.asyncIterator, {
    value(this: object) {
      if (!('ending' in this)) return this;
      const stream = this as Stream;
      let left = items;
      return {
        next: async () => {
          if (left-- === 0 && window.hold.holds) await hold(stream);
          return stream.next();
        },
        return: () => stream.return(),
      };
    },
  });
}

/** Runs in the page: holds all when this part of it shows the text. */
function holdWhenShown([part, text]: readonly [part: string, text: string]): void {
  const observer = new MutationObserver(() => {
    if (document.querySelector(part)?.textContent.includes(text) !== true) return;
    observer.disconnect();
    window.hold.close('all');
  });
  observer.observe(document, { childList: true, characterData: true, subtree: true });
}

/** Holds each text and each answer after so many tokens, until it is let go. Must be called before the page is opened. */
export async function holdTextAfter(page: Page, tokens: number): Promise<void> {
  await page.addInitScript(putHold);
  await page.addInitScript(holdStreams, tokens);
}

/** Holds the page when its part, a selector, first shows the text, until it is let go. Must be called before it is opened. */
export async function holdAt(page: Page, part: string, text: string): Promise<void> {
  await page.addInitScript(putHold);
  await page.addInitScript(holdWhenShown, [part, text] as const);
}

/** Waits until something is held, and what came before that is drawn. */
export async function isHeld(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await window.hold.isHeld();
    // What comes quickly is drawn with every second frame.
    for (let i = 0; i < 3; ++i) await new Promise(requestAnimationFrame);
  });
}

/** Lets go what is held. From now on texts come whole. */
export async function letGo(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.hold.holds = false;
    window.hold.open();
  });
}

/** The texts that begin from now on are held as well. */
export async function holdAgain(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.hold.holds = true;
  });
}
