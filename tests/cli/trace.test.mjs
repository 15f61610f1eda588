// sluice run --trace and sluice replay: what is written of each choice, and what is read of it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bundled,
  events,
  shell,
  sluice,
  start,
  temporary,
  temporaryDirectory,
} from './helpers.mjs';

const prompt = ['-p', 'Once upon a time', '-q'];

/** Runs with a trace: its lines, and what was printed. */
function traced(args, options) {
  const file = join(temporaryDirectory(), 'trace.jsonl');
  const done = sluice(['run', ...args, '--trace', file], options);
  assert.equal(done.status, 0, done.err);
  return { file, lines: events(readFileSync(file, 'utf8')), ...done };
}
/** The choices of a trace, perhaps under other options. */
function choices(file, ...args) {
  const { status, out, err } = sluice(['replay', file, '--json', ...args]);
  assert.equal(status, 0, err);
  return events(out);
}

const samplers = {
  'the usual samplers': [],
  'the likeliest': ['--temp', '0'],
  'penalties of the text': ['--repeat-penalty', '1.3', '--presence-penalty', '0.5'],
  'penalties by count': ['--frequency-penalty', '0.7', '-l', '46-2', '-l', '258+1'],
  'rarer samplers': ['--xtc-probability', '0.5', '--xtc-threshold', '0.05', '--typical', '0.9'],
  DRY: ['--dry-multiplier', '2', '--dry-allowed-length', '1', '--temp', '1.5'],
};

