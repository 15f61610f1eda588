// sluice template: what a model is given for a chat, compared with jinja2.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bundled,
  gguf,
  kv,
  optional,
  root,
  sluice,
  smallVocabulary,
  start,
  temporary,
} from './helpers.mjs';

const NOW = 1753920305; // compare.py's
const HI = [{ role: 'user', content: 'Hi' }];

/** Writes messages and runs the command on them. */
let files = 0;
function template(messages, ...args) {
  const file = temporary(`messages-${++files}.json`, JSON.stringify(messages));
  return sluice(['template', ...args, '-f', file], { env: { SOURCE_DATE_EPOCH: String(NOW) } });
}

function lastLine(text) {
  return text.trimEnd().split('\n').at(-1);
}

const echo = temporary(
  'echo.jinja',
  '{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}' +
    '{% if add_generation_prompt %}<assistant>{% endif %}{{ x }}',
);

// Waits until the program has computed for a while: it renders.
async function spent({ pid }) {
  const ticks = () =>
    Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[11]);
  while (ticks() < 5) await new Promise(setImmediate);
}

describe('template', () => {
  it('prints the text and nothing else', () => {
    const { status, out, err } = template(HI, '--chat-template', echo);
    assert.deepEqual({ status, out, err }, { status: 0, out: '<user>Hi<assistant>', err: '' });
  });
  it('Ctrl-C ends a template that runs for long', async () => {
    // It would end by its budget of steps.
    const endless = temporary(
      'endless.jinja',
      '{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}{% endfor %}',
    );
    const { child, ended } = start(['template', '--chat-template', endless, '-f', '-']);
    child.stdin.write(JSON.stringify(HI));
    child.stdin.end();
    await spent(child);
    child.kill('SIGINT');
    assert.equal((await ended).status, 130);
  });
  it('takes an object, kwargs, and the messages from standard input', () => {
    const given = { messages: HI, add_generation_prompt: false, x: 1, bos_token: '<s>' };
    assert.equal(template(given, '--chat-template', echo).out, '<s><user>Hi1');
    assert.equal(
      template(given, '--chat-template', echo, '--kwargs', '{"x":2}').out,
      '<s><user>Hi2',
    );
    const piped = sluice(['template', '--chat-template', echo, '-f', '-'], {
      input: JSON.stringify(HI),
    });
    assert.equal(piped.out, '<user>Hi<assistant>');
  });
  it("uses the model's template and special tokens, and never doubles BOS", () => {
    const chat = '{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}';
    const model = temporary(
      'chat.gguf',
      gguf({
        ...smallVocabulary(),
        'tokenizer.chat_template': kv.string(chat),
        'tokenizer.chat_template.tool_use': kv.string('{{ tools | length }}'),
        'tokenizer.chat_templates': kv.strings(['tool_use']),
      }),
    );
    const hi = [{ role: 'user', content: 'hi' }];
    const { out, err } = template(hi, model);
    assert.deepEqual({ out, err }, { out: '<s>hi</s>', err: '' });
    const json = (messages, ...args) =>
      JSON.parse(template(messages, model, '--json', ...args).out);
    assert.deepEqual(json(hi), {
      text: '<s>hi</s>',
      tokens: [1, 263, 2],
      template: 'tokenizer.chat_template',
      warnings: [],
    });
    assert.equal(template(hi, model, '--tokens').out, '1 263 2\n');
    assert.equal(json({ messages: hi, tools: [{}] }).template, 'tokenizer.chat_template.tool_use');
    assert.equal(template(hi, model, '--chat-template', echo).out, '<s><user>hi<assistant>');
    // A special token that is written out stays text: its bytes are tokens.
    const { text, tokens } = json([{ role: 'user', content: 'hi</s>' }]);
    assert.equal(text, '<s>hi</s></s>');
    const literal = JSON.parse(sluice(['tokenize', model, '-p', 'hi</s>', '--json']).out).ids;
    assert.ok(!literal.includes(2));
    assert.deepEqual(tokens, [1, ...literal, 2]);
  });
  it('names the built-in template that it uses for a model without one', () => {
    const { status, out, err } = template(HI, bundled);
    assert.equal(status, 0);
    assert.equal(out, 'User: Hi\n\nAssistant:');
    assert.match(
      err,
      /^sluice: warning: the file has no chat template; the one of plain text is used, because nothing in the file tells of another \(--chat-template FILE gives another\)\n$/,
    );
  });
  it('shows the template of a file whose tokenizer it does not know', () => {
    const model = temporary(
      'unknown.gguf',
      gguf({
        'tokenizer.ggml.model': kv.string('t5'),
        'tokenizer.ggml.tokens': kv.strings(['<s>']),
        'tokenizer.ggml.bos_token_id': kv.u32(0),
        'tokenizer.chat_template': kv.string('{{ bos_token }}{{ messages[0].content }}'),
      }),
    );
    const { status, out, err } = template(HI, model);
    assert.deepEqual({ status, out }, { status: 0, out: '<s>Hi' });
    assert.match(err, /warning: there are no tokens: .*'t5'/);
    assert.equal(JSON.parse(template(HI, model, '--json').out).tokens, undefined);
    assert.equal(template(HI, model, '--tokens').status, 3);
  });
  it('joins contents in parts if asked to', () => {
    const parts = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
      },
    ];
    const { out, err } = template(parts, '--chat-template', echo, '--adapt-contents');
    assert.equal(out, '<user>A\nB<assistant>');
    assert.match(err, /knows no content in parts: their texts are joined/);
  });
  it('refuses what it can not use, with the reason', () => {
    const bad = temporary('bad.jinja', 'a\n{% if %}');
    const only = "{{ raise_exception('Only users!') if messages[0].role != 'user' }}";
    const users = temporary('users.jinja', only);
    const own = temporary(
      'users.gguf',
      gguf({ ...smallVocabulary(), 'tokenizer.chat_template': kv.string(only) }),
    );
    const wizard = [{ role: 'wizard', content: 'x' }];
    const cut = temporary('cut.json', '{');
    const cutPrompt = ['template', '--chat-template', echo, '-f', cut];
    const wrong = [
      [sluice(cutPrompt), 2, /error: \S*cut\.json: the messages: this is not valid JSON/],
      [
        template(wizard, '--chat-template', users),
        2,
        /users\.jinja refuses the messages: .*Only users!/,
      ],
      [template(wizard, own), 2, /: the model's chat template refuses the messages: .*Only users!/],
      [
        template(HI, '--chat-template', 'chatml'),
        3,
        /the chat template chatml: No .*; --chat-template takes the path/,
      ],
      [
        template(3, '--chat-template', echo),
        2,
        /messages-\d+\.json: the list of messages is a number; exp/,
      ],
      [template([{}], '--chat-template', echo), 2, /messages\[0\]\.role is missing/],
      [template(HI, '--chat-template', bad), 2, /bad\.jinja: line 2 of the template: /],
      [template(HI, '--chat-template', echo, '--kwargs', '[]'), 2, /the kwargs' JSON is a list/],
      [template(HI, '--chat-template', '/no/such'), 3, /\/no\/such/],
      [template(HI, '--chat-template', echo, '--tokens'), 2, /--tokens needs a MODEL/],
      [template(HI, '/no/such.gguf'), 3, /can't open \/no\/such\.gguf/],
      [sluice(['template', bundled]), 2, /-f.* is required/],
    ];
    for (const [{ status, out, err }, expected, says] of wrong) {
      assert.equal(status, expected, err);
      assert.equal(out, '');
      assert.match(lastLine(err) + err, says);
    }
    const event = JSON.parse(template(HI, '--chat-template', bad, '--json').out);
    assert.equal(event.event, 'error');
    assert.equal(event.code, 'invalid_argument');
    assert.match(event.message, /bad\.jinja: line 2 of the template: /);
  });
});

// --- jinja2 --------------------------------------------------------------------------------------

const TOOL = {
  type: 'function',
  function: {
    name: 'find',
    description: 'Finds "things" & <tags>.\nReally.',
    parameters: {
      type: 'object',
      properties: { what: { type: 'string', description: 'Of é' }, most: { type: 'integer' } },
      required: ['what'],
    },
  },
};
const user = (content) => ({ role: 'user', content });
const assistant = (content, more = {}) => ({ role: 'assistant', content, ...more });
const system = (content) => ({ role: 'system', content });
const text = (words) => [{ type: 'text', text: words }];
const tokens = { bos_token: '<s>', eos_token: '</s>' };
const long = Array.from({ length: 300 }, (_, i) =>
  i % 2 === 0 ? user(`Question ${i}? ${'Wörter '.repeat(i)}`) : assistant(` Answer ${i}.\n`),
);
const toolRound = (argument) => [
  user('Find it'),
  assistant('', {
    tool_calls: [
      { id: 'call12345', type: 'function', function: { name: 'find', arguments: argument } },
    ],
  }),
  { role: 'tool', tool_call_id: 'call12345', name: 'find', content: '{"found": ["a", 2]}' },
];
const MORE = {
  long: { messages: long },
  'long with a system': { messages: [system('  Be brief. '), ...long.slice(0, 41)] },
  'tools given': { messages: HI, tools: [TOOL] },
  'no tools': { messages: HI, tools: [] },
  'a tool round': { messages: toolRound({ what: 'x', most: 3 }), tools: [TOOL] },
  'a tool round as text': { messages: toolRound('{"what": "x"}'), tools: [TOOL], ...tokens },
  'an answered tool round': {
    messages: [...toolRound({ what: 'é' }), assistant('There.'), user('Thanks')],
    tools: [TOOL],
  },
  'thinking on': {
    messages: [user('Why?'), assistant('<think>\nHm.\n</think>\n\nSo.'), user('And?')],
    enable_thinking: true,
  },
  'thinking off': { messages: [user('Why?')], enable_thinking: false },
  'thinking apart': {
    messages: [user('Why?'), assistant('So.', { reasoning_content: 'Hm.' }), user('And?')],
    enable_thinking: false,
  },
  'parts everywhere': {
    messages: [
      { role: 'system', content: text('Look.') },
      { role: 'user', content: [...text('One'), ...text(' two')] },
      { role: 'assistant', content: text('Three') },
      { role: 'user', content: text('Four') },
    ],
  },
  'parts with an image': {
    messages: [{ role: 'user', content: [{ type: 'image' }, ...text('What?')] }],
  },
  'null contents': { messages: [user('a'), assistant(null), user('b')] },
  'no content': { messages: [{ role: 'user' }] },
  'no messages': { messages: [] },
  'the assistant first': { messages: [assistant('I begin'), user('ok')] },
  'two users': { messages: [user('a'), user('b')] },
  'two assistants': { messages: [user('a'), assistant('b'), assistant('c')] },
  'a late system': { messages: [user('a'), system('b'), user('c')] },
  'only a system': { messages: [system('b')] },
  'a tool without a call': { messages: [{ role: 'tool', content: 'x' }, user('?')] },
  'an unknown role': { messages: [{ role: 'wizard', content: 'x' }] },
  'the assistant last': { messages: [user('a'), assistant('b')], add_generation_prompt: false },
  'special tokens in a content': {
    messages: [user('<|im_end|>\n<|im_start|>system\n<eos>')],
    ...tokens,
  },
  'odd characters': { messages: [user('\u2028 \u0000 \t "\\ é 🎉\r\n')] },
};

describe('template and jinja2', () => {
  const { path: shared, skip } = optional('data/templates');
  const python = ['/usr/bin/python3', 'python3'].find(
    (name) => spawnSync(name, ['-c', 'import jinja2']).status === 0,
  );
  const missing = skip || (python === undefined && 'python3-jinja2 is not installed');
  it('give the same text, and errors for the same chats', { skip: missing }, () => {
    const { values: _, ...small } = JSON.parse(
      readFileSync(join(root, 'tests/jinja/contexts.json'), 'utf8'),
    );
    const contexts = { ...small, ...MORE };
    const names = readdirSync(shared);
    for (const name of names.filter((each) => each.endsWith('.json')))
      contexts[name] = JSON.parse(readFileSync(join(shared, name), 'utf8'));
    const cases = [];
    for (const name of names.filter((each) => each.endsWith('.jinja'))) {
      const file = join(shared, name);
      for (const [title, context] of Object.entries(contexts))
        cases.push({ name, title, template: file, context });
    }
    assert.ok(cases.length > 200, `only ${cases.length} cases`);
    const oracle = spawnSync(python, [join(root, 'tests/jinja/oracle.py')], {
      input: JSON.stringify(cases),
      maxBuffer: 1 << 28,
    });
    assert.equal(oracle.status, 0, String(oracle.stderr));
    const answers = JSON.parse(String(oracle.stdout));
    let texts = 0;
    cases.forEach(({ name, title, template: file, context }, i) => {
      const { status, out, err } = template(context, '--chat-template', file);
      const what = `${name} with ${title}: ${err || JSON.stringify(answers[i]).slice(0, 300)}`;
      if (answers[i].text === undefined) return assert.equal(status, 2, what);
      ++texts;
      assert.equal(out, answers[i].text, what);
    });
    assert.ok(texts > 150, `only ${texts} of ${cases.length} cases have a text`);
  });
});
