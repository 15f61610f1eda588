// Answers in sessions, with the real module: the prefix is reused, a clone and a restored session go on as the session itself.
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EngineCalls } from '../src/shared/calls.js';
import { HostRig, endRigs } from './host-rig.js';
import { openCore } from './open-core.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const file = new Uint8Array(
  fs.readFileSync(path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf')),
);
/** The model has none of its own. */
const TEMPLATE = '{% for one in messages %}{{ one.content }} {% endfor %}';
const SESSION = 3;

let rig: HostRig;
let id = 0;

beforeEach(async () => {
  rig = new HostRig(await openCore(false), file, {
    shared: false,
    access: 'rereadable',
    options: { contextSize: 512, threads: 1 },
  });
  await rig.until('ready');
  rig.openSession(SESSION);
});
afterEach(endRigs);

async function result<Name extends keyof EngineCalls>(
  name: Name,
  args: EngineCalls[Name]['args'],
): Promise<EngineCalls[Name]['result']> {
  const number = (id += 1);
  const ends = rig.of('result').length;
  rig.call(number, name, args);
  await rig.until('result', ends + 1);
  const found = rig.of('result').find((one) => one.id === number);
  return found?.value as EngineCalls[Name]['result'];
}

/** Answers in a session; undefined: in one that the worker chooses. */
async function answer(
  session: number | undefined,
  texts: string[],
  more: object = {},
): Promise<{ text: string; reused: number | undefined; prompt: number | undefined }> {
  const number = (id += 1);
  const messages = texts.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));
  const before = rig.of('done').length;
  rig.call(number, 'chat', {
    session,
    prompt: {
      kind: 'chat',
      messages: JSON.stringify(messages),
      kwargs: '',
      chatTemplate: TEMPLATE,
      truncate: false,
      thinking: -1,
    },
    options: JSON.stringify({ maxTokens: 12, ignoreEos: true, seed: 7, ...more }),
    maxTokens: 12,
    thinkingTokens: -1,
    bytes: false,
    progress: false,
    state: null,
  });
  await rig.until('done', before + 1);
  const stats = rig.of('done').find((one) => one.id === number)?.stats;
  return {
    text: rig.texts(number).join(''),
    reused: stats?.reusedTokens,
    prompt: stats?.promptTokens,
  };
}

it('the next turn computes what is new, and its text is that of a session without a past', async () => {
  const first = await answer(SESSION, ['Once upon a time']);
  expect(first).toMatchObject({ reused: 0 });
  const turns = ['Once upon a time', first.text.trim(), 'And then'];
  const second = await answer(SESSION, turns);
  expect(second.reused).toBeGreaterThanOrEqual(first.prompt ?? Infinity);
  expect(second.prompt).toBeGreaterThan(second.reused ?? Infinity);
  const anew = await answer(undefined, turns);
  expect(anew).toEqual({ ...second, reused: 0 });
});

it('a clone goes on as the session does, from the same tokens', async () => {
  const { text } = await answer(SESSION, ['The cat']);
  await result('openSession', { session: 4, from: SESSION });
  const turns = ['The cat', text.trim(), 'She'];
  const [one, other] = [await answer(SESSION, turns), await answer(4, turns)];
  expect(one).toEqual(other);
  expect(one.reused).toBeGreaterThan(3);
  expect(await answer(4, turns, { seed: 8 })).not.toEqual(one);
  expect(await result('tokensOf', { session: SESSION })).not.toEqual([]);
});

it('a session that was saved goes on as it would have', async () => {
  const { text } = await answer(SESSION, ['The cat']);
  const saved = await result('save', { session: SESSION });
  await result('restore', { session: 5, file: saved });
  const turns = ['The cat', text.trim(), 'She'];
  expect(await answer(5, turns)).toEqual(await answer(SESSION, turns));
});
