// Chats: models that follow a script, whose answers other tests rely on, and the text that templates write.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  BUNDLED,
  Engine,
  NO_PROGRAM,
  ROOT,
  beside,
  foldParts,
  scriptedModel,
  temporaryFolder,
} from './helpers.mjs';

/** Many pieces occur several times, also of one byte; the third is long. */
const SCRIPTS = [
  'the the the the, **the**! A first script, the default.',
  '# Title\n\n```js\nalert("<img src=x onerror=alert(1)>");\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
  Array.from({ length: 150 }, (_, i) => `${i}. Item ${i % 7}: grün 日本 🎉 e\u0301\n`).join(''),
  '<think>\nLet me think, and think.\n\nYes.\n</think>\n\nThe answer is **42**.',
  'x'.repeat(1000),
  '',
  '\n  <|im_end|> <|end|> [EOT] _<EOT> </s> <|script-1|> \u202eabc\u0000 </think>\r\n\t ',
];
const ANSWER = 'The answer is **42**.';
const THOUGHT = 'Let me think, and think.\n\nYes.';

const load = async (thinking) =>
  Engine.load(await scriptedModel({ name: 'Scripted', scripts: SCRIPTS, thinking }), {
    contextSize: 8192,
    threads: 1,
  });

for (const thinking of [false, true]) {
  test(`answers are the scripts${thinking ? ', with reasoning apart' : ''}`, async () => {
    const engine = await load(thinking);
    const expected = (i) =>
      thinking && i === 3
        ? { content: ANSWER, reasoning: THOUGHT }
        : { content: SCRIPTS[i], reasoning: '' };
    // The last one has no number.
    const said = [...SCRIPTS.map((_, i) => [`Grüße, number ${i}`, i]), ['Hello', 0]];
    for (const [content, i] of said) {
      const messages = [{ role: 'user', content }];
      const { choices } = await engine.chat.completions.create({ messages, temperature: 0 });
      const [{ message, finish_reason }] = choices;
      const whole = { content: message.content, reasoning: message.reasoning_content ?? '' };
      assert.deepEqual(whole, expected(i));
      assert.equal(finish_reason, 'stop');
      const streamed = { content: '', reasoning: '' };
      let parts = 0;
      for await (const { choices } of await engine.chat.completions.create({
        messages,
        temperature: 100,
        top_k: 0,
        top_p: 1,
        min_p: 0,
        stream: true,
      })) {
        const { content = '', reasoning_content: reasoning = '' } = choices[0]?.delta ?? {};
        streamed.content += content;
        streamed.reasoning += reasoning;
        if (`${content}${reasoning}` !== '') ++parts;
      }
      assert.deepEqual(streamed, expected(i));
      // No token has more than 8 characters.
      assert.ok(parts >= streamed.content.length / 8, `${parts} parts`);
    }
    await engine.close();
  });
}

test('a conversation goes on, and an answer can do without reasoning', async () => {
  const engine = await load(true);
  const messages = [
    { role: 'system', content: 'Follow the script.' },
    { role: 'user', content: '1' },
  ];
  const create = (more = {}) =>
    engine.chat.completions.create({ messages, temperature: 0, ...more });
  const first = await create();
  assert.equal(first.choices[0].message.content, SCRIPTS[1]);
  messages.push(first.choices[0].message, { role: 'user', content: '3' });
  const second = await create();
  const { content, reasoning_content } = second.choices[0].message;
  assert.deepEqual([content, reasoning_content], [ANSWER, THOUGHT]);
  // What was written is taken as it is.
  const { prompt_tokens, completion_tokens } = first.usage;
  const { cached_tokens } = second.usage.prompt_tokens_details;
  assert.ok(cached_tokens >= prompt_tokens + completion_tokens - 1);
  const without = (await create({ reasoning_effort: 'none' })).choices[0].message;
  assert.equal(without.content, ANSWER);
  assert.ok(!('reasoning_content' in without));
  await engine.close();
});

test('answers in parts: in a session they go on, cut ones too, and clones write the same', async () => {
  const engine = await load(true);
  const session = engine.session();
  const messages = [{ role: 'user', content: '3' }];
  const read = async (stream) => {
    const parts = [];
    for await (const part of stream) parts.push(part);
    const { stats, ...end } = await stream.ending;
    // What only marks where reasoning begins or ends has no text.
    const kinds = parts.filter(({ text }) => text !== '').map(({ part }) => part);
    return { kinds, folded: foldParts(parts), end, stats };
  };
  const temperature = 0;
  const whole = await read(session.answer({ messages, temperature }));
  const said = { role: 'assistant', content: ANSWER, reasoning: THOUGHT };
  assert.deepEqual(whole.folded, said);
  assert.deepEqual(whole.end.message, said);
  assert.equal(whole.end.finish, 'eos');
  assert.equal(whole.end.dropped, 0);
  // Reasoning comes before the text.
  assert.deepEqual(whole.kinds, [...whole.kinds].sort());
  assert.deepEqual(new Set(whole.kinds), new Set(['reasoning', 'text']));
  assert.ok(whole.stats.reasoningTokens > 0);
  const alone = await read(engine.answer({ messages, temperature, thinking: false }));
  assert.deepEqual(alone.folded, { ...said, reasoning: '' });
  const stopped = await read(engine.answer({ messages, temperature, stop: '42' }));
  assert.deepEqual(stopped.folded, { ...said, content: 'The answer is **' });
  assert.equal(stopped.end.finish, 'stop');
  messages.push(whole.end.message, { role: 'user', content: '1' });
  const both = [session, session.clone()];
  for (const one of await Promise.all(
    both.map((one) => read(one.answer({ messages, temperature }))),
  )) {
    assert.equal(one.folded.content, SCRIPTS[1]);
    // The template leaves out what was thought before, so the answer is read anew.
    assert.ok(one.stats.reusedTokens >= whole.stats.promptTokens);
  }
  const cut = await read(session.answer({ messages, temperature, maxTokens: 5 }));
  assert.equal(cut.end.finish, 'length');
  messages.push(cut.end.message);
  const more = await read(session.answer({ messages, temperature, continueFinalMessage: true }));
  assert.equal(`${cut.folded.content}${more.folded.content}`, SCRIPTS[1]);
  await engine.close();
});

