// Tests that every flavour gives the native program's bits, with any number of threads, batch and pieces of the file.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import {
  BUNDLED,
  MAKE_MODELS,
  NODE_FLAVOURS,
  PROGRAM,
  ROOT,
  events,
  files_of,
  lacks,
  load,
  logits,
  native,
  open_module,
  parse,
} from './module.mjs';

const IDS = [1, 30, 17, 99, 4, 250, 33, 8, 61, 120, 7, 200];
const missing = lacks(PROGRAM, BUNDLED);

/** The samplers that are off by default. */
const SAMPLERS = {
  temperature: 1.3,
  topK: 0,
  topNSigma: 2.5,
  typicalP: 0.9,
  logitBias: { 300: 1.5 },
  xtcProbability: 0.5,
  xtcThreshold: 0.05,
  repeatPenalty: 1.1,
  repeatLastN: -1,
  presencePenalty: 0.7,
  frequencyPenalty: 0.3,
  dryMultiplier: 0.8,
  dryAllowedLength: 1,
};
const SAMPLER_FLAGS = [
  ...['--temp', '1.3', '--top-k', '0', '--top-nsigma', '2.5', '--typical', '0.9', '-l', '300+1.5'],
  ...['--xtc-probability', '0.5', '--xtc-threshold', '0.05', '--repeat-penalty', '1.1'],
  ...['--repeat-last-n', '-1', '--presence-penalty', '0.7', '--frequency-penalty', '0.3'],
  ...['--dry-multiplier', '0.8', '--dry-allowed-length', '1'],
];

function native_hash(file, ids = IDS) {
  return native('logits', file, '--tokens', ids.join(','), '--hash', '--json')[0].hash;
}

for (const flavour of NODE_FLAVOURS) {
  for (const threads of flavour.endsWith('-mt') ? [1, 2, 3] : [1]) {
    test(`${flavour}, ${threads} threads: logits as the program's`, { skip: missing }, async () => {
      const opened = await open_module(flavour, { threads });
      const engine = load(opened, fs.readFileSync(BUNDLED), { threads });
      assert.equal(JSON.parse(engine.stats()).threads, threads);
      const expected = native_hash(BUNDLED);
      assert.equal(logits(engine, IDS).hash, expected);
      assert.equal(logits(engine, IDS, 1).hash, expected);
      assert.equal(logits(engine, IDS, 5).hash, expected);
      assert.deepEqual(opened.printed, []);
      engine.delete();
    });
  }

  test(`${flavour}: a file in pieces`, { skip: missing }, async () => {
    const opened = await open_module(flavour);
    const bytes = fs.readFileSync(BUNDLED);
    const expected = native_hash(BUNDLED);
    for (const size of [7, 64 << 10]) {
      const engine = load(opened, bytes, { threads: 1 }, size);
      assert.equal(logits(engine, IDS).hash, expected, `pieces of ${size}`);
      engine.delete();
    }
  });

  test(`${flavour}: text, seed and tokens as the program's`, { skip: missing }, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED), { threads: 1 });
    const prompt = 'Once upon a time, a naïve 🦊';
    const [tokenized] = native('tokenize', BUNDLED, '-p', prompt, '--json');
    const encoding = new opened.module.Encoding(engine, prompt, false);
    while (encoding.step());
    const ids = [...encoding.take()];
    encoding.delete();
    assert.deepEqual(ids, tokenized.ids);
    assert.equal(engine.detokenize(ids), prompt);

    const tokens = (list) => list.filter((event) => event.event === 'token');
    for (const [flags, options] of [
      [['--top-logprobs', '3'], { topLogprobs: 3 }],
      [SAMPLER_FLAGS, SAMPLERS],
    ]) {
      const json = JSON.stringify({ seed: 7, maxTokens: 40, ...options });
      parse(engine.session.startText(prompt, json));
      const run = ['run', BUNDLED, '-p', prompt, '-n', '40', '--seed', '7', '--json'];
      const told = native(...run, ...flags);
      const heard = events(engine.session);
      assert.ok(tokens(heard).length > 5);
      assert.deepEqual(tokens(heard), tokens(told));
      assert.equal(heard.at(-1).finish, told.at(-1).finish);
      assert.equal(heard.at(-1).stats.seed, 7);
    }
    engine.delete();
  });
}

const TEMPLATES = path.join(ROOT, '../shared/data/templates');

test('chats as the program shows them', { skip: missing }, async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-chats-'));
  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  const content = 'Grüße <|im_end|> </s> 日本 🎉';
  const chat = {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content },
      { role: 'assistant', content: '<think>\nHm.\n</think>\n\nYes.' },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'é', parameters: {} } }],
  };
  const messages = JSON.stringify(chat);
  const file = path.join(dir, 'messages.json');
  fs.writeFileSync(file, messages);
  const own = path.join(dir, 'date.jinja');
  fs.writeFileSync(own, "{{ strftime_now('%d %B %Y %H:%M') }} {{ messages | tojson(indent=2) }}");
  const others = fs.existsSync(TEMPLATES)
    ? fs.readdirSync(TEMPLATES).filter((name) => name.endsWith('.jinja'))
    : [];
  const now = 1753920305;
  process.env.SOURCE_DATE_EPOCH = String(now);
  for (const flavour of NODE_FLAVOURS) {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED), { threads: 1 });
    for (const name of [own, '', ...others.map((each) => path.join(TEMPLATES, each))]) {
      const template = name === '' ? '' : fs.readFileSync(name, 'utf8');
      const args = name === '' ? [] : ['--chat-template', name];
      const kwargs = '{"enable_thinking":false}';
      for (const adapts of [false, true]) {
        const more = adapts ? ['--adapt-contents'] : [];
        const answer = engine.applyTemplate(messages, kwargs, template, adapts, true, now, 0);
        let told;
        try {
          [told] = native(
            'template',
            BUNDLED,
            '-f',
            file,
            ...args,
            '--kwargs',
            kwargs,
            '--json',
            ...more,
          );
        } catch (error) {
          told = JSON.parse(error.stdout);
          // The program says before whose template it is.
          told.message = told.message.replace(/^.*(?=line \d+ of the template: )/, '');
        }
        assert.deepEqual(JSON.parse(answer), told, `${flavour}, ${name}`);
      }
    }
    const [text] = native('template', BUNDLED, '-f', file, '--chat-template', own, '--json');
    assert.match(text.text, /^31 July 2025 00:05 \[/);
    engine.delete();
  }
});

test('recorded logits of other models', { skip: lacks(MAKE_MODELS) }, async (t) => {
  const dir = files_of(MAKE_MODELS);
  const { ids, hashes } = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'tests/data/hashes.json'), 'utf8'),
  );
  const names = Object.keys(hashes).filter((name) => fs.existsSync(path.join(dir, `${name}.gguf`)));
  assert.ok(names.length >= 4);
  for (const flavour of NODE_FLAVOURS) {
    const opened = await open_module(flavour, { threads: flavour.endsWith('-mt') ? 2 : 1 });
    for (const name of names) {
      await t.test(`${flavour}: ${name}`, () => {
        const engine = load(opened, fs.readFileSync(path.join(dir, `${name}.gguf`)), {
          threads: flavour.endsWith('-mt') ? 2 : 1,
        });
        assert.equal(logits(engine, ids).hash, hashes[name].f16);
        engine.delete();
      });
    }
  }
});
