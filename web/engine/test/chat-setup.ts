// What the tests of chats share: an engine with fakes, bodies of requests, and helpers.
import {
  Engine,
  type ChatCompletionStreamRequest,
  type ChatCompletionRequest,
  type ChatCompletionWholeRequest,
} from '../src/index.js';
import type { EngineCalls } from '../src/shared/calls.js';
import { MODEL } from './engine-setup.js';
import type { Control } from './fake-module.js';
import { FakeWorker, useFakes } from './fake-workers.js';

export const user = (content: string): { role: string; content: string } => ({
  role: 'user',
  content,
});
export const ask = (
  content: string,
  more: Omit<ChatCompletionRequest, 'messages' | 'stream'> = {},
): ChatCompletionWholeRequest => ({
  messages: [user(content)],
  ...more,
});
export const asStream = (content: string, more: object = {}): ChatCompletionStreamRequest => ({
  messages: [user(content)],
  stream: true,
  ...more,
});

export async function load(control: Partial<Control> = {}, options: object = {}): Promise<Engine> {
  useFakes({ control });
  const engine = await Engine.load(MODEL, options);
  await engine.ready;
  return engine;
}

export async function collect<T>(chunks: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

/** Waits without timers: while a fake works without an end, these come late. */
export async function until(is: () => boolean): Promise<void> {
  while (!is()) await new Promise((next) => setImmediate(next));
}

/** The requests that the worker got. */
export function posted(): EngineCalls['chat']['args'][] {
  return FakeWorker.all
    .flatMap(({ heard }) => heard)
    .flatMap((one) => (one.type === 'call' && one.name === 'chat' ? [one.args] : []));
}
