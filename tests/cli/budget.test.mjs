// Tests of models larger than their memory: --memory-budget, what is read again, and files that fail meanwhile.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bundled, events, optional, sluice, start, temporary } from './helpers.mjs';

const memory_of = (path, ...args) => {
  const { status, out, err } = sluice(['inspect', path, '--json', ...args]);
  assert.equal(status, 0, err);
  return JSON.parse(out).memory;
};
const greedy = ['--temp', '0'];

describe('--memory-budget', () => {
  it('takes bytes and units', () => {
    for (const [text, bytes] of [
      ['16000000', 16e6],
      ['16000000B', 16e6],
      ['16000K', 16e6],
      ['16M', 16e6],
      ['16MB', 16e6],
      ['16.5M', 16.5e6],
      ['16MiB', 16 * 2 ** 20],
      ['2G', 2e9],
      ['2GB', 2e9],
      ['1.5GiB', 1.5 * 2 ** 30],
      ['300m', 300e6],
      ['2gb', 2e9],
      ['1e9', 1e9],
      ['9007199254740991', 2 ** 53 - 1],
      ['1T', 1e12],
    ]) {
      assert.equal(memory_of(bundled, '--memory-budget', text).budget, bytes, text);
    }
    assert.equal(memory_of(bundled).budget, 0);
  });
  it('refuses what is no size', () => {
    const wrong = [
      '',
      '0',
      '-1',
      '+5M',
      'M',
      '5X',
      '5 M',
      ' 5M',
      '5M ',
      '5MM',
      '0x10',
      '1e400',
      '1e20',
    ];
    wrong.push('nan', 'inf', '0.5', '9007199254740992', '9T T', '1,5G', '1.5', '5\u00a0M');
    for (const command of ['run', 'logits', 'inspect', 'bench', 'imatrix']) {
      for (const text of command === 'run' ? wrong : wrong.slice(0, 6)) {
        const { status, out, err } = sluice([command, '--memory-budget', text]);
        assert.equal(status, 2, `${command} '${text}'`);
        assert.equal(out, '');
        assert.match(err, /^sluice: error: --memory-budget/, text);
      }
    }
  });
  it('that is too small names the least, and that does', () => {
    const { least } = memory_of(bundled, '-t', '1');
    for (const args of [
      ['run', '-t', '1', '-n', '4', ...greedy],
      ['logits', '-p', 'Once', '-t', '1'],
      ['logits', '-p', 'Once upon a time there was a little dog.', '-t', '1'],
      ['bench', '-t', '1', '-r', '1', '-p', '4', '-n', '2'],
    ]) {
      args.push('--json');
      const told = sluice([...args, '--memory-budget', '1M']);
      assert.equal(told.status, 4, args[0]);
      const [event] = events(told.out);
      assert.equal(event.code, 'budget_too_small');
      const [, needed] = /needs (\d+) bytes \(.*\) at least/.exec(event.message);
      // bench has a context of its own; logits has those of each position.
      if (args[0] === 'run') assert.equal(Number(needed), least);
      assert.equal(sluice([...args, '--memory-budget', String(needed - 1)]).status, 4);
      const done = sluice([...args, '--memory-budget', needed]);
      assert.equal(done.status, 0, done.err);
      if (args[0] !== 'logits') continue;
      const { length } = JSON.parse(done.out).positions;
      const rows = (Number(needed) - least) / (length - 1);
      assert.equal(rows % 64, 0);
      assert.ok(rows > 4 * 512, `${rows} bytes for each further position`);
    }
  });
  it('that is too small for the context names one that fits, the largest', () => {
    const { least } = memory_of(bundled, '-t', '1', '-c', '512');
    const args = ['run', '-p', 'Once', '-t', '1', '-n', '4', ...greedy, '--memory-budget'];
    const told = sluice([...args, least, '-c', '1000', '--json']);
    assert.equal(told.status, 4, told.err);
    const [{ message, facts }] = events(told.out);
    assert.match(
      message,
      /; give it more, or use a context of 512 \(it is 1000\) or a smaller model/,
    );
    assert.equal(facts.contextSize, 512);
    assert.equal(sluice([...args, least, '-c', '512']).status, 0);
    assert.notEqual(sluice([...args, least, '-c', '768']).status, 0);
    assert.match(sluice([...args, '1M']).err, /a smaller model: no smaller context would do/);
  });
  it('the least that inspect shows is enough', () => {
    const [, size, unit] =
      /least budget +([\d.]+) (\w+)/.exec(sluice(['inspect', bundled]).out) ?? [];
    const { status, err } = sluice(['run', '-n', '1', '--memory-budget', `${size}${unit}`]);
    assert.equal(status, 0, err);
  });
  it('the most that inspect shows is enough for all', () => {
    const [, size, unit] = /at most +([\d.]+) (\w+)/.exec(sluice(['inspect', bundled]).out) ?? [];
    assert.equal(memory_of(bundled, '--memory-budget', `${size}${unit}`).rereadBytes, 0);
  });
  it('figures beside it agree after rounding', () => {
    const { total, least } = memory_of(bundled, '-t', '1');
    const bytes = { B: 1, kB: 1e3, MB: 1e6 };
    const size = (text) => {
      const [number, unit] = text.split(' ');
      return Number(number) * (bytes[unit] ?? 1);
    };
    for (let budget = total - 1; budget >= least; budget -= 77_777) {
      const args = ['-t', '1', '--memory-budget', String(budget)];
      const shown = sluice(['inspect', bundled, ...args]).out;
      const most = size(/at most +([\d.]+ \w+)/.exec(shown)[1]);
      const given = size(/under the budget of ([\d.]+ \w+)/.exec(shown)[1]);
      assert.ok(size(/least budget +([\d.]+ \w+)/.exec(shown)[1]) <= most, shown);
      assert.ok(most <= given, shown);
    }
    for (const budget of [total - 1, least]) {
      const args = ['-n', '1', '-t', '1', '--memory-budget', String(budget)];
      const { err } = sluice(['run', ...args]);
      const [, needed, given] = /needs ([\d.]+ \w+), but the budget is ([\d.]+ \w+):/.exec(err);
      assert.ok(size(needed) > size(given), err);
    }
  });
  it('inspect tells the least, and what is read again', () => {
    const whole = memory_of(bundled);
    assert.ok(whole.least < whole.total);
    assert.equal(whole.rereadBytes, 0);
    const tight = memory_of(bundled, '--memory-budget', String(whole.least));
    assert.equal(tight.total, whole.least);
    assert.ok(tight.rereadBytes > 0);
    const text = (...args) => sluice(['inspect', bundled, ...args]).out;
    assert.match(
      text(),
      /^ {2}least budget .* MB {2}--memory-budget; then weights are read again$/m,
    );
    assert.doesNotMatch(text(), /^ {2}read again/m);
    assert.match(
      text('--memory-budget', '14M'),
      /^ {2}read again .* under the budget of 14\.0 MB$/m,
    );
    assert.match(
      text('--memory-budget', '1M'),
      /least budget .*more than the budget: it can't be run/,
    );
    for (const budget of ['14M', '1M'])
      for (const line of text('--memory-budget', budget).split('\n').slice(1))
        assert.ok([...line].length <= 80, line);
  });
});

