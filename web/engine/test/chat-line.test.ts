// Requests that wait for their turn, are aborted, or are too many.
import { describe, expect, it, vi } from 'vitest';
import { Engine } from '../src/index.js';
import { asStream, ask, collect, load, posted, until } from './chat-setup.js';
import { MODEL } from './engine-setup.js';
import { FakeWorker } from './fake-workers.js';

describe('a signal', () => {
  it.each([true, false])('ends a request that runs (stream: %s)', async (stream) => {
    const engine = await load({ replyWaits: (i) => i >= 1 && 'weights' });
    const controller = new AbortController();
    const body = { ...ask('a b'), stream, signal: controller.signal };
    const answering = (async () => {
      const answer = await engine.chat.completions.create(body);
      if (Symbol.asyncIterator in answer)
        for await (const { choices } of answer)
          if (choices[0]?.delta.content === 'a') controller.abort();
    })();
    const refused = expect(answering).rejects.toMatchObject({
      name: 'AbortError',
      code: 'aborted',
    });
    if (!stream) {
      await until(() => FakeWorker.control.replies.length === 1);
      controller.abort();
    }
    await refused;
    await until(() => FakeWorker.control.cancels === 1);
    FakeWorker.control.replyWaits = () => false;
    expect((await engine.chat.completions.create(ask('x'))).choices).toHaveLength(1);
  });

  it('ends a request that waits, and no other', async () => {
    let held = true;
    const engine = await load({ replyWaits: () => held });
    const first = engine.chat.completions.create(ask('a'));
    const controller = new AbortController();
    const reason = new Error('enough');
    const body = { ...ask('b'), signal: controller.signal };
    const second = engine.chat.completions.create(body);
    const third = engine.chat.completions.create(ask('c'));
    controller.abort(reason);
    await expect(second).rejects.toBe(reason);
    held = false;
    expect((await first).choices[0]?.message.content).toBe('a');
    expect((await third).choices[0]?.message.content).toBe('c');
    expect(posted()).toHaveLength(2);
    await expect(engine.chat.completions.create(body)).rejects.toBe(reason);
    expect(posted()).toHaveLength(2);
  });

  it('is heard no more after the end', async () => {
    const engine = await load();
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    await engine.chat.completions.create({ ...ask('a'), signal: controller.signal });
    await collect(
      await engine.chat.completions.create({ ...asStream('a'), signal: controller.signal }),
    );
    await vi.waitFor(() => expect(removed).toHaveBeenCalledTimes(2));
    controller.abort();
    expect(FakeWorker.control.cancels).toBe(0);
  });
});

describe('the line', () => {
  it('answers one request at a time, in their order', async () => {
    const engine = await load();
    const texts = Array.from({ length: 10 }, (_, i) => `t${i}`);
    const order: string[] = [];
    const answers = await Promise.all(
      texts.map(async (text, i) => {
        const body = i % 2 === 0 ? ask(text) : asStream(text);
        const answer = await engine.chat.completions.create(body);
        if (!(Symbol.asyncIterator in answer)) {
          order.push(text);
          return answer.choices[0]?.message.content;
        }
        order.push(text);
        let all = '';
        for await (const { choices } of answer) all += choices[0]?.delta.content ?? '';
        return all;
      }),
    );
    expect(answers).toEqual(texts);
    expect(order).toEqual(texts);
  });

  it('takes no more than queueLimit', async () => {
    let held = true;
    const engine = await load({ replyWaits: () => held }, { queueLimit: 1 });
    const first = engine.chat.completions.create(ask('a'));
    const second = engine.completions.create({ prompt: 'b' });
    const busy = {
      code: 'busy',
      message: expect.stringContaining('1 wait, and no more') as string,
    };
    await expect(engine.chat.completions.create(ask('c'))).rejects.toMatchObject(busy);
    await expect(engine.chat.completions.create(asStream('c'))).rejects.toMatchObject(busy);
    held = false;
    expect((await first).choices[0]?.message.content).toBe('a');
    expect((await second).choices[0]?.text).toBe('b');
    expect((await engine.chat.completions.create(ask('d'))).choices).toHaveLength(1);
  });

  it('may be of none', async () => {
    let held = true;
    const engine = await load({ replyWaits: () => held }, { queueLimit: 0 });
    const first = engine.chat.completions.create(ask('a'));
    await expect(engine.chat.completions.create(ask('c'))).rejects.toMatchObject({ code: 'busy' });
    held = false;
    await first;
    await engine.chat.completions.create(ask('c'));
    await expect(Engine.load(MODEL, { queueLimit: -1 })).rejects.toThrow('queueLimit is -1');
  });

  it('does not wait for the sessions of the page', async () => {
    let held = true;
    const engine = await load({ replyWaits: () => held });
    const answer = engine.chat.completions.create(ask('a'));
    const { text, stats } = await engine.complete('b c', { maxTokens: 2 });
    expect(text).toBe('bc');
    held = false;
    expect((await answer).choices[0]?.message.content).toBe('a');
    // Their figures are their own; the engine's are those of the last one.
    expect(stats).toMatchObject({ promptTokens: 2, tokens: 2, reasoningTokens: 0 });
    expect(engine.stats).toMatchObject({ promptTokens: 3, tokens: 1 });
  });

  it('ends with the engine', async () => {
    const engine = await load({ replyWaits: () => 'weights' });
    const first = engine.chat.completions.create(ask('a'));
    const second = engine.chat.completions.create(asStream('b'));
    const stream = engine.completions.create({ prompt: 'c' });
    const ends = [first, second, stream].map((one) =>
      expect(one).rejects.toMatchObject({ code: 'aborted' }),
    );
    await until(() => FakeWorker.control.replies.length === 1);
    await engine.close();
    await Promise.all(ends);
    await expect(engine.chat.completions.create(ask('d'))).rejects.toThrow('this engine is closed');
  });
});
