// Text from others (arguments, paths, variables, files, servers, models) never controls the terminal nor hides how it reads,
// wherever the program prints it. JSON has such characters as escapes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Hub } from '../../e2e/hub/server.mjs';
import {
  bundled,
  gguf,
  kv,
  shell,
  sluice,
  smallVocabulary,
  start,
  temporary,
  temporaryDirectory,
} from './helpers.mjs';
import { TerminalProgram, lacksScript } from './terminal-screen.mjs';

/** Title, clipboard, screen, colour; C1 as UTF-8; direction; line separators; a forged line. */
const EVIL =
  'a\u001b]0;x\u0007b\u001b[2Jc\u009b31md\u009d52;c;eA==\u009ce\u0085f\u202eg\u2066h\u2028i\u2029j\u007fk\u061c\u200e\u200fl';
const FORGED = `${EVIL}\nsluice: forged\r`;
/** What no output may have, but \n, \t, and \r with an erased line, which the program itself writes. */
const UNSAFE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Fails if a text has such a character, or a line that the program didn't write. */
function safe(text, what) {
  const found = UNSAFE.exec(text);
  assert.equal(
    found,
    null,
    `${what}: U+${found?.[0].codePointAt(0).toString(16)} in ${JSON.stringify(text.slice(0, 400))}`,
  );
  assert.doesNotMatch(text, /^sluice: forged/m, what);
}

/** What options name is written here. */
const cwd = temporaryDirectory();

/** Runs the program and checks all that it prints. */
function check(args, options = {}) {
  const { status, out, err } = sluice(args, { cwd, ...options });
  const what = `sluice ${args.join(' ').replaceAll(EVIL, 'EVIL')}`;
  safe(err, what);
  safe(out, what);
  return { status, out, err };
}

/** The commands and, for each, its options with a value and its arguments, by its help. */
function options_of(command) {
  const { out } = sluice([command, '--help']);
  return {
    options: [...out.matchAll(/^ {2}(?:-\w, )?(-{1,2}[\w-]+)(?:, --[\w-]+)* [A-Z]+\b/gm)].map(
      ([, name]) => name,
    ),
    takes: (name) => out.includes(`\n  ${name} `),
  };
}
const commands = [...sluice(['--help']).out.matchAll(/^ {2}(\w+) {6,}/gm)]
  .map(([, name]) => name)
  .filter((name) => sluice([name, '--help']).status === 0);

describe('what the command line gives is printed safely', () => {
  it('commands and options that are not known', () => {
    for (const args of [[FORGED], [`--${FORGED}`], ['run', `--${FORGED}`], ['run', `-${FORGED}`]])
      assert.equal(check(args).status, 2);
    check(['run', `--json=${FORGED}`]);
    check(['run', bundled, 'a', FORGED]);
    check(['inspect', bundled, '-m', FORGED]);
  });
  for (const command of commands) {
    it(`${command}: every option and argument`, () => {
      const { options, takes } = options_of(command);
      if (command === 'run') assert.ok(options.length > 20, options.join(' '));
      const env = { XDG_CACHE_HOME: temporaryDirectory(), HF_ENDPOINT: 'http://127.0.0.1:9' };
      for (const name of options) {
        for (const json of takes('--json') ? [[], ['--json']] : [[]])
          check([command, name, FORGED, ...json], { env });
      }
      check([command, FORGED], { env });
      check([command, `./${FORGED}`], { env });
      for (const address of [
        `hf:${FORGED}`,
        `hf:a/b:${FORGED}`,
        `hf:a/b@${FORGED}`,
        `https:${FORGED}`,
      ])
        check([command, address, '--retry-timeout', '1'], { env });
    });
  }
  it('variables of the environment', () => {
    const missing = { XDG_CACHE_HOME: join(temporaryDirectory(), EVIL) };
    check(['run'], { env: { SLUICE_KERNELS: FORGED } });
    check(['run'], { env: { SLUICE_MODEL_DIR: FORGED } });
    for (const command of [
      ['cache', 'list'],
      ['cache', 'list', '--json'],
      ['cache', 'verify'],
    ])
      check(command, { env: missing });
    check(['run', 'hf:a/b'], { env: { ...missing, HF_ENDPOINT: FORGED } });
    check(['run', 'hf:a/b'], { env: { ...missing, HF_TOKEN: FORGED } });
    check(['template', '-f', '-', '--chat-template', temporary('empty.jinja', '')], {
      input: '[]',
      env: { SOURCE_DATE_EPOCH: FORGED },
    });
  });
  it('raw bytes, too: C1 characters of terminals without UTF-8', () => {
    for (const line of [
      `"$SLUICE" $'fr\\x9bob'`,
      `"$SLUICE" run $'./fr\\x9bob'`,
      `"$SLUICE" run $'--fr\\x9bob' --json`,
      `"$SLUICE" run --session $'no/fr\\x9bob'`,
    ]) {
      const { out, err } = shell(line);
      safe(out + err, line);
    }
  });
});

