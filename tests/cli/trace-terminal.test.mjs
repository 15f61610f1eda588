// Candidates at a terminal: run --watch below a text that is written, and replay with its keys.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { events, shell, sluice, temporaryDirectory } from './helpers.mjs';
import { TerminalProgram, lacksScript } from './terminal-screen.mjs';

const story = ['-p', 'Once upon a time', '-n', '30', '--seed', '3'];
const STYLES = /\u001b\[[12]m/; // bold and faint
const widest = (screen) => Math.max(...screen.rows().map((row) => row.length));

describe('run --watch', { skip: lacksScript }, () => {
  const text = `Once upon a time${sluice(['run', ...story, '-q']).out}`;

  /** The text alone is left, and the figures. */
  const begins = (run) => {
    assert.ok(
      run.screen.text().startsWith(`${text}\n\nsluice: prompt of 5 tokens`),
      run.screen.text(),
    );
    assert.doesNotMatch(run.screen.text(), /drawn among/);
  };

  it('shows candidates below the text, and leaves the text alone', async () => {
    const run = new TerminalProgram(['run', ...story, '--watch']);
    assert.equal(await run.ended, 0, run.screen.text());
    begins(run);
    const seen = run.raw.split(/token (?=\d+: ")/).slice(1);
    assert.equal(seen.length, 30, run.raw);
    assert.match(seen[0], /^1: ",", probability 0\.9\d{3}, surprise 0\.\d\d, entropy 0\.\d\d nats/);
    assert.match(seen[0], /topK 40, topP 2; drawn among 2 \(0\.99\d\)/);
    assert.match(seen[0], /> ","  .*0\.9\d{3} +0\.9\d{3} .*\u2588{10}/);
    assert.match(seen[0], /" in"  .* - topP/);
    assert.match(run.raw, STYLES);
  });

  it('wraps the text as the terminal does, however narrow it is', async () => {
    for (const columns of [20, 33, 80]) {
      const run = new TerminalProgram(['run', ...story, '--watch'], {}, `stty cols ${columns}`);
      run.screen.columns = columns;
      assert.equal(await run.ended, 0, run.screen.text());
      begins(run);
      // No row of the candidates was wrapped.
      for (const line of run.raw.replaceAll('\r', '').split(/\n|\u001b\[\d+A/))
        if (/^(\u001b\[\dm)?[> *] "/.test(line))
          // eslint-disable-next-line no-control-regex
          assert.ok([...line.replace(/\u001b\[\d*[a-zA-Z]/g, '')].length < columns, line);
    }
  });

  it('ends with the text after Ctrl-C', async () => {
    const args = ['run', '-p', 'Once', '--temp', '0', '--ignore-eos', '-c', '100000', '--watch'];
    const run = new TerminalProgram(args);
    await run.shows(/Once upon a time/);
    run.type('\u0003');
    assert.equal(await run.ended, 130);
    assert.doesNotMatch(run.screen.text(), /drawn among/);
    assert.match(run.screen.text(), /^Once upon a time/m);
  });

  it('is neither bold nor faint where NO_COLOR is set', async () => {
    const run = new TerminalProgram(['run', ...story, '--watch'], { NO_COLOR: '1' });
    assert.equal(await run.ended, 0, run.screen.text());
    assert.match(run.raw, /drawn among/);
    assert.doesNotMatch(run.raw, STYLES);
    assert.match(run.screen.text(), /sluice: prompt of 5 tokens/);
  });

  it('shows the candidates that a trace has', async () => {
    const file = join(temporaryDirectory(), 't.jsonl');
    const run = new TerminalProgram(['run', ...story, '--watch', '--trace', file]);
    assert.equal(await run.ended, 0, run.screen.text());
    assert.equal(events(readFileSync(file, 'utf8')).length, 32);
    begins(run);
  });

  it('needs a terminal', async () => {
    for (const [args, reason] of [
      [
        [],
        /--watch needs a terminal .*--trace FILE writes them, and sluice replay FILE shows them/,
      ],
      [['--json'], /leave out --json, or take --trace FILE/],
    ]) {
      const { status, out, err } = sluice(['run', ...story, '--watch', ...args]);
      assert.equal(status, 2);
      assert.match(err, reason);
      if (args.length > 0) assert.equal(events(out)[0].code, 'invalid_argument');
    }
    const dumb = new TerminalProgram(['run', ...story, '--watch'], { TERM: 'dumb' });
    assert.equal(await dumb.ended, 2);
    assert.match(dumb.screen.text(), /this one obeys no escapes/);
  });
});

describe('replay at a terminal', { skip: lacksScript }, () => {
  const file = join(temporaryDirectory(), 'trace.jsonl');
  let tokens;
  before(() => {
    const done = sluice(['run', ...story, '-q', '--trace', file]);
    assert.equal(done.status, 0, done.err);
    tokens = events(readFileSync(file, 'utf8')).slice(1, -1);
  });
  const quoted = (n) => JSON.stringify(tokens[n - 1].text);
  /** Waits until it shows a token, to the last row. */
  const at = (replay, n) =>
    replay.shows(
      (screen) =>
        screen.text().includes(`token ${n} of 30: ${quoted(n)}, `) &&
        screen.text().trimEnd().endsWith('q: quit'),
    );
  const shown = (replay) => replay.screen.text().trim();

  it('steps, jumps and ends by keys', async () => {
    const replay = new TerminalProgram(['replay', file, '--speed', '0']);
    await at(replay, 1);
    assert.match(shown(replay), /^Once upon a time,\n\ntoken 1 of 30/);
    assert.match(shown(replay), /stopped, 5 tokens\/s {2}space: play, .*q: quit$/);
    replay.type('n');
    await at(replay, 2);
    replay.type('\u001b[C\u001bOC');
    await at(replay, 4);
    replay.type('p\u001b[D');
    await at(replay, 2);
    replay.type('\u001b[F');
    await at(replay, 30);
    await replay.shows(/ended/);
    const words = tokens.map(({ text }) => text).join('');
    assert.ok(
      shown(replay).replaceAll('\n', '').startsWith(`Once upon a time${words}`.slice(0, 79)),
    );
    replay.type('n\u001b[H');
    await at(replay, 1);
    replay.type('p');
    // Of other sequences no letter is a key.
    replay.type('\u001b[15~\u001b[1;5Cx+');
    await replay.shows(/stopped, 10 tokens\/s/);
    await at(replay, 1);
    replay.type('--');
    await replay.shows(/stopped, 2\.5 tokens\/s/);
    replay.type('q');
    assert.equal(await replay.ended, 0);
    assert.match(shown(replay), /token 1 of 30/);
    assert.ok(widest(replay.screen) < 80);
  });

  it('plays to the end at its speed, and stops by the space bar', async () => {
    const replay = new TerminalProgram(['replay', file, '--speed', '500']);
    await at(replay, 30);
    await replay.shows(/ended/);
    replay.type('-'.repeat(7));
    await replay.shows(/ended, 3\.91 tokens\/s/);
    replay.type('  ');
    await replay.shows(/stopped/);
    await at(replay, 1);
    replay.type(' ');
    await replay.shows(/playing/);
    await replay.shows(/token ([2-9]|\d\d) of 30/);
    replay.type('\u0003');
    assert.equal(await replay.ended, 130);
  });

  it('shows other options, and says what they would take', async () => {
    const replay = new TerminalProgram([
      ...['replay', file, '--speed', '0', '--temp', '0', '-l', `${tokens[0].id}-100`, '--top', '3'],
    ]);
    await at(replay, 1);
    assert.match(shown(replay), /; takes " there"/);
    assert.match(shown(replay), /\n\* " there"/);
    assert.match(shown(replay), /\n> "," .* - temperature/);
    assert.equal(shown(replay).match(/^[> *] "/gm).length, 3);
    replay.type('q');
    assert.equal(await replay.ended, 0);
    const lacks = new TerminalProgram(['replay', file, '--speed', '0', '--top-k', '0']);
    await lacks.shows(/more logits are needed than were kept/);
    assert.match(shown(lacks), /> "," +0\.9/);
    lacks.type('q');
    assert.equal(await lacks.ended, 0);
  });

  it('fits a terminal that is narrow or changes', async () => {
    const replay = new TerminalProgram(
      ['replay', file, '--speed', '0'],
      { NO_COLOR: '1' },
      'stty cols 28 rows 12',
    );
    replay.screen.columns = 28;
    await replay.shows(/token 1 of 30/);
    replay.type('\u001b[F');
    await replay.shows(/token 30 of 30/);
    assert.ok(widest(replay.screen) < 28, replay.screen.text());
    assert.ok(replay.screen.rows().length <= 12);
    assert.doesNotMatch(replay.raw, STYLES);
    replay.resize(60);
    await replay.shows(/space: play, n\/p/);
    replay.type('q');
    assert.equal(await replay.ended, 0);
  });

  it('leaves the terminal as it was, and ends with it', async () => {
    const replay = new TerminalProgram(['replay', file]);
    await replay.shows(/playing/);
    await replay.close();
    const { out } = shell(
      `echo q | script -qec "'${process.env.SLUICE_BIN ?? '$SLUICE'}' replay '${file}' --speed 0; stty -a" /dev/null`,
    );
    assert.match(out, / icanon/);
    assert.match(out, / echo /);
  });

  it('says that a file is none before it shows anything', async () => {
    const none = new TerminalProgram(['replay', '/dev/null']);
    assert.equal(await none.ended, 3);
    assert.match(none.screen.text(), /^sluice: error: /);
  });
});
