// Tests of sluice run with the bundled model.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { bundled, events, optional, shell, sluice, start, temporary } from './helpers.mjs';

const greedy = ['--temp', '0'];

describe('run', () => {
  it('prints new text alone to stdout and the figures to stderr', () => {
    const { status, out, err } = sluice([
      'run',
      '-p',
      'Once upon a time',
      '-n',
      '20',
      '--seed',
      '5',
    ]);
    assert.equal(status, 0);
    assert.ok(out.length > 20);
    assert.ok(!out.startsWith('Once upon a time'));
    assert.match(
      err,
      /prompt of 5 tokens at [\d.]+ tokens\/s, .*20 tokens at [\d.]+ tokens\/s; finish: length\n.*kernels, \d+ threads?.*seed 5,/s,
    );
  });
  it('with no model and no prompt tells a story, as with the bundled file named', () => {
    const story = sluice(['run', '-n', '30', ...greedy]);
    assert.equal(story.status, 0);
    assert.ok(story.out.length > 30);
    assert.equal(sluice(['run', bundled, '-n', '30', ...greedy]).out, story.out);
  });
  it('gives the same text for the same seed, whatever the threads, and another for another', () => {
    const text = (...more) => sluice(['run', '-p', 'The dog', '-n', '40', ...more]).out;
    const first = text('--seed', '7');
    assert.equal(text('--seed', '7', '-t', '1'), first);
    assert.equal(text('--seed', '7', '-t', '3'), first);
    assert.notEqual(text('--seed', '8'), first);
  });
  it('draws a seed that can be given back', () => {
    const { out, err } = sluice(['run', '-p', 'The dog', '-n', '30']);
    const [, seed] = /seed (\d+),/.exec(err);
    assert.equal(sluice(['run', '-p', 'The dog', '-n', '30', '--seed', seed]).out, out);
  });
  it('takes a prompt from a file and from stdin, byte for byte', () => {
    const prompt = 'Lily had a "caf\u00e9" \u{1f600}\n\nand';
    const expected = sluice(['run', '-p', prompt, '-n', '12', ...greedy]);
    assert.equal(expected.status, 0);
    assert.equal(
      sluice(['run', '-f', temporary('prompt.txt', prompt), '-n', '12', ...greedy]).out,
      expected.out,
    );
    assert.equal(
      sluice(['run', '-f', '-', '-n', '12', ...greedy], { input: prompt }).out,
      expected.out,
    );
  });
  it('takes a prompt behind the model, after --prompt and from what is piped in', () => {
    const expected = sluice(['run', '-p', 'Once upon', '-n', '12', ...greedy]).out;
    const rest = ['-n', '12', ...greedy];
    for (const args of [
      [bundled, 'Once upon'],
      ['-m', bundled, 'Once upon'],
      ['Once upon', '--model', bundled],
      ['-m', bundled, '-p', 'Once upon'],
      ['--prompt', 'Once upon'],
      ['--prompt=Once upon'],
    ]) {
      assert.equal(sluice(['run', ...args, ...rest]).out, expected, args.join(' '));
    }
    assert.equal(sluice(['run', ...rest, '--', bundled, 'Once upon']).out, expected);
    const run = `"$SLUICE" run ${rest.join(' ')}`;
    const file = temporary('piped.txt', 'Once upon');
    assert.equal(shell(`printf 'Once upon' | ${run}`).out, expected);
    assert.equal(shell(`${run} <${file}`).out, expected);
    // echo's newline is taken off, and no other.
    assert.equal(shell(`echo 'Once upon' | ${run}`).out, expected);
    const ids = (text, more = '') => shell(`printf '${text}' | "$SLUICE" tokenize ${more}`).out;
    assert.equal(ids('Once\\n\\n'), ids('Once\\n', '-f -'));
    assert.notEqual(ids('Once\\n\\n'), ids('Once\\n'));
    assert.equal(ids('a\\n\\n', '--lines').split('\n').length, 3);
    assert.equal(
      shell(`(sleep 0.2; printf Once; sleep 0.2; printf ' upon') | ${run}`).out,
      expected,
    );
  });
  it('reads no standard input where a prompt is given, or nothing can be expected there', () => {
    const run = '"$SLUICE" run -n 12 --temp 0';
    const story = sluice(['run', '-n', '12', ...greedy]).out;
    for (const input of ['</dev/null', '<&-', `<${temporary('nothing.txt', '')}`]) {
      assert.equal(shell(`${run} ${input}`).out, story, input);
    }
    assert.equal(shell(`printf '' | ${run}`).out, story);
    // Nobody writes to this pipe or closes it.
    const fifo = temporary('silent');
    const { out } = shell(`mkfifo ${fifo}; exec 3<>${fifo}; ${run} -p Once <&3`);
    assert.equal(out, sluice(['run', '-p', 'Once', '-n', '12', ...greedy]).out);
  });
  it('says that it waits for a pipe that brings nothing', () => {
    const { out, err } = shell('(sleep 2.5; printf Once) | "$SLUICE" run -n 12 --temp 0');
    assert.match(err, /^sluice: reading the prompt from standard input, which is a pipe/);
    assert.equal(out, sluice(['run', '-p', 'Once', '-n', '12', ...greedy]).out);
  });
  it('has other names for options', () => {
    const args = ['run', '-p', 'Once', '-n', '30', '--seed', '3'];
    assert.equal(sluice([...args, '--temperature', '0']).out, sluice([...args, '--temp', '0']).out);
  });
  it('with -q prints the text alone', () => {
    const args = ['run', '-p', 'Once', '-n', '12', ...greedy, '-c', '1048576'];
    const { out, err } = sluice(args);
    assert.match(err, /warning.*tokens\/s/s);
    for (const flag of ['-q', '--quiet']) {
      assert.deepEqual(sluice([...args, flag]), { status: 0, signal: null, out, err: '' });
    }
    const { status, err: error } = sluice(['run', '-q', '--tokens', '999999']);
    assert.equal(status, 2);
    assert.match(error, /^sluice: error: /);
  });
  it('takes prompts that look like options or lists, and bytes that are no text', () => {
    for (const prompt of ['-x', '--', '{}', '[a,b]', '%s', ' ']) {
      assert.equal(sluice(['run', '-p', prompt, '-n', '1']).status, 0, prompt);
    }
    const bytes = temporary('bytes.bin', Buffer.from([0xff, 0, 0xc3, 0x28, 0xf0, 0x9f]));
    assert.equal(sluice(['run', '-f', bytes, '-n', '4']).status, 0);
  });
  it('takes token ids as they are', () => {
    const { ids } = JSON.parse(
      sluice(['tokenize', '--bos', '-p', 'Once upon a time', '--json']).out,
    );
    assert.equal(
      sluice(['run', '--tokens', ids.join(','), '-n', '20', ...greedy]).out,
      sluice(['run', '-p', 'Once upon a time', '-n', '20', ...greedy]).out,
    );
  });
  it('with -n 0 prints nothing', () => {
    const { status, out, err } = sluice(['run', '-n', '0']);
    assert.equal(status, 0);
    assert.equal(out, '');
    assert.match(err, /finish: length/);
  });
  it('ends before a stop text, which is never printed', () => {
    const whole = sluice(['run', '-p', 'Once upon a time', '-n', '60', ...greedy]).out;
    for (const stop of ['girl', 'named L', '. She']) {
      const at = whole.indexOf(stop);
      if (at < 0) continue;
      const { status, out, err } = sluice([
        'run',
        '-p',
        'Once upon a time',
        '-n',
        '60',
        ...greedy,
        '--stop',
        stop,
      ]);
      assert.equal(status, 0);
      assert.equal(out, whole.slice(0, at));
      assert.match(err, /finish: stop/);
    }
    const first = whole.slice(8, 12);
    const { out } = sluice([
      'run',
      '-p',
      'Once upon a time',
      '-n',
      '60',
      ...greedy,
      '--stop',
      'zzz',
      '--stop',
      first,
    ]);
    assert.equal(out, whole.slice(0, whole.indexOf(first)));
  });
  it('fills the context and says so', () => {
    const { status, out, err } = sluice([
      'run',
      '-p',
      'Once upon a time',
      '-c',
      '24',
      '--ignore-eos',
    ]);
    assert.equal(status, 0);
    assert.ok(out.length > 0);
    assert.match(err, /context 24,/);
    assert.match(err, /finish: context/);
  });
  it('never has more tokens of prompt and text than the context', () => {
    const lines = (...args) =>
      events(sluice(['run', '--json', '--ignore-eos', '-c', '4', ...greedy, ...args]).out);
    for (const [ids, room] of [
      ['1', 3],
      ['1,2', 2],
      ['1,2,3', 1],
    ]) {
      const tokens = lines('--tokens', ids);
      const done = tokens.pop();
      assert.equal(tokens.length, room, ids);
      assert.equal(done.finish, 'context');
    }
    assert.equal(lines('--tokens', '1,2', '-n', '2').pop().finish, 'length');
    assert.equal(lines('--tokens', '1,2,3,4').pop().code, 'context_full');
  });
  it('counts in the singular and says how many threads decode', () => {
    const one = sluice(['run', '-p', 'a', '-n', '1', '-t', '1']).err;
    assert.match(one, /; 1 token; finish: length\n.* kernels, 1 thread, /);
    const { err } = sluice(['run', '-n', '1', '--tokens', '1', '-t', '2']);
    assert.match(err, /^sluice: prompt of 1 token at .* kernels, 2 threads, /s);
    const tuned = sluice(['run', '-n', '300', '--ignore-eos']).err;
    assert.match(
      tuned,
      /kernels, (1 thread|\d+ threads( \((1 of them decodes|\d+ of them decode): measured to be faster\))?), context/,
    );
    const { stats } = events(sluice(['run', '--json', '-n', '2', '-t', '3']).out).pop();
    assert.deepEqual([stats.threads, stats.decodeThreads], [3, 3]);
  });
  it('warns of a context beyond the one that the model was trained for', () => {
    const { contextLength } = JSON.parse(sluice(['inspect', '--json']).out);
    const more = String(contextLength + 1);
    const warning = new RegExp(
      `^sluice: warning: the context of ${more} tokens is larger than the ${contextLength} `,
      'm',
    );
    for (const command of [
      ['run', '-n', '1'],
      ['logits', '-p', 'a'],
    ]) {
      assert.match(sluice([...command, '-c', more]).err, warning);
      assert.doesNotMatch(sluice([...command, '-c', String(contextLength)]).err, /warning/);
    }
    assert.match(sluice(['inspect', '-c', more]).out, /^Notes\n {2}the context of /m);
    assert.doesNotMatch(sluice(['inspect']).out, /^Notes/m);
  });
  it('takes each type of KV cache and a context larger than the model was trained for', () => {
    for (const type of ['f32', 'f16', 'q8_0']) {
      assert.equal(sluice(['run', '-n', '8', '--kv-type', type, '-c', '1048576']).status, 0, type);
    }
  });
});

