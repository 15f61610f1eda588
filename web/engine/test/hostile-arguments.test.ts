// Every call, with arguments that throw when anything of them is read: each says that it can't be read, and none hangs.
import { beforeEach, describe, expect, it } from 'vitest';
import {
  Engine,
  cache,
  configure,
  foldParts,
  fromErrorData,
  states,
  type Session,
} from '../src/index.js';
import { ask, load } from './chat-setup.js';
import { MODEL } from './engine-setup.js';

let engine: Engine;
let session: Session;
beforeEach(async () => {
  engine = await load();
  session = engine.session();
});

/** What has no type, so that it fits everywhere. */
type Bad = never;

function revoked(): Bad {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy as Bad;
}

function angry(): Bad {
  const fail = (): never => {
    throw new Error('not to be read');
  };
  return new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail }) as Bad;
}

/** What a token was chosen from. */
const RAW = {
  logSum: 1,
  entropy: 1,
  draws: 0,
  ids: Int32Array.of(1),
  logits: Float32Array.of(1),
};

const CALLS: [string, (bad: Bad) => unknown][] = [
  ['load', (bad) => Engine.load(bad)],
  ['load of a list', (bad) => Engine.load([bad])],
  ['load, options', (bad) => Engine.load(MODEL, bad)],
  ['load, signal', (bad) => Engine.load(MODEL, { signal: bad })],
  ['probe', (bad) => Engine.probe(bad)],
  ['measure', (bad) => Engine.measure(bad)],
  ['generate', (bad) => engine.generate(bad).next()],
  ['generate, options', (bad) => engine.generate('a', bad).next()],
  ['complete', (bad) => engine.complete(bad)],
  ['chat', (bad) => engine.chat.completions.create(bad)],
  ['chat, options', (bad) => engine.chat.completions.create(ask('a'), bad)],
  ['chat, a signal there', (bad) => engine.chat.completions.create(ask('a'), { signal: bad })],
  ['chat, messages', (bad) => engine.chat.completions.create({ messages: bad })],
  ['chat, a message', (bad) => engine.chat.completions.create({ messages: [bad] })],
  ['chat, stop', (bad) => engine.chat.completions.create(ask('a', { stop: bad }))],
  ['chat, state', (bad) => engine.chat.completions.create(ask('a', { state: bad }))],
  ['chat, a session there', (bad) => engine.chat.completions.create(ask('a'), { session: bad })],
  ['answer', (bad) => engine.answer(bad).next()],
  ['answer, messages', (bad) => engine.answer({ messages: bad }).next()],
  ['answer, a message', (bad) => engine.answer({ messages: [bad] }).next()],
  ['answer, kwargs', (bad) => engine.answer({ messages: [{ role: 'user' }], kwargs: bad }).next()],
  ['answer, stop', (bad) => engine.answer({ messages: [{ role: 'user' }], stop: bad }).next()],
  ['answer, in a session', (bad) => session.answer(bad).next()],
  ['foldParts', (bad) => foldParts(bad)],
  ['completions', (bad) => engine.completions.create({ prompt: bad })],
  ['completions, a list', (bad) => engine.completions.create({ prompt: [bad] })],
  ['tokenize', (bad) => engine.tokenize(bad)],
  ['detokenize', (bad) => engine.detokenize(bad)],
  ['detokenize, an id', (bad) => engine.detokenize([bad])],
  ['countTokens', (bad) => engine.countTokens(bad)],
  ['countTokens, a message', (bad) => engine.countTokens([bad])],
  ['countTokens, options', (bad) => engine.countTokens('a', bad)],
  ['applyTemplate', (bad) => engine.applyTemplate(bad)],
  ['logits', (bad) => engine.logits(bad)],
  ['embed', (bad) => engine.embed(bad)],
  ['embed, a text', (bad) => engine.embed([bad])],
  ['embed, options', (bad) => engine.embed('a', bad)],
  ['similar', (bad) => engine.similar(bad, ['a'])],
  ['similar, texts', (bad) => engine.similar('a', bad)],
  ['similar, a vector', (bad) => engine.similar('a', [new Float32Array(4), bad])],
  ['fillMask', (bad) => engine.fillMask(bad)],
  ['choice', (bad) => engine.choice(bad, [])],
  ['choice, ids', (bad) => engine.choice({ ...RAW, ids: bad }, [])],
  ['choice, before', (bad) => engine.choice(RAW, bad)],
  ['choice, options', (bad) => engine.choice(RAW, [], bad)],
  ['choiceAt', (bad) => engine.choiceAt(bad)],
  ['choiceAt, stop', (bad) => engine.choiceAt([1], { stop: bad })],
  ['rawLogits', (bad) => engine.rawLogits(bad).next()],
  ['rawLogits, options', (bad) => engine.rawLogits([1], bad).next()],
  ['lens', (bad) => engine.lens(bad)],
  ['lens, layers', (bad) => engine.lens([1], { layers: bad })],
  ['lens, a position', (bad) => engine.lens([1], { positions: [bad] })],
  ['attention', (bad) => engine.attention(bad)],
  ['attention, position', (bad) => engine.attention([1], { position: bad })],
  ['hiddenStates', (bad) => engine.hiddenStates(bad)],
  ['hiddenStates, a prompt', (bad) => engine.hiddenStates(['a', bad])],
  ['hiddenStates, options', (bad) => engine.hiddenStates('a', bad)],
  ['pieces', (bad) => engine.pieces(bad)],
  ['embeddings', (bad) => engine.embeddings.create(bad)],
  ['embeddings, input', (bad) => engine.embeddings.create({ input: bad })],
  ['embeddings, an input', (bad) => engine.embeddings.create({ input: [bad] })],
  ['session', (bad) => engine.session(bad)],
  ['session, prefix', (bad) => engine.session({ prefix: bad })],
  ['restore', (bad) => engine.restore(bad)],
  ['truncate', (bad) => session.truncate(bad)],
  ['save', (bad) => session.save(bad)],
  ['resume', (bad) => session.resume(bad).next()],
  ['cache.has', (bad) => cache.has(bad)],
  ['cache.has, options', (bad) => cache.has(MODEL, bad)],
  ['cache.verify', (bad) => cache.verify(bad)],
  ['cache.pin', (bad) => cache.pin(bad)],
  ['cache.pin, pinned', (bad) => cache.pin(MODEL, bad)],
  ['cache.room', (bad) => cache.room(bad)],
  ['states.delete', (bad) => states.delete(bad)],
  ['states.limit', (bad) => states.limit(bad)],
  ['configure', (bad) => configure(bad)],
  ['configure, baseUrl', (bad) => configure({ baseUrl: bad })],
  ['fromErrorData', (bad) => fromErrorData(bad)],
];

describe.each([
  ['a revoked proxy', revoked],
  ['an object that throws', angry],
])('%s', (_, bad) => {
  it.each(CALLS)('is refused by %s', async (_call, call) => {
    await expect((async () => call(bad()))()).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