/** A model of zeros: the likeliest token is always the first one, whose text is `said`. */
function parrot(said, metadata = {}) {
  const vocabulary = smallVocabulary();
  const tokens = [said, '<s>', '</s>', `<|${EVIL}|>`];
  const bytes = Array.from(
    { length: 256 },
    (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const all = [...tokens, ...bytes, '\u2581', 'h', 'i', 'hi'];
  const width = 32;
  const matrix = (name, rows, columns = width) => ({
    name,
    type: 0,
    shape: [columns, rows],
    bytes: 4 * rows * columns,
  });
  const vector = (name) => ({ name, type: 0, shape: [width], bytes: 4 * width });
  return gguf(
    {
      'general.architecture': kv.string('llama'),
      'general.name': kv.string(EVIL),
      'llama.block_count': kv.u32(1),
      'llama.context_length': kv.u32(256),
      'llama.embedding_length': kv.u32(width),
      'llama.feed_forward_length': kv.u32(width),
      'llama.attention.head_count': kv.u32(1),
      'llama.attention.layer_norm_rms_epsilon': kv.f32(1e-5),
      ...vocabulary,
      'tokenizer.ggml.tokens': kv.strings(all),
      'tokenizer.ggml.scores': kv.f32s(all.map(() => 0)),
      'tokenizer.ggml.token_type': kv.i32s(
        all.map((_, i) => (i === 0 ? 1 : i < 4 ? 3 : i < 260 ? 6 : 1)),
      ),
      'tokenizer.chat_template': kv.string('{% for m in messages %}{{ m.content }}{% endfor %}'),
      [`${EVIL}.key`]: kv.string(FORGED),
      ...metadata,
    },
    [
      matrix('token_embd.weight', all.length),
      vector('output_norm.weight'),
      vector('blk.0.attn_norm.weight'),
      ...['q', 'k', 'v', 'output'].map((each) => matrix(`blk.0.attn_${each}.weight`, width)),
      vector('blk.0.ffn_norm.weight'),
      ...['gate', 'up', 'down'].map((each) => matrix(`blk.0.ffn_${each}.weight`, width)),
    ],
  );
}
const model = temporary('parrot.gguf', parrot(EVIL));

describe('what files hold is printed safely', () => {
  it('inspect: names, keys, values, types', () => {
    const { status, out } = check(['inspect', model]);
    assert.equal(status, 0);
    assert.match(out, /name +a\?\]0;x\?b\?\[2Jc/);
    const json = JSON.parse(check(['inspect', model, '--json']).out);
    assert.equal(json.name, EVIL);
    const odd = temporary(
      'odd.gguf',
      gguf(
        {
          'general.architecture': kv.string(EVIL),
          'tokenizer.ggml.model': kv.string(EVIL),
          'tokenizer.ggml.pre': kv.string(EVIL),
        },
        [{ name: EVIL, type: 0, shape: [32], bytes: 128 }],
      ),
    );
    for (const more of [[], ['--json']]) check(['inspect', odd, ...more]);
    for (const command of ['run', 'tokenize', 'logits', 'bench', 'chat'])
      assert.notEqual(check([command, odd, ...(command === 'bench' ? [] : ['-p', 'a'])]).status, 0);
  });
  it('tokenize and logits: the texts of tokens', () => {
    const pieces = check(['tokenize', model, '-p', FORGED, '--pieces']).out;
    assert.match(pieces, /"h"/);
    const json = JSON.parse(check(['tokenize', model, '-p', 'h\u202ei', '--json']).out);
    assert.ok(json.pieces.length > 2);
    check(['logits', model, '-p', 'hi', '--top', '300']);
    check(['logits', model, '-p', 'hi', '--top', '300', '--json']);
  });
  it('errors of templates, and what they hold', () => {
    const messages = temporary('m.json', JSON.stringify([{ role: EVIL, content: FORGED }]));
    for (const source of [
      `{{ raise_exception('${EVIL}') }}`,
      `{{ messages[0].role.${'x'}() }}{% ${EVIL} %}`,
      `{{ '${EVIL}' | nothing }}`,
      `{{ messages[0]['role'] + 1 }}`,
    ]) {
      const file = temporary('evil.jinja', source);
      for (const more of [[], ['--json']])
        assert.equal(
          check(['template', model, '-f', messages, '--chat-template', file, ...more]).status !== 0,
          true,
        );
    }
    check(['template', '-f', messages, '--chat-template', temporary(`t${EVIL}.jinja`, '{% x')]);
    check(['template', model, '-f', temporary('broken.json', `{"${EVIL}`)]);
  });
  it('paths that exist', () => {
    const path = temporary(`m${EVIL}.gguf`, fs.readFileSync(model));
    check(['inspect', path]);
    check(['run', path, '-n', '0', '-p', 'hi']);
    check(['bench', path, '-p', '4', '-n', '2', '-r', '1', '-t', '1']);
    check(['bench', path, '-p', '4', '-n', '2', '-r', '1', '-t', '1', '--json']);
    check(['run', temporary(`no${EVIL}`, 'no model'), '-p', 'hi']);
    check(['run', model, '-p', 'hi', '-n', '0', '--session', temporary(`s${EVIL}`, 'no session')]);
    check(['run', model, '-f', temporaryDirectory() + EVIL]);
  });
  it('a model says in JSON, escaped, what it says', () => {
    for (const command of ['run', 'chat']) {
      const { out } = check([
        command,
        model,
        '-p',
        'hi',
        '-n',
        '2',
        '--temp',
        '0',
        '--json',
        '--top-logprobs',
        '2',
      ]);
      const texts = out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).text ?? '');
      assert.equal(texts.join(''), EVIL.repeat(2));
    }
  });
  it('into a pipe its text goes as it is, also by template', () => {
    const { status, out } = sluice(['run', model, '-p', 'hi', '-n', '1', '--temp', '0']);
    assert.equal(status, 0);
    assert.equal(out, EVIL);
    const messages = temporary('plain.json', JSON.stringify([{ role: 'user', content: FORGED }]));
    assert.equal(sluice(['template', model, '-f', messages]).out, FORGED);
  });
});