describe('run --trace', () => {
  it('writes the prompt, the options, each token with its logits, and the end', () => {
    const args = [...prompt, '-n', '20', '--seed', '5', '--top-p', '0.9', '--json'];
    const { lines: all, out } = traced(args);
    const [head, ...tokens] = all;
    const done = tokens.pop();
    assert.equal(head.event, 'trace');
    assert.equal(head.version, 1);
    assert.deepEqual(head.model, {
      name: 'Sluice Stories',
      architecture: 'llama',
      vocab: 2048,
      layers: 5,
    });
    assert.equal(head.prompt.text, 'Once upon a time');
    assert.deepEqual(head.prompt.pieces.slice(1), ['Once', ' upon', ' a', ' time']);
    assert.equal(head.prompt.ids.length, 5);
    assert.equal(head.prompt.answerBegin, undefined);
    assert.equal(head.options.seed, 5);
    assert.equal(head.options.topP, 0.9);
    assert.equal(head.options.temperature, 0.8);
    assert.deepEqual(head.options.drySequenceBreakers, ['\n', ':', '"', '*']);
    assert.ok(!('maxTokens' in head.options) && head.kernels.length > 0);
    // The events of --json stay as they are.
    const printed = events(out);
    assert.deepEqual(
      printed,
      events(sluice(['run', ...args]).out).map((event, i) =>
        i < 20 ? event : { ...event, stats: printed[20].stats },
      ),
    );
    assert.deepEqual(
      tokens.map(({ raw, pieces, ...event }) => event),
      printed.slice(0, 20),
    );
    assert.equal(done.event, 'done');
    assert.equal(done.finish, 'length');
    assert.equal(done.stats.seed, 5);
    assert.equal(done.stats.tokens, 20);
    // Each token is named once, by the first line that has it.
    const named = new Set(head.prompt.ids);
    for (const { id, logprob, raw, pieces = {} } of tokens) {
      assert.equal(raw.best.length, 256);
      for (const key of Object.keys(pieces)) assert.ok(!named.has(Number(key)), key);
      for (const key of Object.keys(pieces)) named.add(Number(key));
      for (const [best] of raw.best) assert.ok(named.has(best));
      const own = raw.best.find(([best]) => best === id);
      assert.ok(Math.abs(own[1] - raw.logSum - logprob) < 1e-5);
    }
  });

  for (const [name, args] of Object.entries(samplers)) {
    it(`is enough to see how ${name} took each token`, () => {
      const { file, lines: all } = traced([...prompt, '-n', '60', '--seed', '7', ...args]);
      const seen = choices(file, '--top', '256');
      assert.equal(seen.length, all.length - 2);
      seen.forEach((choice, i) => {
        const { id, text } = all[i + 1];
        assert.ok(choice.enough, `${i}`);
        assert.equal(choice.taken, id, `${i}`);
        assert.equal(choice.id, id);
        assert.equal(choice.text, text);
        const p = choice.candidates.reduce((sum, candidate) => sum + candidate[4], 0);
        assert.ok(Math.abs(p - 1) < 1e-5);
        assert.equal(
          choice.candidates.filter((candidate) => candidate[4] > 0).length,
          choice.nucleus,
        );
      });
    });
  }

  it('tells where an answer began that a session goes on with', () => {
    const session = join(temporaryDirectory(), 's.sluice');
    const args = ['-q', '-n', '30', '--session', session, '--presence-penalty', '1.5'];
    const first = traced(['-p', 'Once upon a time', '--seed', '4', ...args]);
    const second = traced(args);
    const head = second.lines[0];
    assert.equal(head.prompt.answerBegin, 5);
    assert.deepEqual(head.prompt.ids, [
      ...first.lines[0].prompt.ids,
      ...first.lines.slice(1, -1).map(({ id }) => id),
    ]);
    assert.equal(head.options.seed, 4);
    assert.ok(second.lines[1].raw.draws >= 30);
    const taken = choices(second.file).map((choice) => choice.taken);
    assert.deepEqual(
      taken,
      second.lines.slice(1, -1).map(({ id }) => id),
    );
  });

  it('has seeds that a number of JSON would not keep as texts', () => {
    const { file, lines: all } = traced([...prompt, '-n', '8', '--seed', '18446744073709551615']);
    assert.equal(all[0].options.seed, '18446744073709551615');
    assert.deepEqual(
      choices(file).map(({ taken }) => taken),
      all.slice(1, -1).map(({ id }) => id),
    );
  });

  it('has a beginning and an end without any token', () => {
    const { file, lines: all } = traced([...prompt, '-n', '0']);
    assert.deepEqual(
      all.map(({ event }) => event),
      ['trace', 'done'],
    );
    assert.equal(choices(file).length, 0);
    assert.equal(sluice(['replay', file]).out.trimEnd().split('\n').length, 1);
  });

  it('replaces an older trace, and no other file', () => {
    const dir = temporaryDirectory();
    const file = join(dir, 'notes.txt');
    writeFileSync(file, '{"event":"token"}');
    const refused = (args, status, reason) => {
      const done = sluice(['run', ...prompt, '-n', '2', '--json', ...args]);
      assert.equal(done.status, status, done.err);
      assert.equal(events(done.out)[0].code, 'invalid_argument');
      assert.match(events(done.out)[0].message, reason);
    };
    refused(
      ['--trace', file],
      2,
      /another kind is there, no trace; name another file or remove it/,
    );
    assert.equal(readFileSync(file, 'utf8'), '{"event":"token"}');
    refused(['--trace', dir], 2, /it is a folder/);
    refused(['--trace', '-'], 2, /name a file/);
    refused(['--trace', join(dir, 'none', 'x')], 1, /isn't there; make it first/);
    const session = join(dir, 's.sluice');
    refused(['--trace', session, '--session', session], 2, /the same file/);
    refused([bundled, '--trace', bundled], 2, /is the file that is read/);
    assert.ok(!existsSync(session));
    const { file: old, lines: before } = traced([...prompt, '-n', '30', '--seed', '1']);
    const again = sluice(['run', ...prompt, '-n', '3', '--seed', '1', '--trace', old]);
    assert.equal(again.status, 0, again.err);
    assert.deepEqual(events(readFileSync(old, 'utf8')).slice(1, 4), before.slice(1, 4));
  });

  it('is whole when the reader of the text goes', () => {
    const file = join(temporaryDirectory(), 't.jsonl');
    const { err } = shell(
      `"$SLUICE" run -p Once -q --ignore-eos -n 400 --trace '${file}' | head -c 3`,
    );
    assert.equal(err, '');
    const all = events(readFileSync(file, 'utf8'));
    assert.equal(all.at(-1).event, 'done');
    assert.equal(choices(file).length, all.length - 2);
  });

  it('is whole after Ctrl-C, and readable after a kill', async () => {
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGKILL', null],
    ]) {
      const file = join(temporaryDirectory(), 't.jsonl');
      const args = [
        'run',
        '-p',
        'Once',
        '--temp',
        '2',
        '--ignore-eos',
        '-c',
        '100000',
        '--trace',
        file,
      ];
      const { child, ended } = start(args);
      child.stdout.once('data', () => child.kill(signal));
      assert.equal((await ended).status, status);
      const text = readFileSync(file, 'utf8');
      if (signal === 'SIGINT') assert.equal(events(text).at(-1).finish, 'aborted');
      assert.ok(choices(file).length > 0);
    }
  });

  it('ends the run with an error where it has no room', () => {
    const dir = temporaryDirectory();
    const done = shell(
      `cd '${dir}'; ulimit -f 64; "$SLUICE" run -p Once --ignore-eos -n 400 --trace t.jsonl --json`,
    );
    assert.equal(done.status, 1, done.err);
    const last = events(done.out).at(-1);
    assert.equal(last.event, 'error');
    assert.match(
      last.message,
      /can't write .*t\.jsonl: File too large. What was written before stays/,
    );
    const { status, err, out } = sluice(['replay', join(dir, 't.jsonl')]);
    assert.equal(status, 0);
    assert.match(err, /ends in the middle of a line, which is left out/);
    assert.ok(out.split('\n').length > 5);
  });
});

