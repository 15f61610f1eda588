// An engine worker in this thread, whose loader and page the test plays.
import { expect, vi } from 'vitest';
import { EngineHost } from '../src/host.js';
import type { OpenModule } from '../src/module.js';
import type {
  Access,
  EngineToLoader,
  FromEngine,
  LoaderToEngine,
  ToEngine,
} from '../src/protocol.js';

export type Want = EngineToLoader & { type: 'want' };

const FILES = { flavour: 'simd', glue: '', wasm: '', thread: '' } as const;
const rigs: HostRig[] = [];

/** Ends the workers of a test. */
export function endRigs(): void {
  for (const one of rigs.splice(0)) one.end();
}

export interface RigOptions {
  /** The loader writes into the memory, which must be shared or belong to this thread. */
  shared: boolean;
  access: Access;
  options?: object;
  weights?: boolean;
  probe?: boolean;
  unproven?: boolean;
}

/** The loader brings what is wanted, unless it withholds it. */
export class HostRig {
  /** What the page and the loader got. */
  readonly told: FromEngine[] = [];
  readonly asked: EngineToLoader[] = [];
  /** The wants that are withheld; null: none are. */
  withheld: Want[] | null = null;
  readonly #host: EngineHost;
  readonly #channel = new MessageChannel();

  constructor(
    readonly opened: OpenModule,
    readonly file: Uint8Array<ArrayBuffer>,
    { shared, access, options = {}, weights = false, probe = false, unproven = false }: RigOptions,
  ) {
    rigs.push(this);
    this.#host = new EngineHost(
      (message) => this.told.push(structuredClone(message)),
      async () => opened,
    );
    const { port1, port2 } = this.#channel;
    port2.onmessage = ({ data }: MessageEvent<EngineToLoader>) => {
      this.asked.push(data);
      if (data.type !== 'want') return;
      if (this.withheld === null) this.answer(data);
      else this.withheld.push(data);
    };
    this.#host.handle({
      type: 'open',
      probe,
      files: FILES,
      threads: 1,
      options: JSON.stringify(options),
      lifeline: '',
      port: port1,
      direct: shared,
      weights,
    });
    const sizes = [file.length];
    this.say({ type: 'opened', sizes, exact: true, network: false, access, unproven });
  }

  /** A message of the loader. */
  say(message: LoaderToEngine): void {
    this.#channel.port2.postMessage(message);
  }

  /** Brings what is wanted. */
  answer({ wants, rows, memory }: Want): void {
    for (let i = 0; i < wants.length; i += 3) {
      const [offset = 0, ptr = 0, length = 0] = wants.subarray(i, i + 3);
      this.give(offset, ptr, length, rows, memory !== null);
    }
  }

  /** Brings these bytes: to their place, or in a message. */
  give(offset: number, ptr: number, length: number, rows: boolean, direct: boolean): void {
    const bytes = this.file.slice(offset, offset + length);
    if (!direct) return this.say({ type: 'bytes', offset, bytes, rows, packed: false });
    new Uint8Array(this.opened.memory.buffer, ptr, bytes.length).set(bytes);
    this.say({ type: 'filled', offset, length: bytes.length, rows, packed: false });
  }

  /** A message of the page. */
  post(message: ToEngine): void {
    this.#host.handle(message);
  }

  generate(session: number, id: number, maxTokens: number, prompt = 'one two'): void {
    const options = JSON.stringify({ maxTokens, temperature: 0, ignoreEos: true });
    this.post({ type: 'generate', session, id, prompt, options, progress: true });
  }

  of<T extends FromEngine['type']>(type: T): (FromEngine & { type: T })[] {
    return this.told.filter((one): one is FromEngine & { type: T } => one.type === type);
  }

  async until(type: FromEngine['type'], count = 1): Promise<void> {
    await vi.waitFor(() => expect(this.of(type).length).toBeGreaterThanOrEqual(count), 20_000);
  }

  texts(id: number): string[] {
    return this.of('tokens')
      .filter((one) => one.id === id)
      .flatMap(({ tokens }) => tokens.map(({ text }) => text));
  }

  end(): void {
    this.#host.close();
    this.#channel.port1.close();
    this.#channel.port2.close();
  }
}