describe('a model larger than its memory', () => {
  const { least } = memory_of(bundled, '-t', '2');
  const budget = ['-t', '2', '--memory-budget', String(least)];
  const run = ['run', '-p', 'Once upon a time', '-n', '40', ...greedy];

  it('writes the same text and tells what it read again', () => {
    const whole = sluice(run);
    const { status, out, err } = sluice([...run, ...budget]);
    assert.equal(status, 0, err);
    assert.equal(out, whole.out);
    assert.match(
      err,
      /^sluice: the model needs [\d.]+ MB, but the budget is [\d.]+ MB: [\d.]+ MB of its weights are read again for each token$/m,
    );
    assert.match(err, /^sluice: [\d.]+ MB of weights read again, waited [\d.]+ ms for weights$/m);
    assert.doesNotMatch(whole.err, /again/);
  });
  it('has the figures in its stats', () => {
    const stats = (...args) => events(sluice([...run, '--json', ...args]).out).pop().stats;
    const tight = stats(...budget);
    assert.equal(tight.memoryBudget, least);
    const { rereadBytes } = memory_of(bundled, ...budget);
    // Each of 40 passes reads them, and reading goes on into the next.
    assert.ok(tight.rereadBytes >= 39 * rereadBytes, String(tight.rereadBytes));
    assert.ok(tight.rereadBytes <= 42 * rereadBytes, String(tight.rereadBytes));
    assert.ok(tight.waitedMs >= 0);
    assert.ok(tight.loadMs > 0);
    const whole = stats();
    assert.equal(whole.rereadBytes, 0);
    assert.ok(tight.residentBytes < whole.residentBytes);
  });
  it(
    'by default is one that is larger than what is free',
    { skip: !existsSync('/proc/meminfo') && 'needs /proc/meminfo' },
    () => {
      const [, kilobytes] = /MemTotal: +(\d+) kB/.exec(readFileSync('/proc/meminfo', 'utf8'));
      const { memoryBudget } = events(sluice([...run, '--json']).out).pop().stats;
      assert.ok(memoryBudget > 0 && memoryBudget < Number(kilobytes) * 1024);
    },
  );
  it('is measured by bench', () => {
    const args = ['bench', '-t', '1', '-r', '1', '-p', '4', '-n', '2', '--json'];
    const { status, out, err } = sluice([...args, '--memory-budget', String(least)]);
    assert.equal(status, 0, err);
    assert.ok(JSON.parse(out).runs[0].decode_tps > 0);
  });
  it('whose file is cut short meanwhile ends with an error, after right text', async () => {
    const path = temporary('cut-while-read.gguf');
    copyFileSync(bundled, path);
    const args = ['run', path, '--json', '--ignore-eos', '-t', '2', '-c', '100000', ...greedy];
    const { least: needed } = memory_of(path, '-t', '2', '-c', '100000');
    const { child, ended } = start([...args, '--memory-budget', String(needed)]);
    child.stdout.once('data', () => truncateSync(path, 1_000_000));
    const { status, out } = await ended;
    assert.equal(status, 3);
    const lines = events(out);
    const error = lines.pop();
    assert.equal(error.code, 'bad_file');
    assert.match(error.message, /cut-while-read\.gguf.*cut short/);
    assert.ok(lines.length > 0);
    const whole = ['run', bundled, '--json', '--ignore-eos', '-c', '100000', ...greedy];
    const expected = events(sluice([...whole, '-n', String(lines.length)]).out);
    assert.deepEqual(
      lines.map(({ id, logprob }) => [id, logprob]),
      expected.slice(0, lines.length).map(({ id, logprob }) => [id, logprob]),
    );
  });
});