describe('replay', () => {
  const story = traced([...prompt, '-n', '40', '--seed', '3']);
  const text = readFileSync(story.file, 'utf8');

  it('prints a line for each token', () => {
    const { out, err } = sluice(['replay', story.file]);
    assert.equal(err, '');
    const rows = out.trimEnd().split('\n');
    assert.equal(rows.length, 41);
    assert.match(rows[0], /^ {5}# token +before +after +entropy\/nats +drawn +samplers$/);
    // Each number ends where its head does.
    const heads = rows[0].matchAll(/before|after|entropy\/nats|drawn/g);
    for (const { 0: head, index } of heads)
      assert.match(rows[1].slice(0, index + head.length), / (0\.\d+|2)$/);
    assert.match(rows[1], /^ {5}1 "," +0\.9\d{3} +0\.9\d{3} +0\.\d{3} +2 {2}topK 40, topP 2$/);
  });

  it('takes a random number for each token where the trace tells no draws', () => {
    const [head, ...rest] = text.trimEnd().split('\n');
    const lines = rest.map((line) => {
      const value = JSON.parse(line);
      if (value.event === 'token') delete value.raw.draws;
      return JSON.stringify(value);
    });
    const file = temporary('undrawn.jsonl', [head, ...lines, ''].join('\n'));
    assert.deepEqual(choices(file), choices(story.file));
    assert.equal(sluice(['replay', file]).out, sluice(['replay', story.file]).out);
  });

  it("has help that names the trace's options as its defaults", () => {
    const help = sluice(['replay', '--help']).out.split('Sampling:')[1].replace(/\s+/g, ' ');
    assert.match(help, / --seed S the random numbers that take .* \(default the trace's\)/);
    const defaults = help.match(/\(default [^)]*\)/g);
    assert.ok(defaults.length >= 18);
    assert.deepEqual([...new Set(defaults)], ["(default the trace's)"]);
    assert.doesNotMatch(help, /a random one/);
    assert.match(sluice(['run', '--help']).out, /default a random one/);
  });

  it('shows what other samplers do with the same logits, as a run with them does', () => {
    const other = ['--temp', '1.7', '--top-p', '0.8', '--min-p', '0', '--top-k', '100'];
    const run = traced([...prompt, '-n', '1', '--seed', '3', ...other]);
    const [own] = choices(run.file, '--top', '256');
    const [seen] = choices(story.file, '--top', '256', ...other);
    assert.equal(seen.taken, run.lines[1].id);
    assert.deepEqual({ ...seen, id: 0, text: '' }, { ...own, id: 0, text: '' });
    const { out } = sluice(['replay', story.file, '--temp', '0', '-l', '44-100']);
    assert.match(out.split('\n')[1], /"," .* - .*; takes " there"$/);
  });

  it('says where the logits that were kept do not suffice', () => {
    for (const option of [
      ['--top-k', '0'],
      ['--top-k', '257'],
      ['--top-nsigma', '1'],
    ]) {
      for (const choice of choices(story.file, ...option)) {
        const { id, text: said, ...rest } = choice;
        assert.ok(id >= 0 && said.length > 0);
        assert.deepEqual(rest, { enough: false });
      }
      const { out } = sluice(['replay', story.file, ...option]);
      assert.match(out, /needs logits that the trace doesn't have/);
    }
  });

  it('leaves out a last line that was cut anywhere', () => {
    const first = text.indexOf('\n') + 1;
    for (let cut = first; cut < text.length - 1; cut += 997) {
      const done = sluice(['replay', temporary('cut.jsonl', text.slice(0, cut)), '--json']);
      assert.equal(done.status, 0, done.err);
      const whole = text.slice(first, cut).split('\n').length - 1;
      assert.ok([whole, whole + 1].includes(done.out.split('\n').length - 1));
    }
  });

  it('names the line of a file that is no trace', () => {
    const [head, token, ...rest] = text.trimEnd().split('\n');
    const edit = (line, change) => {
      const value = JSON.parse(line);
      change(value);
      return JSON.stringify(value);
    };
    const edit_head = (change) => `${edit(head, change)}\n${token}\n`;
    const edit_token = (change) => `${head}\n${token}\n${edit(rest[0], change)}\n`;
    for (const [file, reason] of [
      ['', /it is empty|is empty/],
      ['hello', /line 1: it is no JSON\. A trace is what sluice run --trace writes/],
      ['[]', /line 1: it is no JSON object/],
      [token, /line 1: it is not the beginning of a trace/],
      [edit_head((v) => delete v.version), /line 1: it has no version/],
      [edit_head((v) => (v.version = 2)), /line 1: its version is 2; .*newer/],
      [edit_head((v) => delete v.model), /line 1: it has no model/],
      [edit_head((v) => (v.model.vocab = 0)), /line 1: its vocabulary has no size/],
      [edit_head((v) => (v.model.vocab = 1e15)), /line 1: its vocabulary has no size/],
      [edit_head((v) => (v.model.suppressed = [-1])), /line 1: its suppressed has a token/],
      [edit_head((v) => (v.prompt.ids = [2048])), /line 1: its prompt has a token/],
      [edit_head((v) => (v.prompt.ids = 'x')), /line 1: its prompt is no list/],
      [edit_head((v) => delete v.options), /line 1: it has no options/],
      [edit_head((v) => (v.options.topP = 7)), /line 1: topP must be a number from 0 to 1/],
      [edit_head((v) => (v.options.seed = '1x')), /line 1: its seed is no whole number/],
      [edit_head((v) => (v.options.seed = '18446744073709551616')), /line 1: its seed/],
      [`${'['.repeat(1 << 20)}`, /line 1: it/],
      [`${head}\n${token}\n{"event":\n`, /line 3: it is no JSON/],
      [`${head}\n{"event":"working"}\n`, /line 2: it is no event of a trace/],
      [`${head}\n\n`, /line 2: it is no JSON/],
      [`${head}\n${' '.repeat(1 << 21)}\n`, /line 2: it is longer than/],
      [
        `${head}\n${JSON.stringify({ event: 'token', id: 1, x: Array(9000).fill(0) })}\n`,
        /line 2: its JSON has more than 6144 parts/,
      ],
      [edit_token((v) => (v.id = 2048)), /line 3: its id is none of the vocabulary's, 0 to 2047/],
      [edit_token((v) => (v.id = 1.5)), /line 3: its id/],
      [edit_token((v) => (v.raw = {})), /line 3: its raw has no logSum/],
      [edit_token((v) => (v.raw.best = [])), /line 3: its raw has 0 logits/],
      [edit_token((v) => v.raw.best.push([1, 2])), /line 3: its raw has 257 logits/],
      [
        edit_token(
          (v) =>
            (v.raw.best = [
              [1, 2],
              [1, 2],
            ]),
        ),
        /line 3: its raw has the token 1 twice/,
      ],
      [edit_token((v) => (v.raw.best = [[1, '2']])), /line 3: a logit of its raw is no pair/],
      [edit_token((v) => (v.raw.best = [[-1, 2]])), /line 3: a logit of its raw is no pair/],
      [edit_token((v) => (v.pieces = { 4096: 'x' })), /line 3: its pieces are not texts/],
      [edit_token((v) => (v.pieces = { 1: 2 })), /line 3: its pieces are not texts/],
    ]) {
      const path = temporary('odd.jsonl', file);
      const done = sluice(['replay', path, '--json']);
      assert.equal(done.status, 3, `${reason}: ${done.err}`);
      const error = events(done.out).at(-1);
      assert.equal(error.code, 'bad_file');
      assert.match(error.message, reason);
      assert.match(done.err, /^sluice: error: /);
    }
    assert.equal(sluice(['replay', join(temporaryDirectory(), 'none')]).status, 3);
    assert.equal(sluice(['replay', temporaryDirectory()]).status, 3);
    const none = sluice(['replay']);
    assert.equal(none.status, 2);
    assert.match(none.err, /no FILE; name a trace/);
    assert.equal(sluice(['replay', story.file, 'other']).status, 2);
    assert.equal(sluice(['replay', story.file, '--speed', '-1']).status, 2);
    assert.equal(sluice(['replay', story.file, '--top', '257']).status, 2);
  });

  it('takes numbers that only a hostile file has', () => {
    const [head] = text.split('\n');
    const best = [
      [5, null],
      [6, 1e300],
      [7, -1e300],
      [8, 0],
    ];
    const token = {
      event: 'token',
      id: 9,
      text: 'x',
      raw: { logSum: null, entropy: -5, draws: -1, best },
    };
    const file = temporary(
      'odd.jsonl',
      `${head}\n${JSON.stringify(token)}\n{"event":"token","id":3}\n`,
    );
    for (const options of [[], ['--top-k', '1'], ['--temp', '0']])
      assert.equal(choices(file, ...options).length, 2);
    const { status, out } = sluice(['replay', file]);
    assert.equal(status, 0);
    assert.match(out, /the trace doesn't tell what it was chosen from/);
  });

  it('shows no control characters of a file', () => {
    const evil = '\u001b[2J\u202e\u0007\n';
    const [head, ...rest] = text.trimEnd().split('\n');
    const changed = JSON.parse(head);
    changed.prompt.pieces = changed.prompt.pieces.map(() => evil);
    changed.prompt.text = evil;
    const tokens = rest.map((line) => {
      const value = JSON.parse(line);
      if (value.event !== 'token') return line;
      for (const id of Object.keys(value.pieces ?? {})) value.pieces[id] = evil;
      return JSON.stringify({ ...value, text: evil });
    });
    const file = temporary('evil.jsonl', [JSON.stringify(changed), ...tokens, ''].join('\n'));
    for (const args of [[], ['--json']]) {
      const { status, out, err } = sluice(['replay', file, ...args]);
      assert.equal(status, 0, err);
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(out + err, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
      assert.equal(out.trimEnd().split('\n').length, args.length > 0 ? 40 : 41);
    }
  });

  it('stops when its reader goes', () => {
    const { status, out, err } = shell(`"$SLUICE" replay '${story.file}' --json | head -n 1`);
    assert.equal(status, 0);
    assert.equal(err, '');
    assert.equal(events(out).length, 1);
  });
});
