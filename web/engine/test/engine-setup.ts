// What the tests of Engine share: a served model, fake workers that end with each test, and helpers.
import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { Token } from '../src/index.js';
import { FILE_BYTES, makeFile } from './fake-module.js';
import { FakeWorker, piecesOf, streamOf, stubFetch } from './fake-workers.js';

export const file = makeFile();
export const MODEL = 'https://models.example/m.gguf';

beforeEach(() => {
  stubFetch(
    () =>
      new Response(streamOf(piecesOf(file, 7777)), {
        headers: { 'content-length': String(FILE_BYTES) },
      }),
  );
});

afterEach(() => {
  for (const worker of FakeWorker.all) worker.terminate();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Waits until all workers are ended: they first end their threads. */
export async function allEnded(): Promise<void> {
  const ended = (): void => expect(FakeWorker.all.every((w) => w.terminated)).toBe(true);
  await vi.waitFor(ended, { timeout: 10_000 });
}

export async function collect(tokens: AsyncIterable<Token>): Promise<string> {
  const words: string[] = [];
  for await (const token of tokens) words.push(token.text);
  return words.join(' ');
}