describe('run --json', () => {
  it('gives a line for each token and one for the end', () => {
    const args = ['run', '-p', 'Once upon a time', '-n', '10', ...greedy];
    const { status, out, err } = sluice([...args, '--json', '--top-logprobs', '3']);
    assert.equal(status, 0);
    assert.equal(err, '');
    const lines = events(out);
    const done = lines.pop();
    assert.equal(lines.length, 10);
    for (const token of lines) {
      assert.equal(token.event, 'token');
      assert.equal(typeof token.text, 'string');
      assert.ok(Number.isInteger(token.id));
      assert.ok(token.logprob <= 0);
      assert.equal(token.top.length, 3);
      assert.deepEqual(token.top[0], [token.id, token.logprob]);
    }
    assert.equal(lines.map((token) => token.text).join(''), sluice(args).out);
    assert.equal(done.event, 'done');
    assert.equal(done.finish, 'length');
    for (const name of [
      'kernels',
      'threads',
      'loadMs',
      'ttftMs',
      'decodeThreads',
      'waitedMs',
      'promptTokens',
      'promptTokensPerSecond',
      'tokens',
      'tokensPerSecond',
      'residentBytes',
      'rereadBytes',
      'streamedBytes',
      'heapBytes',
      'seed',
    ]) {
      assert.ok(name in done.stats, name);
    }
    assert.equal(done.stats.tokens, 10);
    assert.equal(done.stats.promptTokens, 5);
    assert.ok(done.stats.heapBytes > done.stats.residentBytes);
  });
  it('names each way to end', () => {
    const finish = (...args) =>
      events(sluice(['run', '--json', ...greedy, ...args]).out).pop().finish;
    assert.equal(finish('-n', '5'), 'length');
    assert.equal(finish('-n', '0'), 'length');
    assert.equal(finish(), 'eos');
    assert.equal(finish('--ignore-eos', '-c', '16'), 'context');
    assert.equal(finish('--stop', 'e'), 'stop');
  });
  it('shows tokens of an empty text as well', () => {
    const { out } = sluice([
      'run',
      '--json',
      '-p',
      'a',
      '-n',
      '60',
      '--temp',
      '3',
      '--top-k',
      '0',
      '--top-p',
      '1',
      '--min-p',
      '0',
      '--seed',
      '1',
      '--ignore-eos',
    ]);
    const tokens = events(out).slice(0, -1);
    assert.equal(tokens.length, 60);
    assert.ok(tokens.every((token) => !token.text.includes('\ufffd') || token.text.length > 0));
  });
  it('gives failures as events', () => {
    const long = 'word '.repeat(2000);
    const full = sluice(['run', '--json', '-f', '-'], { input: long });
    assert.equal(full.status, 1);
    assert.equal(events(full.out)[0].code, 'context_full');
    const budget = sluice(['run', '--json', '--memory-budget', '1M']);
    assert.equal(budget.status, 4);
    assert.deepEqual(
      events(budget.out).map(({ event, code }) => [event, code]),
      [['error', 'budget_too_small']],
    );
    const [{ facts }] = events(budget.out);
    assert.equal(facts.availableBytes, 1_000_000);
    assert.ok(facts.leastBytes > 1_000_000 && facts.neededBytes > facts.leastBytes);
    assert.equal(sluice(['run', '--memory-budget', '1.5GiB', '-n', '1']).status, 0);
  });
  it('takes a size of 0 where there may be none, and refuses it elsewhere', () => {
    assert.equal(sluice(['run', '--snapshot-memory', '0', '-n', '1']).status, 0);
    const none = sluice(['run', '--memory-budget', '0', '-n', '1']);
    assert.equal(none.status, 2);
    assert.match(none.err, /--memory-budget: expected a size from 1 byte on/);
    assert.match(sluice(['run', '--snapshot-memory', '-1']).err, /a size from 0 bytes on/);
  });
});

