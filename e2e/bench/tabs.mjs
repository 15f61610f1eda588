// Tabs of one window, of which one is visible and the others are hidden. Pages that Playwright opens are always visible,
// so these tabs are driven directly, through the browser's debugging session.

/** Flags that Playwright gives Chromium and other browsers don't have. They are left out. */
export const UNTHROTTLED = [
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
];

export class Tabs {
  #session;
  #context;

  constructor(session, context) {
    this.#session = session;
    this.#context = context;
  }

  /** @param {import('playwright-core').Browser} browser */
  static async in(browser) {
    const session = await browser.newBrowserCDPSession();
    const { browserContextId } = await session.send('Target.createBrowserContext');
    return new Tabs(session, browserContextId);
  }

  /**
   * Opens a tab in front of the others.
   * @param {string} url
   */
  async open(url) {
    const { targetId } = await this.#session.send('Target.createTarget', {
      url: 'about:blank',
      browserContextId: this.#context,
    });
    const { sessionId } = await this.#session.send('Target.attachToTarget', {
      targetId,
      flatten: false,
    });
    const tab = new Tab(this.#session, targetId, sessionId);
    await tab.goto(url);
    return tab;
  }

  async close() {
    await this.#session.send('Target.disposeBrowserContext', { browserContextId: this.#context });
    await this.#session.detach();
  }
}

class Tab {
  #session;
  #target;
  #id;
  #serial = 0;
  #pending = new Map();
  #loaded = () => {};

  constructor(session, target, id) {
    this.#session = session;
    this.#target = target;
    this.#id = id;
    session.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => {
      if (sessionId !== id) return;
      const { id: serial, method, result, error } = JSON.parse(message);
      if (method === 'Page.loadEventFired') this.#loaded();
      const pending = this.#pending.get(serial);
      this.#pending.delete(serial);
      if (error === undefined) pending?.resolve(result);
      else pending?.reject(new Error(error.message));
    });
  }

  #send(method, params = {}) {
    const id = ++this.#serial;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      const message = JSON.stringify({ id, method, params });
      this.#session
        .send('Target.sendMessageToTarget', { sessionId: this.#id, message })
        .catch(reject);
    });
  }

  /** Resolves when the page there is loaded. */
  async goto(url) {
    await this.#send('Page.enable');
    const loaded = new Promise((resolve) => {
      this.#loaded = resolve;
    });
    await this.#send('Page.navigate', { url });
    await loaded;
  }

  /**
   * Calls a self-contained function in the tab, with an argument that is JSON. Resolves with its result.
   * @template A, R
   * @param {(argument: A) => R | Promise<R>} body
   * @param {A} [argument]
   * @returns {Promise<R>}
   */
  async evaluate(body, argument) {
    const { result, exceptionDetails } = await this.#send('Runtime.evaluate', {
      expression: `(${body})(${JSON.stringify(argument)})`,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  /** Resolves when the tab reports this state of its visibility. */
  #becomes(state) {
    return this.evaluate(
      (state) =>
        new Promise((resolve) => {
          const look = () => document.visibilityState === state && resolve();
          document.addEventListener('visibilitychange', look);
          look();
        }),
      state,
    );
  }

  /** Brings the tab to the front of its window, which hides the others. */
  async show() {
    await this.#session.send('Target.activateTarget', { targetId: this.#target });
    await this.#becomes('visible');
  }

  /** Resolves when the tab is hidden: another one has to be shown. */
  hidden() {
    return this.#becomes('hidden');
  }
}
