// Calls after close(), of an engine and of a session, and counts that there aren't: all have their code.
import { expect, it } from 'vitest';
import { Engine, SluiceError, type Session } from '../src/index.js';
import { ask, asStream, load } from './chat-setup.js';
import { MODEL } from './engine-setup.js';
import { useFakes } from './fake-workers.js';

const user = [{ role: 'user', content: 'a' }];

const OF_ENGINE: [string, (engine: Engine) => unknown][] = [
  ['generate', (engine) => engine.generate('a').next()],
  ['complete', (engine) => engine.complete('a')],
  ['chat', (engine) => engine.chat.completions.create(ask('a'))],
  ['chat, streamed', (engine) => engine.chat.completions.create(asStream('a'))],
  ['completions', (engine) => engine.completions.create({ prompt: 'a' })],
  ['tokenize', (engine) => engine.tokenize('a')],
  ['detokenize', (engine) => engine.detokenize([1])],
  ['countTokens of a text', (engine) => engine.countTokens('a')],
  ['countTokens of ids', (engine) => engine.countTokens([1])],
  ['countTokens of messages', (engine) => engine.countTokens(user)],
  ['applyTemplate', (engine) => engine.applyTemplate(user)],
  ['logits', (engine) => engine.logits([1])],
  ['session', (engine) => engine.session()],
  ['session with a prefix', (engine) => engine.session({ prefix: new Blob(['x']) })],
  ['restore', (engine) => engine.restore(new Blob(['x']))],
];

const OF_SESSION: [string, (session: Session) => unknown][] = [
  ['generate', (session) => session.generate('a').next()],
  ['resume', (session) => session.resume().next()],
  ['complete', (session) => session.complete('a')],
  ['clone', (session) => session.clone()],
  ['truncate', (session) => session.truncate(0)],
  ['tokens', (session) => session.tokens()],
  ['save', (session) => session.save()],
];

/** What a call throws, or rejects with. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

async function codeOf(call: () => unknown): Promise<unknown> {
  const error = await errorOf(call);
  return error instanceof SluiceError ? error.code : 'none';
}

it.each(OF_ENGINE)('engine: %s', async (_, call) => {
  const engine = await load();
  await engine.close();
  expect(await codeOf(() => call(engine))).toBe('closed');
  await engine.close();
});

it.each(OF_SESSION)('session: %s', async (_, call) => {
  const engine = await load();
  const session = engine.session();
  await session.close();
  expect(await codeOf(() => call(session))).toBe('closed');
  await session.close();
  const other = engine.session();
  await engine.close();
  expect(await codeOf(() => call(other))).toBe('closed');
});

it('what runs when an engine is closed was aborted, and its load, too', async () => {
  useFakes();
  const engine = await Engine.load(MODEL);
  const aborted = { name: 'AbortError', code: 'aborted' };
  const counting = expect(engine.countTokens('endless')).rejects.toMatchObject(aborted);
  const arriving = expect(engine.ready).rejects.toMatchObject(aborted);
  await engine.close();
  await counting;
  await arriving;
});

it('an engine whose load was aborted is closed', async () => {
  useFakes();
  const controller = new AbortController();
  const engine = await Engine.load(MODEL, { signal: controller.signal });
  controller.abort(new Error('enough'));
  expect(await codeOf(() => engine.tokenize('a'))).toBe('closed');
  await engine.close();
  expect(await codeOf(() => engine.tokenize('a'))).toBe('closed');
});

it('a session keeps no more tokens than it has, and a text has no unknown ids', async () => {
  const engine = await load();
  const session = engine.session();
  await session.complete('a b', { maxTokens: 2 });
  for (const [call, message] of [
    [() => session.truncate(9999), 'length is 9999; the session has 2 tokens: give a whole number'],
    [() => session.truncate(3), 'length is 3; the session has 2 tokens'],
    [() => session.truncate(-1), 'length is -1; give a whole number from 0 on'],
    [
      () => engine.detokenize([97, 1e9]),
      'token 1000000000 is not in the vocabulary, whose ids are 0',
    ],
    [() => engine.countTokens([1e9]), 'token 1000000000 is not in the vocabulary'],
    [() => engine.generate('a', { maxTokens: -2 }).next(), 'maxTokens is -2; give a whole number'],
    [() => engine.chat.completions.create(ask('a', { max_tokens: -1 })), 'max_tokens is -1; give'],
    [
      () => engine.chat.completions.create(ask('a', { max_completion_tokens: -1 })),
      'max_completion_tokens is -1; give a whole number from 0',
    ],
    [
      () => engine.completions.create({ prompt: 'a', max_tokens: -1 }),
      'max_tokens is -1; give a whole number from 0',
    ],
  ] as const) {
    expect(await errorOf(call)).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    });
  }
  expect(await session.tokens()).toHaveLength(2);
  await session.truncate(2);
  await session.truncate(0);
  expect(await session.tokens()).toEqual([]);
  await engine.close();
});