describe('the program and its surroundings', () => {
  it('a pipe that closes ends it quietly', () => {
    const { status, out, err } = shell(
      'set -o pipefail; "$SLUICE" run --ignore-eos --seed 1 | head -c 10',
    );
    assert.equal(status, 0);
    assert.equal(out.length, 10);
    assert.equal(err, '');
    assert.equal(shell('set -o pipefail; "$SLUICE" inspect | true').err, '');
  });
  it(
    'output that cannot be written is status 1',
    { skip: process.platform !== 'linux' && 'needs /dev/full' },
    () => {
      const full = shell('"$SLUICE" run -n 3 >/dev/full');
      assert.equal(full.status, 1);
      assert.match(full.err, /can't write to standard output/);
      const closed = shell('"$SLUICE" run -n 3 >&-');
      assert.equal(closed.status, 1);
    },
  );
  describe('in pipes that do not block, as Node and ssh make them', () => {
    // Makes a pipe with its write end at 4 and its read end at 5, of which the end `side` does not block.
    // Runs the line `before` and the program with `command`, and when the program sleeps or has ended, the
    // line `rest`. (perl is in every Debian.)
    const inPipe = (name, side, before, command, rest) => {
      const fifo = temporary(name);
      const perl = `perl -MFcntl -e 'fcntl(STDIN, F_SETFL, fcntl(STDIN, F_GETFL, 0) | O_NONBLOCK) or die'`;
      return shell(
        `mkfifo ${fifo}; exec 3<>${fifo} 4>${fifo} 5<${fifo} 3>&-; ${perl} <&${side}; ${before}
        "$SLUICE" ${command} & pid=$!
        while { read -r stat </proc/$pid/stat; } 2>/dev/null && [[ $stat != *') '[SZ]' '* ]]; do :; done
        ${rest}; wait $pid`,
      );
    };
    it('output goes on when there is room again', () => {
      const words = temporary('words.txt', 'Once upon a time. '.repeat(20_000));
      const command = `tokenize -f ${words}`;
      const { out, err } = inPipe('out', 4, '', `${command} >&4 4>&- 5<&-`, 'exec 4>&-; cat <&5');
      assert.equal(err, '');
      assert.equal(out, sluice(['tokenize', '-f', words]).out);
    });
    it('so do figures', () => {
      const command = 'run -n 0 -t 1 --seed 12345 2>&4 4>&- 5<&-';
      const fill = 'head -c 65536 /dev/zero >&4;';
      const { out } = inPipe('figures', 4, fill, command, 'exec 4>&-; tail -c 400 <&5');
      assert.match(out, /finish: length\n.*seed 12345.*loaded in .* ms\n$/s);
    });
    it('input is waited for', () => {
      const command = 'tokenize -f - <&5 4>&- 5<&-';
      const { out, err } = inPipe('input', 5, '', command, `printf 'a time' >&4; exec 4>&-`);
      assert.equal(err, '');
      assert.equal(out, sluice(['tokenize', '-p', 'a time']).out);
    });
  });
  it('goes on with the threads that can be started, and says so', (t) => {
    // With stacks of 1 GB in 3.7 GB of addresses at most three threads can start.
    const limited = (args) =>
      shell(`ulimit -s 1000000 && ulimit -v 3700000 || exit 99; "$SLUICE" ${args}`);
    const { status, out, err } = limited('run -t 8 -n 4 --temp 0');
    if (status === 99) return t.skip('the limits can not be set here');
    assert.equal(status, 0, err);
    const [, threads] = /^sluice: warning: only (\d) of 8 threads could be started/.exec(err);
    assert.match(err, new RegExp(`kernels, ${threads} threads?, `));
    assert.equal(out, sluice(['run', '-t', '8', '-n', '4', ...greedy]).out);
    const bench = limited('bench -t 8 -p 4 -n 2 -r 1 --json');
    assert.equal(bench.status, 0, bench.err);
    assert.match(bench.err, /^sluice: warning: only \d of 8 threads could be started/);
    assert.deepEqual(
      JSON.parse(bench.out).runs.map((run) => run.threads),
      [Number(/only (\d)/.exec(bench.err)[1])],
    );
    return undefined;
  });
  it('closed standard streams do no harm', () => {
    assert.equal(shell('"$SLUICE" run -n 3 <&-').status, 0);
    assert.equal(shell('"$SLUICE" run -n 3 2>&-').status, 0);
    const { status, err } = shell('"$SLUICE" run -f - <&-');
    assert.equal(status, 3);
    assert.match(err, /standard input/);
  });
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    it(`${signal} ends it cleanly after the text so far`, async () => {
      const { child, ended } = start([
        'run',
        '--json',
        '--ignore-eos',
        '-c',
        '1048576',
        '--seed',
        '1',
      ]);
      child.stdout.once('data', () => child.kill(signal));
      const { status, out } = await ended;
      assert.equal(status, code);
      const lines = events(out);
      assert.equal(lines[0].event, 'token');
      assert.equal(lines.at(-1).event, 'done');
      assert.equal(lines.at(-1).finish, 'aborted');
    });
  }
});

describe('run, other models', () => {
  const model = optional('models/stories260K-f32.gguf');
  const text = optional('models/stories260K.greedy.txt');
  it('goes on from a prompt as the reference does', { skip: model.skip || text.skip }, () => {
    const expected = readFileSync(text.path, 'utf8');
    const { status, out } = sluice(['run', model.path, ...greedy, '--kv-type', 'f32', '-n', '400']);
    assert.equal(status, 0);
    const story = out.trimStart();
    assert.ok(story.length >= 500);
    assert.equal(story.slice(0, 500), expected.trimStart().slice(0, 500));
  });
});
