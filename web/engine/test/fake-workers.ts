// Workers without threads: they run the real workers' code in this process, with real message ports.
import { vi } from 'vitest';
import { EngineHost } from '../src/engine/host.js';
import { loaderHandlers } from '../src/loader/handlers.js';
import type { LoaderCalls, ToEngine, ToLoader } from '../src/shared/calls.js';
import { Replies } from '../src/shared/replies.js';
import { fakeModule, makeControl, type Control } from './fake-module.js';

type Listener = (event: unknown) => void;

export class FakeWorker {
  static all: FakeWorker[] = [];
  static control: Control = makeControl();
  static shared = false;
  /** Buffers that engine workers have transferred. */
  static transferred = 0;
  /** The module is ready when this resolves. */
  static opening = Promise.resolve();

  readonly kind: string;
  /** What the page has posted. */
  readonly heard: (ToEngine | ToLoader)[] = [];
  terminated = false;
  #listeners = new Map<string, Listener[]>();
  #host: EngineHost | null = null;
  readonly #handle: (message: ToEngine | ToLoader) => void;
  #ports: MessagePort[] = [];

  constructor(url: URL) {
    this.kind = /(engine|loader)-worker/.exec(url.href)?.[1] ?? '';
    FakeWorker.all.push(this);
    if (this.kind !== 'engine') {
      const replies = new Replies<LoaderCalls>(loaderHandlers(), (data) =>
        this.emit('message', { data }),
      );
      this.#handle = (message) => replies.handle(message as ToLoader);
      return;
    }
    const { control, shared, opening } = FakeWorker;
    const host = new EngineHost(
      (data, transfer) => {
        FakeWorker.transferred += transfer.length;
        this.emit('message', { data: structuredClone(data, { transfer }) });
      },
      () => opening.then(() => fakeModule(control, shared)),
    );
    this.#host = host;
    this.#handle = (message) => host.handle(message as ToEngine);
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  /** Sends the page an event, unless the worker has ended. */
  emit(type: string, event: unknown): void {
    queueMicrotask(() => {
      if (this.terminated) return;
      for (const listener of this.#listeners.get(type) ?? []) listener(event);
    });
  }

  postMessage(message: ToEngine | ToLoader): void {
    this.heard.push(message);
    if (message.type === 'call') {
      if (message.name === 'open' || message.name === 'read') this.#ports.push(message.args.port);
      if (message.name === 'read') {
        const { source } = message.args;
        if (source.kind === 'url' && source.fetch !== null) this.#ports.push(source.fetch);
      }
    }
    // Its end could not release a lock: so it holds no lifeline.
    const taken = { ...message };
    if (taken.type === 'call') delete taken.lifeline;
    // Memory that isn't shared is copied.
    if (taken.type === 'call' && taken.name === 'open')
      taken.args = { ...taken.args, stops: structuredClone(taken.args.stops) };
    queueMicrotask(() => {
      if (!this.terminated) this.#handle(taken);
    });
  }

  terminate(): void {
    this.terminated = true;
    this.#host?.close();
    for (const port of this.#ports) port.close();
  }
}

/** Replaces the real workers by fakes. vi.unstubAllGlobals() undoes it. */
export function useFakes({
  shared = false,
  control = {},
  opening = Promise.resolve(),
}: {
  shared?: boolean;
  control?: Partial<Control>;
  opening?: Promise<void>;
} = {}): Control {
  FakeWorker.all = [];
  FakeWorker.control = { ...makeControl(), ...control };
  FakeWorker.shared = shared;
  FakeWorker.transferred = 0;
  FakeWorker.opening = opening;
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('crossOriginIsolated', shared);
  return FakeWorker.control;
}

/** A stream of these pieces, one at a time. Then it ends, fails with the given Error, or hangs. */
export function streamOf(
  pieces: Uint8Array[],
  after: 'end' | 'hang' | Error = 'end',
): ReadableStream<Uint8Array> {
  let i = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = pieces[i++];
      if (piece !== undefined) controller.enqueue(piece);
      else if (after === 'end') controller.close();
      else if (after instanceof Error) controller.error(after);
      else return new Promise(() => {});
      return undefined;
    },
  });
}

export function piecesOf(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += size) pieces.push(bytes.slice(at, at + size));
  return pieces;
}

/** A stream that fills the reader's own buffers. */
function isByteStream(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

/** The response, whose body fails when the request is aborted, as a browser's does. */
function endedBy(signal: AbortSignal | undefined, response: Response): Response {
  const { body, status, headers } = response;
  if (signal === undefined || body === null || isByteStream(body)) return response;
  const reader = body.getReader();
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
  });
  ended.catch(() => {});
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await Promise.race([reader.read(), ended]);
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers });
}

/** Answers every fetch. */
export function stubFetch(answer: () => Response | Promise<Response>): void {
  vi.stubGlobal(
    'fetch',
    (url: string, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise<Response>((resolve, reject) => {
        // compileEarly's fetch: there is no wasm here.
        if (url.endsWith('.wasm')) return reject(new TypeError('not served'));
        signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
        Promise.resolve(answer()).then((response) => resolve(endedBy(signal, response)), reject);
      }),
  );
}
