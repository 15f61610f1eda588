// An engine worker in this thread, whose loader and page the test plays.
import { expect, vi } from 'vitest';
import { EngineHost } from '../src/engine/host.js';
import type { OpenModule } from '../src/engine/module.js';
import type {
  EngineCalls,
  EngineNews,
  FromEngine,
  RunEnd,
  RunItem,
  ToEngine,
} from '../src/shared/calls.js';
import type { ErrorData } from '../src/shared/errors.js';
import type { Access, CoreStats, EngineToLoader, LoaderToEngine } from '../src/shared/protocol.js';
import { makeStops } from '../src/shared/stops.js';
import type { Finish } from '../src/shared/types.js';

export type Want = EngineToLoader & { type: 'want' };

const FILES = { flavour: 'simd', glue: '', wasm: '', thread: '', analysis: '' } as const;
const rigs: HostRig[] = [];

/** The id of the call that opened the model. */
const OPEN = 0;

type Named<Item> = Item extends { kind: infer Kind } ? Omit<Item, 'kind'> & { type: Kind } : never;

/** What the page is told, by what it is: an item's kind, or how a call has ended. */
export type Told =
  | (Named<EngineNews> & { stats?: CoreStats })
  | (Named<RunItem> & { id: number; stats?: CoreStats })
  | { type: 'done'; id: number; finish: Finish; stats?: CoreStats }
  | { type: 'result'; id: number; value: unknown; stats?: CoreStats }
  | { type: 'error'; id: number; error: ErrorData }
  /** The engine has failed. */
  | { type: 'failed'; error: ErrorData }
  | { type: 'closed' };

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
  readonly told: Told[] = [];
  readonly asked: EngineToLoader[] = [];
  /** The wants that are withheld; null: none are. */
  withheld: Want[] | null = null;
  readonly stops = makeStops();
  readonly #host: EngineHost;
  readonly #names = new Map<number, keyof EngineCalls>();
  readonly #channel = new MessageChannel();

  constructor(
    readonly opened: OpenModule,
    readonly file: Uint8Array<ArrayBuffer>,
    { shared, access, options = {}, weights = false, probe = false, unproven = false }: RigOptions,
  ) {
    rigs.push(this);
    this.#host = new EngineHost(
      (message) => this.told.push(...this.#toldBy(structuredClone(message))),
      async () => opened,
    );
    const { port1, port2 } = this.#channel;
    port2.onmessage = ({ data }: MessageEvent<EngineToLoader>) => {
      this.asked.push(data);
      if (data.type !== 'want') return;
      if (this.withheld === null) this.answer(data);
      else this.withheld.push(data);
    };
    this.call(OPEN, 'open', {
      probe,
      files: FILES,
      threads: 1,
      options: JSON.stringify(options),
      port: port1,
      direct: shared,
      weights,
      stops: this.stops,
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

  #toldBy(message: FromEngine): Told[] {
    if (message.type === 'alive') return [];
    const { id } = message;
    const of = id === OPEN ? {} : { id };
    if (message.type === 'error') {
      const { error } = message;
      return [id === OPEN ? { type: 'failed', error } : { type: 'error', id, error }];
    }
    const stats = message.stats === undefined ? {} : { stats: message.stats };
    if (message.type === 'stream') {
      const { kind, ...item } = message.item as EngineNews | RunItem;
      return [{ type: kind, ...of, ...item, ...stats } as Told];
    }
    const name = this.#names.get(id);
    if (name === 'close') return [{ type: 'closed' }];
    if (name !== 'generate' && name !== 'resume' && name !== 'chat')
      return [{ type: 'result', id, value: message.value, ...stats }];
    return [{ type: 'done', id, ...(message.value as RunEnd), ...stats }];
  }

  /** A call of the page. */
  call<Name extends keyof EngineCalls>(
    id: number,
    name: Name,
    args: EngineCalls[Name]['args'],
  ): void {
    this.#names.set(id, name);
    // As a message that any call can be.
    this.#host.handle({ type: 'call', id, name, args } as ToEngine);
  }

  cancel(id: number): void {
    this.#host.handle({ type: 'cancel', id });
  }

  close(): void {
    this.call(-1, 'close', null);
  }

  openSession(session: number): void {
    this.call(1000 + session, 'openSession', { session, from: null });
  }

  generate(session: number, id: number, maxTokens: number, prompt = 'one two'): void {
    const options = JSON.stringify({ maxTokens, temperature: 0, ignoreEos: true });
    this.call(id, 'generate', { session, prompt, options, progress: true });
  }

  of<T extends Told['type']>(type: T): (Told & { type: T })[] {
    return this.told.filter((one): one is Told & { type: T } => one.type === type);
  }

  async until(type: Told['type'], count = 1): Promise<void> {
    await vi.waitFor(() => expect(this.of(type).length).toBeGreaterThanOrEqual(count), 50_000);
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