describe('what servers send is printed safely', () => {
  it('names in a list, answers that are none, names of files that are kept', async () => {
    const hub = await Hub.start();
    try {
      const env = {
        XDG_CACHE_HOME: temporaryDirectory(),
        HF_ENDPOINT: hub.url,
        HF_TOKEN: '',
        no_proxy: '*',
      };
      const run = async (args) => {
        const done = await start(args, env).ended;
        safe(done.out, args.join(' '));
        safe(done.err, args.join(' '));
        return done;
      };
      const name = encodeURIComponent(`k${EVIL}.gguf`);
      const file = hub.add('k.gguf', fs.readFileSync(model));
      const address = file.url.replace('k.gguf', name);
      for (const args of [
        ['pull', address],
        ['cache', 'list'],
        ['cache', 'list', '--json'],
        ['cache', 'verify'],
        ['cache', 'delete', '--all'],
      ]) {
        await run(args);
      }
      const text = hub.add('page.gguf', Buffer.from(`<html>${FORGED}`));
      assert.notEqual((await run(['pull', text.url])).status, 0);
    } finally {
      await hub.close();
    }
  });
});

describe('on a terminal', { skip: lacksScript }, () => {
  /** All that the program wrote, without what it writes itself. */
  const written = (program) =>
    program.raw
      .replaceAll('\r\n', '\n')
      .replaceAll('\r\u001b[K', '')
      .replaceAll(/\u001b\[[02]m|\u001b\[\?2004[hl]/g, '');
  it("a model's text, the prompt and a template can't control it", async () => {
    const messages = temporary('talk.json', JSON.stringify([{ role: 'user', content: FORGED }]));
    for (const [args, shown] of [
      [['run', model, '-p', `${EVIL} hi`, '-n', '3', '--temp', '0'], /g\?h.* hia\?\]0;x\?b/],
      [['run', model, '--tokens', '1,0,263', '-n', '3', '--temp', '0'], /a\?\]0;x\?b/],
      [['chat', model, '-p', FORGED, '-n', '3', '--temp', '0'], /a\?\]0;x\?b/],
      [['template', model, '-f', messages], /a\?\]0;x\?b/],
      [['tokenize', model, '-p', EVIL, '--pieces'], /"h"/],
      [['inspect', model], /a\?\]0;x\?b/],
    ]) {
      const program = new TerminalProgram(args);
      assert.equal(await program.ended, 0, program.raw);
      const text = written(program);
      // A prompt may have a line of its own.
      safe(text.replaceAll('\nsluice: forged', ''), args.join(' '));
      assert.match(text, shown);
    }
  });
  it("a file's messages are shown and edited safely", async () => {
    const file = temporary(
      'evil.chat.json',
      JSON.stringify([
        { role: 'system', content: EVIL },
        { role: 'user', content: EVIL },
        { role: 'assistant', content: EVIL },
      ]),
    );
    for (const terminal of ['xterm', 'dumb']) {
      const chat = new TerminalProgram(['chat', model, '-n', '2', '--stop', EVIL], {
        TERM: terminal,
      });
      await chat.line(`/load ${file}`);
      await chat.line('/system');
      await chat.line('/set');
      chat.type('/edit\r');
      await chat.shows(/> a\?\]0;x\?b|a\?\]0;x\?b[^\n]*\n> $/);
      chat.type('\u0003');
      await chat.prompt();
      chat.type('\u0004');
      assert.equal(await chat.ended, 0, chat.raw);
      // What the line editor writes itself is harmless: colours, cursor.
      assert.doesNotMatch(chat.raw, /[\u0080-\u009f\u2028-\u202e\u2066-\u2069]/);
      assert.doesNotMatch(chat.raw, /\u001b\]/);
      assert.doesNotMatch(chat.raw, /\u001b\[2J/);
    }
  });
});
