// Chats in each flavour: a prompt by a template, its reply with reasoning apart, and tokens that are used again.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { BUNDLED, events, load, NODE_FLAVOURS, open_module, parse } from './module.mjs';

const TEMPLATE =
  "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:{{ '<think>' if enable_thinking else '' }}{# </think> #}";
const OPTIONS = JSON.stringify({ temperature: 0, maxTokens: 24 });
const text_of = (list, reasoning) =>
  list
    .filter((one) => one.event === 'token' && (one.reasoning === true) === reasoning)
    .map(({ text }) => text)
    .join('');

/** Opens a chat's prompt; `about`: what is said of it. */
function open_chat(opened, engine, messages, { most = 0, thinking = -1 } = {}) {
  const prompt = new opened.module.Prompt(engine);
  const json = JSON.stringify(messages);
  try {
    const about = parse(prompt.openChat(json, '', TEMPLATE, most, thinking, 0, 0));
    return { prompt, about };
  } catch (error) {
    prompt.delete();
    throw error;
  }
}

for (const flavour of NODE_FLAVOURS) {
  test(`${flavour}: replies to a chat, with its tokens used again`, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED));
    const messages = [{ role: 'user', content: 'Tell me of a little dog.' }];
    const first = open_chat(opened, engine, messages);
    assert.equal(first.about.template, 'given');
    assert.equal(first.about.reasoning, true);
    assert.equal(first.prompt.reusable(engine.session), 0);
    parse(engine.session.startReply(first.prompt, OPTIONS, -1));
    const said = events(engine.session);
    const answer = text_of(said, false);
    assert.notEqual(answer, '');
    assert.equal(text_of(said, true), '');

    // The next turn has all of it but what was not computed. A session without it has nothing.
    messages.push(
      { role: 'assistant', content: answer.replace(/^ /, '') },
      { role: 'user', content: 'Go on.' },
    );
    const second = open_chat(opened, engine, messages);
    assert.ok(second.prompt.reusable(engine.session) >= first.about.tokens - 2);
    const other = new opened.module.Session(engine);
    assert.equal(second.prompt.reusable(other), 0);
    parse(other.startReply(second.prompt, OPTIONS, -1));
    parse(engine.session.startReply(second.prompt, OPTIONS, -1));
    assert.deepEqual(
      events(engine.session).filter(({ event }) => event === 'token'),
      events(other).filter(({ event }) => event === 'token'),
    );
    assert.ok(JSON.parse(engine.session.stats()).reusedTokens > 0);
    assert.equal(JSON.parse(other.stats()).reusedTokens, 0);
    for (const handle of [first.prompt, second.prompt, other]) handle.delete();
    engine.delete();
  });

  test(`${flavour}: reasoning is apart and ends after its tokens`, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED));
    const { prompt } = open_chat(opened, engine, [{ role: 'user', content: 'Hi' }], {
      thinking: 1,
    });
    parse(engine.session.startReply(prompt, OPTIONS, 6));
    const said = events(engine.session);
    assert.notEqual(text_of(said, true), '');
    assert.notEqual(text_of(said, false), '');
    assert.ok(!text_of(said, false).includes('</think>'));
    assert.ok(said.at(-1).stats.reasoningTokens >= 6);
    parse(engine.session.startReply(prompt, OPTIONS, 0));
    assert.equal(text_of(events(engine.session), true), '');
    prompt.delete();
    engine.delete();
  });

  test(`${flavour}: the oldest turns are dropped, and what can't fit is refused`, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED));
    const messages = Array.from({ length: 21 }, (_, i) => ({
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: 'One day a dog ran.',
    }));
    const whole = open_chat(opened, engine, messages);
    assert.equal(whole.about.dropped, 0);
    const fitted = open_chat(opened, engine, messages, {
      most: Math.floor(whole.about.tokens / 2),
    });
    assert.ok(fitted.about.tokens <= whole.about.tokens / 2);
    assert.ok(fitted.about.dropped > 0 && fitted.about.dropped % 2 === 0);
    assert.throws(() => open_chat(opened, engine, messages, { most: 3 }), { code: 'context_full' });
    assert.throws(() => open_chat(opened, engine, 'Hi'), { code: 'invalid_argument' });
    for (const { prompt } of [whole, fitted]) prompt.delete();
    engine.delete();
  });

  test(`${flavour}: texts and ids are prompts as well, and tokens have bytes`, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED));
    const text = new opened.module.Prompt(engine);
    const { tokens } = parse(text.openText('Once upon a time'));
    parse(engine.session.startReply(text, OPTIONS, -1));
    const ids = events(engine.session).flatMap((one) => (one.event === 'token' ? [one.id] : []));
    const written = new opened.module.Prompt(engine);
    assert.equal(
      parse(written.openIds([...engine.session.tokens()])).tokens,
      tokens + ids.length - 1,
    );
    // All but the last token, which is always computed.
    assert.equal(written.reusable(engine.session), tokens + ids.length - 2);
    assert.equal(written.sharedWritten([...engine.session.tokens()]), tokens + ids.length - 1);
    const bytes = parse(engine.tokenBytes(ids)).flat();
    assert.equal(
      Buffer.from(bytes).toString(),
      engine.detokenize([0, ...ids]).slice(engine.detokenize([0]).length),
    );
    for (const prompt of [text, written]) prompt.delete();
    engine.delete();
  });
}
