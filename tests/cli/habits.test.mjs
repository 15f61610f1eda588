// Command lines as people know them from llama.cpp and ollama: they work, or one line says how it is written here.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bundled, events, optional, shell, sluice, temporary } from './helpers.mjs';
import { TerminalProgram, lacksScript } from './terminal-screen.mjs';

const greedy = ['--temp', '0', '-n', '4', '-q'];
const text = sluice(['run', bundled, '-p', 'Once', ...greedy]).out;
/** The words of command lines; MODEL is the bundled model. */
const words = (...lines) =>
  lines.flatMap((line) => line.split(' ')).map((word) => (word === 'MODEL' ? bundled : word));
/** Runs with this text, in other words. */
function same(args, options) {
  const { status, out, err } = sluice(args, options);
  assert.equal(status, 0, err);
  assert.equal(out, text, args.join(' '));
  return err;
}

describe('options', () => {
  it('of a repeated one the last counts', () => {
    same(['run', bundled, '-p', 'Never', '--prompt', 'Once', '-n', '9', ...greedy]);
    same([...words('run -m nowhere -m MODEL -p Once --kv-type f32 --kv-type f16'), ...greedy]);
    const messages = temporary('m.json', '[{"role":"user","content":"Hi"}]');
    const plain = temporary('t.jinja', 'x{{ a }}');
    const done = sluice([
      ...words('template -f nowhere -f', messages, '--chat-template nowhere --chat-template'),
      ...words(plain, '--kwargs {} --kwargs {"a":1}'),
    ]);
    assert.equal(done.out, 'x1', done.err);
    // Those that may be given several times are all taken.
    const stopped = sluice([...words('run -p Once --stop upon --stop zzz'), ...greedy]);
    assert.doesNotMatch(stopped.out, /upon/);
  });
  it('have the long names of llama.cpp', () => {
    const once = temporary('once.txt', 'Once');
    same(
      words(
        'run --model MODEL --threads 1 --ctx-size 64 --n-predict 4 --temp 0 -q -s 1 --file',
        once,
      ),
    );
  });
  it('take -1 and 0 for "as you like"', () => {
    same([...words('run MODEL -p Once -c 0 -t -1 --seed -1 --top-k -1'), ...greedy]);
    const seeds = [1, 2].map(() => {
      const { out } = sluice(['run', '-p', 'Once', '-n', '1', '--seed', '-1', '--json']);
      return events(out).at(-1).stats.seed;
    });
    assert.notEqual(seeds[0], seeds[1]);
    const all = (k) =>
      sluice(['run', '-p', 'Once', '-n', '20', '--temp', '2', '--seed', '3', '--top-k', k, '-q'])
        .out;
    assert.equal(all('-1'), all('0'));
    assert.notEqual(all('-1'), all('2'));
  });
  const long = optional('models/tiny/tiny-llama-f32.gguf');
  it('-c 0 is the context that the model was trained for', { skip: long.skip }, () => {
    for (const model of [bundled, long.path]) {
      const { contextLength, memory } = JSON.parse(
        sluice(['inspect', model, '-c', '0', '--json']).out,
      );
      assert.equal(memory.contextSize, contextLength);
      const { out } = sluice(['run', model, '--tokens', '1', '-n', '1', '-c', '0', '--json']);
      assert.equal(events(out).at(-1).stats.contextSize, contextLength);
    }
  });
});

