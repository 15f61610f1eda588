// Sessions that go from the program to a page and back, in every browser.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import type { LoadOptions } from '@sluice/engine';
import type { LibraryWindow } from './library';
import { BUNDLED, SLUICE } from './models';

declare const window: LibraryWindow;

export const PROMPT = 'Once upon a time, there was a little girl named Lily.';
export const TOKENS = 40;
export const OPTIONS = { maxTokens: TOKENS, topLogprobs: 5, ignoreEos: true };

export interface Written {
  id: number;
  text: string;
  logprob: number;
  top?: [number, number][];
}

/** The tokens that the program writes with the session in a file: behind it, or behind a prompt. */
export function program(kvType: string, session: string, ...args: string[]): Written[] {
  return programWith(BUNDLED, kvType, session, ...args);
}

/** The same with another model. */
export function programWith(
  model: string,
  kvType: string,
  session: string,
  ...args: string[]
): Written[] {
  const out = execFileSync(
    SLUICE,
    [
      ...['run', '-m', model, '--json', '-n', String(TOKENS), '--top-logprobs', '5'],
      ...['--ignore-eos', '--kv-type', kvType, '--session', session, ...args],
    ],
    { encoding: 'utf8', input: '' },
  );
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Written & { event: string })
    .filter(({ event }) => event === 'token')
    .map(({ id, text, logprob, top }) => ({ id, text, logprob, ...(top && { top }) }));
}

export function base64(file: string): string {
  return fs.readFileSync(file).toString('base64');
}

/**
 * Runs in the page. Goes on twice behind the session with the bytes `begun`, and saves it in between and at first; then
 * writes a session of its own. All files in base64.
 */
export async function goOn({
  url,
  load,
  begun,
  options,
  prompt,
}: {
  url: string;
  load: LoadOptions;
  begun: string;
  options: typeof OPTIONS;
  prompt: string;
}) {
  const engine = await window.library.Engine.load(url, load);
  const collect = async (tokens: AsyncIterable<Written>): Promise<Written[]> => {
    const all: Written[] = [];
    for await (const token of tokens) all.push(token);
    return all;
  };
  const text = async (file: Blob): Promise<string> =>
    btoa(
      Array.from(new Uint8Array(await file.arrayBuffer()), (c) => String.fromCharCode(c)).join(''),
    );
  const file = Uint8Array.from(atob(begun), (c) => c.charCodeAt(0));
  const session = await engine.restore(new Blob([file]));
  const unchanged = (await text(await session.save())) === begun;
  const first = await collect(session.resume(options));
  const { reusedTokens } = session.stats;
  const saved = await text(await session.save());
  const second = await collect(session.resume(options));
  const own = engine.session();
  await collect(own.generate(prompt, { ...options, seed: 5 }));
  const ours = await text(await own.save());
  const next = await collect(own.resume(options));
  const refused: unknown[] = [];
  for (const change of [1, 20, 3000]) {
    const bad = file.slice();
    bad[change] = (bad[change] ?? 0) ^ 1;
    refused.push(
      await engine.restore(new Blob([bad])).then(
        () => 'restored',
        (error: { code: unknown }) => error.code,
      ),
    );
  }
  await engine.close();
  return { unchanged, written: [first, second], reusedTokens, saved, ours, next, refused };
}
