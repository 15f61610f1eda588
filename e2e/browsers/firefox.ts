// Firefox, by WebDriver BiDi.
import puppeteer, { type Browser as Handle, type Page } from 'puppeteer-core';
import { which } from '../../scripts/lib.mjs';
import { Group, PATIENCE, inTime, type Browser, type Size, type Tab } from './driver';

/** A part of puppeteer's browser that its types leave out: it sends any command of WebDriver BiDi. */
interface Commands {
  connection: { send<R>(method: string, params: object): Promise<{ result: R }> };
}

/**
 * Removes the listener for workers that Firefox (153) has while it is driven. With it, a worker that makes a worker waits
 * until that one is listed, on a condition that wakes only one of two waiting threads. So on a busy machine one of thirty
 * engines with threads never started. In ordinary use there is no such listener, unless the developer tools are open.
 */
async function leaveWorkersAlone(handle: Handle): Promise<void> {
  const { connection } = handle as unknown as Commands;
  const { result } = await connection.send<{ contexts: { context: string }[] }>(
    'browsingContext.getTree',
    { 'moz:scope': 'chrome' },
  );
  const listener =
    'chrome://remote/content/shared/js-process-actors/WebDriverWorkerListenerActor.sys.mjs';
  const ended = await connection.send<{ type: string }>('script.evaluate', {
    expression: `ChromeUtils.importESModule('${listener}').unregisterWebDriverWorkerListenerActor()`,
    target: { context: result.contexts[0]?.context },
    awaitPromise: false,
  });
  if (ended.result.type !== 'success')
    throw new Error(`Firefox can't be kept from listening: ${JSON.stringify(ended.result)}`);
}

export class Firefox implements Browser {
  readonly #handle: Handle;
  readonly #group: Group;

  private constructor(
    handle: Handle,
    group: Group,
    readonly name: string,
  ) {
    this.#handle = handle;
    this.#group = group;
  }

  /** `profile`: a directory for the profile. `isPrivate`: all its windows are private ones. */
  static async launch(profile: string, isPrivate = false): Promise<Firefox> {
    const executablePath = which('firefox-esr') ?? which('firefox');
    if (executablePath === null)
      throw new Error('Firefox is not there: node scripts/setup.mjs firefox installs it');
    const handle = await puppeteer.launch({
      browser: 'firefox',
      executablePath,
      userDataDir: profile,
      args: ['--remote-allow-system-access'],
      extraPrefsFirefox: { 'browser.privatebrowsing.autostart': isPrivate },
      headless: true,
      timeout: PATIENCE,
      protocolTimeout: PATIENCE,
    });
    const pid = handle.process()?.pid;
    if (pid === undefined) throw new Error('Firefox ended at once');
    const firefox = new Firefox(handle, new Group(pid), await handle.version());
    await leaveWorkersAlone(handle);
    return firefox;
  }

  async open(url: string, size: Size): Promise<Tab> {
    const page = await this.#handle.newPage();
    const tab = new FirefoxTab(page);
    await page.setViewport(size);
    await page.goto(url, { timeout: PATIENCE });
    return tab;
  }

  /** Kills it as a power cut does. */
  kill(): Promise<void> {
    return this.#group.kill();
  }

  async close(): Promise<void> {
    // First asks it to close, so that it removes its temporary files.
    await inTime('closing Firefox', this.#handle.close(), 5000).catch(() => {});
    await this.#group.kill();
  }
}

class FirefoxTab implements Tab {
  readonly messages: string[] = [];
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
    page.on('console', (message) => this.messages.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => this.messages.push(`uncaught: ${String(error)}`));
  }

  async evaluate<A, R>(body: (argument: A) => R | Promise<R>, argument: A): Promise<R> {
    return (await this.#page.evaluate(body as (argument: unknown) => unknown, argument)) as R;
  }

  async press(selector: string): Promise<void> {
    await this.#page.locator(selector).setTimeout(PATIENCE).click();
  }

  async fill(selector: string, text: string): Promise<void> {
    await this.#page.locator(selector).setTimeout(PATIENCE).fill(text);
  }

  async chooseFile(selector: string, file: string): Promise<void> {
    const input = await this.#page.$<'input'>(selector as 'input');
    if (input === null) throw new Error(`there is no ${selector}`);
    await input.uploadFile(file);
  }

  screenshot(): Promise<Uint8Array> {
    return this.#page.screenshot();
  }

  /** May be called again. */
  async close(): Promise<void> {
    if (!this.#page.isClosed()) await inTime('closing a tab', this.#page.close());
  }
}