describe('what others have and this program does not', () => {
  const cases = [
    ['-ngl', '99'],
    ['--n-gpu-layers=99'],
    ['-fa'],
    ['-fa', 'on'],
    ['-b', '512', '-ub', '64', '--mlock', '--no-mmap', '--jinja', '--no-warmup'],
    ['--color', '--log-disable'],
    ['-st', '-np', '4', '-lv', '1', '--verbose-prompt'],
  ];
  for (const args of cases) {
    it(`${args.join(' ')} is left out, and a note says so`, () => {
      const given = ['run', bundled, '-p', 'Once', ...args, '--temp', '0', '-n', '4'];
      const { status, out, err } = sluice(given);
      assert.equal(status, 0, err);
      assert.equal(out, text);
      assert.match(err, /^sluice: -.* is left out: \w/);
      assert.equal(same([...given, '-q']), '');
    });
  }
  it('some are written otherwise', () => {
    same(words('run -mu MODEL -p Once --temp 0 -q --predict 4 --num-ctx 64 --num-thread 1'));
    same(words('run MODEL -p Once --temp 0 --no-display-prompt --max-tokens=4'));
    const { err } = sluice(['run', '-hf', 'a/b:Q4_0', '-p', 'x', '--retry-timeout', '1'], {
      env: { HF_ENDPOINT: 'http://127.0.0.1:9', XDG_CACHE_HOME: temporary('none') },
    });
    assert.match(err, /127\.0\.0\.1:9\/api\/models\/a\/b\//);
    const stop = sluice(['run', bundled, '-p', 'Once', '-r', 'upon', ...greedy]);
    assert.equal(stop.out.includes('upon'), false, stop.out);
  });
  const hints = [
    [['run', bundled, '-cnv'], /-cnv: sluice chat MODEL/],
    [['run', bundled, '-sys', 'You', '-p', 'Hi'], /-sys is --system here, .* sluice chat does/],
    [['run', bundled, '--rope-scale', '2', '-p', 'a'], /--rope-scale: the model's file says it/],
    [['run', bundled, '-p', 'a', '-npx', '4'], /unknown option '-npx'/],
    [['bench', bundled, '-pg', '16,4'], /-pg: -p and --depth/],
    [['convert', 'd', '--outfile', 'o.gguf'], /--outfile: .*sluice convert FOLDER OUT/],
    [['convert', 'o/r', 'o.gguf', '--remote'], /--remote: .*hf:OWNER\/REPO/],
    [['imatrix', bundled, '--in-file', 'a', 'o.gguf'], /--in-file: .*longer text/],
    [['embed', bundled, '-p', 'a', '--embd-normalize', '2'], /--embd-normalize: .*--no-normalize/],
    [['embed', bundled, '--embd-output-format', 'json'], /--embd-output-format: --json .*--npy/],
    [['embed', bundled, '--embd-separator', '|'], /--embd-separator: -f FILE/],
    [['server'], /no command server: .*library/],
    [['run', 'hf.co/foo', '-p', 'a'], /hf:foo names no OWNER\/REPO/],
    [['run', bundled, '-e', '-p', 'a'], /-e: .*\$'\.\.'/],
    [['run', bundled, '-ctk', 'q8_0'], /-ctk: --kv-type/],
    [['run', '-hf'], /-hf needs a value/],
    [['serve'], /no command serve: .*library/],
    [['ps'], /no command ps:/],
    [['stop', 'm'], /no command stop:/],
    [['create', 'm', '-f', 'Modelfile'], /no command create: .*--system/],
    [['cp', 'a', 'b'], /no command cp:/],
    [['push', 'a'], /no command push:/],
  ];
  for (const [args, hint] of hints) {
    it(`sluice ${args.join(' ').replace(bundled, 'MODEL')} says how it is done here`, () => {
      for (const json of args.at(-1) === '-hf' ? [[]] : [[], ['--json']]) {
        const { status, out, err } = sluice([...args, ...json]);
        assert.equal(status, 2, err);
        assert.match(err, /^sluice: error: [^\n]*\n$/);
        assert.match(err, hint);
        if (json.length > 0) assert.equal(events(out)[0].code, 'invalid_argument');
      }
    });
  }
  it('a value is never taken for an option', () => {
    same(['run', bundled, '-p', 'Once', '--stop', '-ngl', '--stop', '-cnv', ...greedy]);
    const { out } = sluice(['tokenize', '-p', '-ngl', '--json']);
    assert.equal(JSON.parse(out).pieces.join('').trim(), '-ngl');
    assert.equal(sluice(['run', '-n', '1', '-q', '--', bundled, '-ngl']).status, 0);
  });
});

describe('commands', () => {
  it('help, version, show, ls and rm', () => {
    assert.equal(sluice(['help']).out, sluice(['--help']).out);
    assert.equal(sluice(['help', 'help']).out, sluice(['--help']).out);
    assert.equal(sluice(['help', 'run']).out, sluice(['run', '--help']).out);
    assert.equal(sluice(['help', 'rm']).out, sluice(['cache', '--help']).out);
    assert.equal(sluice(['help', 'show']).out, sluice(['inspect', '--help']).out);
    assert.equal(sluice(['version']).out, sluice(['--version']).out);
    assert.equal(sluice(['show', bundled]).out, sluice(['inspect', bundled]).out);
    const env = { XDG_CACHE_HOME: temporary('no-cache') };
    assert.equal(sluice(['ls'], { env }).out, sluice(['list'], { env }).out);
    assert.equal(sluice(['ls'], { env }).status, 0);
    const gone = sluice(['rm', 'frob'], { env });
    assert.equal(gone.status, 2);
    assert.match(gone.err, /the cache has no model frob/);
  });
});

describe('sluice detokenize', () => {
  it('gives the text of ids, as tokenize prints them', () => {
    const file = temporary('text.txt', 'Once upon a time, caf\u00e9 \u65e5\n');
    for (const json of [[], ['--json']]) {
      const ids = sluice(['tokenize', bundled, '-f', file, ...json]).out;
      const given = json.length > 0 ? JSON.stringify(JSON.parse(ids).ids) : ids;
      assert.equal(
        sluice(['detokenize', bundled, given]).out,
        'Once upon a time, caf\u00e9 \u65e5\n',
      );
      assert.equal(
        shell(`"$SLUICE" detokenize '${bundled}' < '${temporary('ids.txt', given)}'`).out,
        'Once upon a time, caf\u00e9 \u65e5\n',
      );
    }
    const ids = sluice(['tokenize', bundled, '-p', 'Once upon']).out.trim().split(' ');
    for (const args of [
      [bundled, ids.join(',')],
      [bundled, ...ids],
      ['-m', bundled, ...ids],
      [ids.join(',')],
      ids,
    ])
      assert.equal(sluice(['detokenize', ...args]).out, 'Once upon', args.join(' '));
    assert.equal(
      JSON.parse(sluice(['detokenize', bundled, ids.join(), '--json']).out).text,
      'Once upon',
    );
    // A control token has no text, but a name.
    const { bos } = JSON.parse(sluice(['inspect', bundled, '--json']).out).tokenizer;
    assert.equal(sluice(['detokenize', bundled, String(bos)]).out, '');
    const named = sluice(['detokenize', bundled, String(bos), '--special']).out;
    assert.match(named, /^<.+>$/);
  });
  it('refuses what is no id', () => {
    for (const [ids, reason] of [
      ['99999999', /from 0 to \d+, the vocabulary's ids, found '99999999'/],
      ['-1', /unknown option '-1'/],
      ['1,x', /found 'x'/],
      ['1.5', /found '1\.5'/],
      ['99999999999999999999', /found/],
    ]) {
      const { status, err } = sluice(['detokenize', bundled, ids]);
      assert.equal(status, 2, err);
      assert.match(err, reason);
    }
    const { status, err } = sluice(['detokenize', bundled]);
    assert.equal(status, 2);
    assert.match(err, /no ids; give them behind the model/);
  });
});

describe('sluice logits --hash --json', () => {
  it('gives the hash alone', () => {
    const hash = sluice(['logits', '-p', 'Hello', '--hash']).out.trim();
    assert.deepEqual(JSON.parse(sluice(['logits', '-p', 'Hello', '--hash', '--json']).out), {
      hash,
    });
    assert.equal(JSON.parse(sluice(['logits', '-p', 'Hello', '--json']).out).hash, hash);
  });
});

describe('chat at a terminal', { skip: lacksScript }, () => {
  const short = ['chat', '-n', '4', '--temp', '0', '-q'];
  for (const word of ['/bye', '/exit', 'exit', 'quit', ' exit ']) {
    it(`${word} ends it`, async () => {
      const chat = new TerminalProgram(short);
      await chat.prompt();
      chat.type(`${word}\r`);
      assert.equal(await chat.ended, 0, chat.screen.text());
    });
  }
  it('/clear forgets the messages', async () => {
    const chat = new TerminalProgram(short);
    await chat.line('Once');
    await chat.line('/clear');
    await chat.line('/tokens');
    assert.match(chat.screen.text(), /\n0 messages, 0 of/);
    chat.type('\u0004');
    assert.equal(await chat.ended, 0);
  });
  it('a pasted text that begins with / is a message, one that is typed a command', async () => {
    const chat = new TerminalProgram(short);
    await chat.prompt();
    chat.type('\u001b[200~/usr/bin/frob: not found\u001b[201~');
    await chat.row('> /usr/bin/frob: not found');
    await chat.enter('');
    assert.doesNotMatch(chat.screen.text(), /there is no command/);
    await chat.line('/tokens');
    assert.match(chat.screen.text(), /\n2 messages, /);
    // What is typed in its place is a command again; and the up key brings the message as it was meant.
    await chat.prompt();
    chat.type('\u001b[200~/clear\u001b[201~');
    await chat.row('> /clear');
    chat.type('\u0015');
    await chat.prompt();
    chat.type('\u001b[A\u001b[A');
    await chat.row('> //usr/bin/frob: not found');
    chat.type('\u0015');
    await chat.prompt();
    await chat.enter('/reset');
    assert.match(chat.screen.text(), /The messages are forgotten/);
    chat.type('\u0004');
    assert.equal(await chat.ended, 0);
  });
});
