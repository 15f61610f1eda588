// WebKitGTK's MiniBrowser, driven by WebKitWebDriver, on a virtual display.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import type { Readable } from 'node:stream';
import { which } from '../../scripts/lib.mjs';
import { Group, PATIENCE, inTime, type Browser, type Size, type Tab } from './driver';

/** Milliseconds for which an element may not take a press yet. */
const PRESS_MS = 5000;

/** Starts a program in a process group of its own. Returns the process and the group. */
function start(
  name: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
): { child: ChildProcess; group: Group } {
  const program = which(name);
  if (program === null)
    throw new Error(`${name} is not there: node scripts/setup.mjs webkit installs it`);
  const child = spawn(program, args, {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  if (child.pid === undefined) throw new Error(`${program} can't be started`);
  return { child, group: new Group(child.pid) };
}

/** A free port of this machine. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Sends WebDriver commands (https://www.w3.org/TR/webdriver2/) over HTTP. */
class Session {
  /** The window that the driver's commands go to. */
  window = '';

  constructor(readonly url: string) {}

  async send<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const { value } = (await answer.json()) as { value: T & { error?: string; message?: string } };
    if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }
}

export class WebKit implements Browser {
  readonly #groups: Group[];
  readonly #session: Session;

  private constructor(
    groups: Group[],
    session: Session,
    readonly name: string,
  ) {
    this.#groups = groups;
    this.#session = session;
  }

  /**
   * `sharedMemory`: switches on SharedArrayBuffer in isolated pages, which is off by default. `features`: further ones that
   * are, as MiniBrowser's option has them. Its windows are private ones: those that are driven always are.
   */
  static async launch(sharedMemory: boolean, features = ''): Promise<WebKit> {
    const groups: Group[] = [];
    try {
      const display = await startDisplay(groups);
      const port = await freePort();
      const { group } = start('WebKitWebDriver', [`--port=${port}`], {
        DISPLAY: display,
        WAYLAND_DISPLAY: undefined,
        GDK_BACKEND: 'x11',
        // WebKit's sandbox doesn't work for root, the usual user in a container.
        ...(process.getuid?.() === 0 ? { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' } : {}),
        JSC_useSharedArrayBuffer: sharedMemory ? '1' : undefined,
      });
      groups.push(group);
      return await WebKit.#begin(groups, `http://127.0.0.1:${port}`, features);
    } catch (error) {
      await Promise.all(groups.map((group) => group.kill()));
      throw error;
    }
  }

  static async #begin(groups: Group[], url: string, features: string): Promise<WebKit> {
    await answering(url);
    const args = ['--automation', '--javascript-can-open-windows-automatically=true'];
    if (features !== '') args.push(`--features=${features}`);
    // Without a binary named here, the driver starts MiniBrowser.
    const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': { args } } };
    const { sessionId, capabilities: got } = await new Session(url).send<{
      sessionId: string;
      capabilities: { browserVersion: string };
    }>('POST', '/session', { capabilities });
    const session = new Session(`${url}/session/${sessionId}`);
    await session.send('POST', '/timeouts', { script: PATIENCE, pageLoad: PATIENCE });
    return new WebKit(groups, session, `WebKitGTK/${got.browserVersion}`);
  }

  /** Opens a window without bars, which can be as narrow as a phone. */
  async open(url: string, { width, height }: Size): Promise<Tab> {
    const session = this.#session;
    const handles = (): Promise<string[]> => session.send('GET', '/window/handles');
    const before = await handles();
    session.window = '';
    await session.send('POST', '/window', { handle: before[0] });
    const features = `popup,width=${width},height=${height}`;
    const script = `window.open('about:blank', '', '${features}')`;
    await session.send('POST', '/execute/sync', { script, args: [] });
    const opened = (await handles()).find((one) => !before.includes(one));
    if (opened === undefined) throw new Error('WebKit opened no window');
    const tab = new WebKitTab(session, opened);
    await tab.send('POST', '/url', { url });
    return tab;
  }

  async close(): Promise<void> {
    await inTime('closing WebKit', this.#session.send('DELETE', ''), 5000).catch(() => {});
    await Promise.all(this.#groups.map((group) => group.kill()));
  }
}

/** Starts a virtual display. Returns its name. */
async function startDisplay(groups: Group[]): Promise<string> {
  const args = ['-displayfd', '3', '-screen', '0', '1920x1200x24', '-nolisten', 'tcp'];
  const { child, group } = start('Xvfb', args);
  groups.push(group);
  const [number] = (await inTime('starting Xvfb', once(child.stdio[3] as Readable, 'data'))) as [
    Buffer,
  ];
  return `:${number.toString().trim()}`;
}

/** Resolves when the driver accepts commands. */
async function answering(url: string): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE);
  while (!signal.aborted) {
    const answer = await fetch(`${url}/status`, { signal }).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`WebKitWebDriver doesn't answer at ${url}`);
}

class WebKitTab implements Tab {
  /** WebDriver has no command for the console's messages. */
  readonly messages = null;
  #closed = false;

  constructor(
    readonly session: Session,
    readonly handle: string,
  ) {}

  /** Sends a command to this window. */
  async send<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
    const { session, handle } = this;
    if (session.window !== handle) await session.send('POST', '/window', { handle });
    session.window = handle;
    return session.send(method, path, body);
  }

  async evaluate<A, R>(body: (argument: A) => R | Promise<R>, argument: A): Promise<R> {
    const script = `const done = arguments[1];
      (async () => (${body})(arguments[0]))().then(
        (value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value, error } = await this.send<{ value: R; error?: string }>(
      'POST',
      '/execute/async',
      { script, args: [argument] },
    );
    if (error !== undefined) throw new Error(error);
    return value;
  }

  async #element(selector: string): Promise<string> {
    const found = await this.send<Record<string, string>>('POST', '/element', {
      using: 'css selector',
      value: selector,
    });
    return `/element/${Object.values(found)[0]}`;
  }

  /** Presses an element, and waits until it can be: a dialog that has just been closed may still lie over it. */
  async press(selector: string): Promise<void> {
    const until = Date.now() + PRESS_MS;
    for (;;) {
      try {
        await this.send('POST', `${await this.#element(selector)}/click`, {});
        return;
      } catch (error) {
        if (!/not interactable|intercepted/.test(String(error)) || Date.now() > until) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async fill(selector: string, text: string): Promise<void> {
    const element = await this.#element(selector);
    await this.send('POST', `${element}/clear`, {});
    await this.send('POST', `${element}/value`, { text });
  }

  async chooseFile(selector: string, file: string): Promise<void> {
    await this.send('POST', `${await this.#element(selector)}/value`, { text: file });
  }

  async screenshot(): Promise<Uint8Array> {
    return Buffer.from(await this.send<string>('GET', '/screenshot'), 'base64');
  }

  /** May be called again. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.send('DELETE', '/window');
    this.session.window = '';
  }
}
