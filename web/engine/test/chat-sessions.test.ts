// The sessions of chats in the engine worker: which one answers, what is computed again, and what goes.
import { afterEach, describe, expect, it } from 'vitest';
import type { EngineCalls } from '../src/shared/calls.js';
import {
  DROPPED,
  errorAnswer,
  fakeModule,
  makeControl,
  makeFile,
  type Control,
} from './fake-module.js';
import { HostRig, endRigs } from './host-rig.js';

afterEach(endRigs);

interface Message {
  role: string;
  content: string;
}
const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });
const LONG = 'x'.repeat(60);

interface Rig {
  control: Control;
  host: HostRig;
  /** Sends a chat, and waits for its end. */
  chat(messages: Message[], more?: Partial<EngineCalls['chat']['args']>): Promise<void>;
  /** The number of the session that answered last, and what it had of the prompt. */
  last(): { session: number; reused: number };
}

async function rig(given: Partial<Control> = {}): Promise<Rig> {
  const control = { ...makeControl(), contextSize: 1000, ...given };
  const options = { shared: false, access: 'sequential' } as const;
  const host = new HostRig(fakeModule(control, false), makeFile(), options);
  await host.until('ready');
  let id = 0;
  return {
    control,
    host,
    chat: async (messages, more = {}) => {
      id += 1;
      const ended = (): boolean =>
        host.told.some(
          (one) => ['done', 'error'].includes(one.type) && 'id' in one && one.id === id,
        );
      host.call(id, 'chat', {
        options: '{"seed":1}',
        maxTokens: null,
        thinkingTokens: -1,
        bytes: false,
        progress: false,
        state: null,
        prompt: {
          kind: 'chat',
          messages: JSON.stringify(messages),
          kwargs: '',
          chatTemplate: '',
          truncate: false,
          thinking: -1,
        },
        ...more,
      });
      while (!ended()) await new Promise((next) => setImmediate(next));
    },
    last: () => {
      const { session, reused } = control.replies.at(-1) as Control['replies'][number];
      return { session, reused };
    },
  };
}

/** How many characters the fake's prompt has for a chat, and so tokens. */
const lengthOf = (messages: Message[]): number =>
  messages.reduce((sum, { role, content }) => sum + content.length + (role === 'user' ? 2 : 0), 0);

describe('a conversation', () => {
  it('goes on in its session, which computes only what is new', async () => {
    const { chat, last, control } = await rig();
    const messages: Message[] = [];
    for (let turn = 0; turn < 5; ++turn) {
      const before = lengthOf(messages);
      messages.push(user(`question ${turn}`));
      await chat(messages);
      // The fake says what it was asked.
      messages.push(assistant(`question ${turn}`));
      expect(last()).toEqual({ session: 1, reused: before });
    }
    expect(control.sessions).toBe(2);
  });

  it('that is edited leaves the one before to be gone on with', async () => {
    const { chat, last, control } = await rig();
    const first = [user(LONG)];
    const second = [...first, assistant(LONG), user('b')];
    const other = [user(LONG), assistant('other'), user('c')];
    await chat(second);
    await chat(other);
    expect(last()).toEqual({ session: 2, reused: lengthOf(first) });
    await chat([...second, assistant('b'), user('d')]);
    expect(last()).toEqual({ session: 1, reused: lengthOf([...second, assistant('b')]) });
    await chat([...other, assistant('c'), user('d')]);
    expect(last()).toEqual({ session: 2, reused: lengthOf([...other, assistant('c')]) });
    expect(control.sessions).toBe(3);
  });

  it('that loses little has no clone', async () => {
    const { chat, last, control } = await rig();
    await chat([user(LONG), assistant(LONG), user('question')]);
    await chat([user(LONG), assistant(LONG), user('quiz')]);
    expect(last().session).toBe(1);
    expect(control.sessions).toBe(2);
  });

  it('goes on in the session that computes the least, though another shares more', async () => {
    const { chat, last, control } = await rig({ reach: 50, reply: () => [{ text: 'r' }] });
    const first = user(LONG);
    await chat([first, assistant('a'), first, assistant('b'), first]);
    // It can't go on from so far back, so a new one does not begin as its clone.
    await chat([first, assistant('c'), user('d')]);
    expect(last()).toEqual({ session: 2, reused: 0 });
    await chat([first, assistant('a'), user('e')]);
    expect(last()).toEqual({ session: 2, reused: lengthOf([first]) });
    expect(control.sessions).toBe(3);
  });

  it('takes the place of the one that was used least recently', async () => {
    const { chat, last, control } = await rig();
    const chats = ['A', 'B', 'C'].map((name) => [user(name + LONG)]);
    const [a, b, c] = chats as [Message[], Message[], Message[]];
    await chat(a);
    await chat(b);
    const [ofA, ofB] = control.replies.map(({ session }) => session);
    expect(ofA).not.toBe(ofB);
    await chat(a);
    expect(last().session).toBe(ofA);
    await chat(c);
    expect(control.sessions).toBe(3);
    const all = (of: Message[]): number => lengthOf(of) - 1;
    await chat(a);
    expect(last()).toEqual({ session: ofA, reused: all(a) });
    // It had to go; all prompts of the fake begin alike.
    await chat(b);
    expect(last().reused).toBe(1);
    expect(control.sessions).toBe(3);
  });

  it('has the only session where there is no memory for two', async () => {
    const { chat, last, control } = await rig({
      memory: { budget: 500, total: 490, kv: 5, session: 20 },
    });
    await chat([user(`A${LONG}`)]);
    await chat([user(`B${LONG}`)]);
    expect(last()).toEqual({ session: 1, reused: 1 });
    expect(control.sessions).toBe(2);
  });
});