describe('under its least budget each model gives the bits of the whole', () => {
  const tiny = optional('models/tiny');
  const paths = tiny.skip
    ? []
    : readdirSync(tiny.path)
        .filter((name) => name.endsWith('.gguf'))
        .map((name) => join(tiny.path, name));
  it('the models of ../shared/models/tiny are there', { skip: tiny.skip }, () => {
    assert.ok(paths.length > 0);
  });
  for (const path of [bundled, ...paths]) {
    const info = JSON.parse(sluice(['inspect', path, '--json']).out);
    if (!info.supported) continue;
    it(path.slice(path.lastIndexOf('/') + 1), () => {
      // A model that writes no text has no logits: it makes vectors.
      const writes = info.makes.includes('text');
      const args = [writes ? 'logits' : 'embed', path, '--tokens', '5,1,30,7,7,12'];
      args.push(writes ? '--hash' : '--json');
      const { status, out, err } = sluice(args);
      assert.equal(status, 0, err);
      for (const threads of ['1', '2']) {
        const { least, total } = memory_of(path, '-t', threads);
        assert.ok(least < total);
        const { rereadBytes } = memory_of(path, '-t', threads, '--memory-budget', String(least));
        // An encoder of two layers holds both under its least budget.
        assert.ok(rereadBytes > 0 || !writes);
        const tight = [...args, '-t', threads, '--memory-budget', String(least)];
        for (const more of writes ? [[], ['--batch', '1'], ['--batch', '4']] : [[]]) {
          const got = sluice([...tight, ...more]);
          assert.equal(got.status, 0, got.err);
          assert.equal(got.out, out, `${threads} threads ${more.join(' ')}`);
          if (rereadBytes > 0) assert.match(got.err, /read again/);
        }
      }
    });
  }
});
