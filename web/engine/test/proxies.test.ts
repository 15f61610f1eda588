// What users hold works through proxies: plain ones, and those of Vue.
import { reactive, ref, type UnwrapRef } from '@vue/reactivity';
import { describe, expect, it } from 'vitest';
import { createOpenAIFetch, Engine, type Session } from '../src/index.js';
import { ask, asStream, collect, load } from './chat-setup.js';
import { MODEL, collect as collectWords } from './engine-setup.js';
import { useFakes } from './fake-workers.js';

/** A proxy of everything that it gives. */
function deep<T extends object>(object: T): T {
  return new Proxy(object, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      return typeof value === 'object' && value !== null && !(value instanceof Promise)
        ? deep(value)
        : value;
    },
  });
}

const WAYS: [string, <T extends object>(object: T) => T][] = [
  ['a plain proxy', (object) => new Proxy(object, {})],
  ['a deep proxy', deep],
  ['ref of Vue', (object) => ref(object).value as typeof object],
  ['reactive of Vue', (object) => reactive({ object }).object as typeof object],
];

describe.each(WAYS)('through %s', (_, through) => {
  it('an engine does all that it does', async () => {
    const real = await load();
    const engine = through(real);
    expect(engine).not.toBe(real);
    await engine.ready;
    await engine.arrived;
    expect(engine.info.architecture).toBe('llama');
    expect(engine.stats.kernels).toBe('fake');
    expect(await collectWords(engine.generate('a b', { maxTokens: 2 }))).toBe('a b');
    expect((await engine.complete('a b', { maxTokens: 1 })).text).toBe('a');
    expect(await engine.tokenize('a')).toEqual([97]);
    expect(await engine.detokenize([97])).toBe('a');
    expect(await engine.countTokens('abc')).toBe(3);
    expect((await engine.logits([1])).hash).toMatch(/^[0-9a-f]{16}$/);
    expect(await engine.applyTemplate([{ role: 'user', content: 'a' }])).toContain('!');
    expect(await engine.hiddenStates('a')).toHaveLength(12);
    expect(await engine.pieces([97])).toEqual(['a']);
    expect(await collect(engine.rawLogits([5, 6]))).toHaveLength(1);
    const answer = through(engine.answer({ messages: [{ role: 'user', content: 'a b' }] }));
    expect(await collect(answer)).toHaveLength(2);
    expect((await answer.ending).message.content).toBe('a b');
    const { choices } = await engine.chat.completions.create(ask('a b'));
    expect(choices[0]?.message.content).toBe('a b');
    const completed = await engine.completions.create({ prompt: 'c' });
    expect(completed.choices[0]?.text).toBe('c');
    const fetched = createOpenAIFetch(engine);
    const { status } = await fetched('http://sluice.local/v1/models');
    expect(status).toBe(200);
    await engine.close();
    await expect(engine.tokenize('a')).rejects.toMatchObject({ code: 'closed' });
  });

  it('a session does all that it does', async () => {
    const engine = await load();
    const session: Session = through(engine.session());
    expect(await collectWords(session.generate('a b', { maxTokens: 2 }))).toBe('a b');
    expect(await session.tokens()).toEqual([0, 1]);
    const other = through(session.clone());
    expect(await collectWords(other.resume({ maxTokens: 1 }))).not.toBe('');
    await session.truncate(1);
    expect(session.stats.finish).toBe('length');
    const answered = await engine.chat.completions.create(ask('a b'), { session });
    expect(answered.choices[0]?.message.content).toBe('a b');
    const parts = session.answer({ messages: [{ role: 'user', content: 'c' }] });
    expect(await collect(parts)).toHaveLength(1);
    expect(session.stats.finish).toBe('eos');
    const restored = through(await engine.restore(await session.save()));
    expect((await restored.complete('a', { maxTokens: 1 })).text).toBe('a');
    await session.close();
    await expect(session.tokens()).rejects.toMatchObject({ code: 'closed' });
    await engine.close();
  });

  it('streams can be read, and left', async () => {
    const engine = await load();
    const tokens = through(engine.generate('a b', { maxTokens: 5 }));
    expect((await tokens.next()).value?.text).toBe('a');
    expect(await tokens.return?.()).toEqual({ done: true, value: undefined });
    const chunks = through(await engine.chat.completions.create(asStream('a b')));
    expect((await collect(chunks)).length).toBeGreaterThan(2);
    await engine.close();
  });
});

describe('what is given as a proxy', () => {
  it('is read: a list of sources, and the options of a load', async () => {
    useFakes();
    const given = reactive({ list: [MODEL], load: { headers: { authorization: 'x' } } });
    const engine = await Engine.load(given.list, given.load);
    await engine.ready;
    await engine.close();
  });

  it('is read: messages, ids, options', async () => {
    const engine = await load();
    const given = reactive({
      messages: [{ role: 'user', content: 'a b' }],
      ids: [1, 2],
      options: { maxTokens: 1, stop: ['x'] },
    });
    const { choices } = await engine.chat.completions.create({ messages: given.messages });
    expect(choices[0]?.message.content).toBe('a b');
    expect(await collectWords(engine.generate(given.ids, given.options))).toBe('1');
    expect(await engine.countTokens(given.messages)).toBe(5);
    expect(await engine.detokenize(given.ids)).toHaveLength(2);
    await engine.close();
  });
});

/** The type that Vue gives what is in a ref has the engine's members. */
export type Held = Pick<UnwrapRef<Engine>, 'generate' | 'close' | 'stats'>;