describe('without memory', () => {
  /** Has a second session that fails at token number `at`, until the first one is gone. */
  async function failing(at: number): Promise<Rig> {
    const control: Partial<Control> = {};
    const made = await rig(control);
    made.control.replyFails = (i, session) =>
      i === at && session === 2 && made.control.sessions > 2
        ? errorAnswer('out_of_memory', 'there is none')
        : null;
    await made.chat([user(`A${LONG}`)]);
    return made;
  }

  it.each([0, 2])('the other session is freed, and the answer is whole (token %i)', async (at) => {
    const { chat, host, control } = await failing(at);
    await chat([user('one two three four')]);
    expect(host.texts(2).join('')).toBe('one two three four');
    expect(control.sessions).toBe(2);
    expect(control.replies).toHaveLength(3);
    expect(host.of('error')).toEqual([]);
  });

  it('it fails if that does not help, and the next request is answered', async () => {
    const { chat, host, control } = await failing(1);
    control.replyFails = (i) => (i === 1 ? errorAnswer('out_of_memory', 'there is none') : null);
    await chat([user('one two')]);
    expect(host.of('error').map(({ error }) => error.code)).toEqual(['out_of_memory']);
    expect(host.texts(2)).toEqual(['one']);
    control.replyFails = () => null;
    await chat([user('three')]);
    expect(host.texts(3)).toEqual(['three']);
  });
});

describe('a request', () => {
  it('says what its prompt is before its tokens', async () => {
    const { chat, host, control } = await rig({ dropped: 3 });
    await chat([user('a')], {
      maxTokens: 10,
      thinkingTokens: 5,
      prompt: {
        kind: 'chat',
        messages: JSON.stringify([user('a')]),
        kwargs: '{"b":1}',
        chatTemplate: 'c',
        truncate: true,
        thinking: 0,
      },
    });
    const types = host.told.filter((one) => 'id' in one).map(({ type }) => type);
    expect(types).toEqual(['begun', 'tokens', 'done']);
    expect(host.of('begun')[0]).toEqual({
      type: 'begun',
      id: 1,
      promptTokens: 3,
      dropped: 3,
      reasoning: true,
      warnings: [DROPPED],
    });
    const [asked] = control.asked;
    expect(asked?.slice(2, 6)).toEqual(['{"b":1}', 'c', 990, 0]);
    expect(control.replies[0]?.thinkingTokens).toBe(5);
  });

  it('is refused while another one is answered, and leaves nothing behind if it is wrong', async () => {
    const { chat, host, control } = await rig({ replyWaits: () => 'weights' });
    const first = chat([user('a')]);
    await chat([user('b')]);
    expect(host.of('error')[0]?.error.code).toBe('busy');
    host.cancel(1);
    await first;
    control.replyWaits = () => false;
    await chat([user('wrong')]);
    await chat([user('x'.repeat(2000))]);
    expect(host.of('error').map(({ error }) => error.code)).toEqual([
      ...['busy', 'invalid_argument', 'context_full'],
    ]);
    await chat([user('c')]);
    expect(host.texts(5)).toEqual(['c']);
    expect(control.prompts).toBe(1);
    host.close();
    expect([control.prompts, control.sessions]).toEqual([0, 0]);
  });

  it('has the bytes of its tokens if they are wanted', async () => {
    const { chat, host } = await rig();
    await chat([user('é')], { bytes: true, options: '{"topLogprobs":1}' });
    expect(host.of('tokens')[0]?.tokens).toMatchObject([
      { text: 'é', bytes: [0xc3, 0xa9], topBytes: [[0xc3, 0xa9]] },
    ]);
    await chat([user('é')]);
    expect(host.of('tokens')[1]?.tokens[0]).not.toHaveProperty('bytes');
  });
});