const CHAT = [
  { role: 'system', content: 'Be brief. ' },
  { role: 'user', content: 'Grüße <|im_end|> 日本 🎉' },
  { role: 'assistant', content: '<think>\nHm.\n</think>\n\nYes.' },
  { role: 'user', content: 'And?' },
];
const TOOLS = [{ type: 'function', function: { name: 'f', description: '"é"', parameters: {} } }];
/** With what templates use: macros, namespaces, loops, filters. */
const TEMPLATE = `{%- macro shown(m) %}<|{{ m.role | upper }}|>{{ m.content | trim }}{% endmacro %}
{%- set ns = namespace(n=0) %}
{%- for m in messages %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ shown(m) }}{% endfor %}
{{ tools | tojson(indent=1) }}{{ 'prompt' if add_generation_prompt }}{{ enable_thinking }}`;

/** The files of templates that were handed over. Those that tell the date would differ at midnight. */
function others() {
  const shared = path.join(ROOT, '../shared/data/templates');
  if (!fs.existsSync(shared)) return [];
  return fs
    .readdirSync(shared)
    .filter((name) => name.endsWith('.jinja'))
    .map((name) => path.join(shared, name))
    .filter((name) => !fs.readFileSync(name, 'utf8').includes('strftime_now'));
}

test('applyTemplate gives the text of the program', { skip: NO_PROGRAM }, async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'messages.json');
  fs.writeFileSync(file, JSON.stringify({ messages: CHAT, tools: TOOLS, enable_thinking: false }));
  const own = path.join(folder, 'own.jinja');
  fs.writeFileSync(own, TEMPLATE);
  const engine = await Engine.load(BUNDLED);
  const of = { tools: TOOLS, kwargs: { enable_thinking: false } };
  let written = '';
  for (const name of [null, own, ...others()]) {
    const more = name === null ? [] : ['--chat-template', name];
    const { status, out, err } = await beside('template', BUNDLED, '-f', file, ...more);
    const chatTemplate = name === null ? '' : fs.readFileSync(name, 'utf8');
    const found = await engine
      .applyTemplate(CHAT, { ...of, chatTemplate })
      .catch(({ message }) => message);
    // Some templates refuse a system's message. The program says before whose template it is.
    const failed = err.replace(/^sluice: error: (.*(?=line \d+ of the template: ))?/, '').trim();
    assert.equal(found, status === 0 ? out : failed, name ?? 'its own');
    if (name === own) written = found;
  }
  assert.match(written, /2<\|USER\|>Grüße <\|im_end\|> 日本 🎉/);
  assert.ok(engine.stats.notes.some(({ code }) => code === 'no_chat_template'));
  await assert.rejects(
    engine.applyTemplate(CHAT, { chatTemplate: '\n{{ raise_exception("no") }}' }),
    /line 2 of the template: raise_exception: no/,
  );
  await engine.close();
});

/** It would end by its budget of steps. */
const ENDLESS =
  '{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}{% endfor %}';

/** Microseconds that this process has computed, its threads included. */
function spent() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Resolves when the process has computed for so long. */
async function untilSpent(end) {
  while (spent() < end) await setTimeout(1);
}

for (const threads of [1, 2]) {
  test(`an abort ends a template that runs for long, with ${threads} threads`, async (t) => {
    const engine = await Engine.load(BUNDLED, { threads });
    t.after(() => engine.close());
    await engine.ready;
    const calls = {
      applyTemplate: (signal) => engine.applyTemplate(CHAT, { chatTemplate: ENDLESS, signal }),
      countTokens: (signal) => engine.countTokens(CHAT, { chatTemplate: ENDLESS, signal }),
      chat: (signal) =>
        engine.chat.completions.create({ messages: CHAT, chat_template: ENDLESS }, { signal }),
    };
    let begun = spent();
    await assert.rejects(calls.applyTemplate(), { code: 'invalid_argument' });
    const whole = spent() - begun;
    for (const [name, call] of Object.entries(calls)) {
      begun = spent();
      const controller = new AbortController();
      const aborted = assert.rejects(call(controller.signal), { name: 'AbortError' });
      await untilSpent(begun + whole / 10);
      controller.abort();
      await aborted;
      assert.equal(await engine.applyTemplate(CHAT, { chatTemplate: '{{ 1 }}' }), '1');
      assert.ok(spent() - begun < whole / 2, name);
    }
    begun = spent();
    const closed = assert.rejects(calls.applyTemplate(), { code: 'aborted' });
    await untilSpent(begun + whole / 10);
    await engine.close();
    await closed;
    assert.ok(spent() - begun < whole / 2, 'close');
  });
}
