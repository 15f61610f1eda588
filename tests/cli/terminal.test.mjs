// Tests of the program on a terminal: a pseudo-terminal of util-linux's script.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bundled, damaged, shell, sluice, temporary, temporaryDirectory } from './helpers.mjs';
import { TerminalProgram } from './terminal-screen.mjs';

const has_script = shell('script --version').out.includes('util-linux');
const skip = !has_script && "needs util-linux's script";

// Runs a line of shell on a terminal that can dim text, whatever terminal the tests run on: {status, out}. Line ends in
// `out` are \n.
function on_terminal(line) {
  const terminal = 'unset NO_COLOR; export TERM=xterm';
  const { status, out } = shell(`${terminal}; script -qec ${quoted(line)} /dev/null </dev/null`);
  return { status, out: out.replaceAll('\r\n', '\n') };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

describe('on a terminal', { skip }, () => {
  const run = '"$SLUICE" run -n 12 --temp 0';
  const text = (...args) => sluice(['run', '-n', '12', '--temp', '0', ...args]).out;
  const dimmed = (prompt) => `\u001b[2m${prompt}\u001b[0m`;

  it('the prompt stands dimmed before the text, the figures below it', () => {
    const { status, out } = on_terminal(`${run} -p Once 2>/dev/null`);
    assert.equal(status, 0);
    assert.equal(out, `${dimmed('Once')}${text('-p', 'Once')}\n\n`);
    const ids = on_terminal(`${run} --tokens 1,2,3 2>/dev/null`).out;
    assert.ok(ids.startsWith('\u001b[2m'), ids);
    assert.equal(on_terminal(`${run} 2>/dev/null`).out, `${text()}\n\n`);
    const piped = on_terminal(`printf Once | ${run} 2>/dev/null`).out;
    assert.equal(piped, out);
  });
  it('the prompt is not dimmed where NO_COLOR or the terminal says so, and never moves the cursor', () => {
    const file = temporary('escape.txt', '\u001b[31mOnce\ta\n');
    for (const plain of ['NO_COLOR=1', 'TERM=dumb']) {
      const { out } = on_terminal(`export ${plain}; ${run} -f ${file} 2>/dev/null`);
      assert.ok(out.startsWith('?[31mOnce\ta\n'), out);
      assert.ok(!out.includes('\u001b'));
    }
  });
  it('of a long prompt the end is shown', () => {
    const file = temporary('long.txt', 'caf\u00e9 '.repeat(600));
    const { out } = on_terminal(`"$SLUICE" run -n 1 -c 4096 -f ${file} 2>/dev/null`);
    assert.match(out, /^\u001b\[2m\.\.\.(caf|af|f)?\u00e9? (caf\u00e9 ){300,340}\u001b\[0m/);
  });
  it('the text ends with its line, also with -q and where the run fails', () => {
    assert.equal(on_terminal(`${run} -q -p Once`).out, `${text('-p', 'Once')}\n`);
    assert.equal(on_terminal('"$SLUICE" run -n 0 -q').out, '');
    const largest = Buffer.alloc(4);
    largest.writeFloatLE(3.4e38);
    const model = damaged('large.gguf', 'output_norm.weight', 4 * 100, largest);
    const { status, out } = on_terminal(`${run} ${model} -p Once 2>/dev/null`);
    assert.equal(status, 3);
    assert.equal(out, `${dimmed('Once')}\n`);
  });
  it('loading shows how far it is, and nothing stays of it', () => {
    const errors = temporary('errors.txt');
    const { out } = on_terminal(`${run} -p Once >${temporary('text.txt')}`);
    assert.match(out, /^\r\u001b\[Kloading stories-q8_0\.gguf \(2\.\d+ MB\) 0%/);
    assert.match(out, /\r\u001b\[Kloading [^\r]* \d+%, \d of 5 layers/);
    assert.match(out, /\r\u001b\[Ksluice: prompt of /);
    assert.equal(readFileSync(temporary('text.txt'), 'utf8'), text('-p', 'Once'));
    on_terminal(`${run} -p Once 2>${errors}`);
    assert.doesNotMatch(readFileSync(errors, 'utf8'), /loading /);
    assert.doesNotMatch(on_terminal(`${run} -q -p Once`).out, /loading/);
  });
  it('a long prompt shows how far it is, and nothing stays of it', () => {
    const file = temporary('long-prompt.txt', 'The little dog ran home. '.repeat(400));
    // The slowest kernels: the prompt takes far more than the 0.2 s before which nothing is shown.
    const long = `SLUICE_KERNELS=generic "$SLUICE" run -n 3 --temp 0 -t 1 -c 8192 -f ${file}`;
    const shown = temporary('text-of-long.txt');
    const { status, out } = on_terminal(`${long} >${shown}`);
    assert.equal(status, 0, out);
    const lines = [...out.matchAll(/\r\u001b\[Kprompt (\d+) of (\d+) tokens(, \d+ \w+ left)?/g)];
    assert.ok(lines.length > 2, out);
    assert.ok(
      lines.some(([, , , left]) => left !== undefined),
      out,
    );
    const computed = lines.map(([, tokens]) => Number(tokens));
    assert.deepEqual(
      computed,
      [...computed].sort((a, b) => a - b),
    );
    assert.match(out, /\r\u001b\[Ksluice: prompt of /);
    // On the terminal of the text, the line goes before the prompt is shown.
    const both = on_terminal(long).out;
    assert.match(both, /\r\u001b\[Kprompt [^\r]*\r\u001b\[K\u001b\[2m\.\.\./);
    assert.ok(both.includes(`\u001b[0m${readFileSync(shown, 'utf8')}\n`), both);
    assert.doesNotMatch(on_terminal(`${long} -q`).out, /prompt/);
    const errors = temporary('errors-of-long.txt');
    on_terminal(`${long} 2>${errors}`);
    assert.doesNotMatch(readFileSync(errors, 'utf8'), /tokens,|left/);
  });
  it('figures begin a line of their own where a pipe writes to the same terminal', () => {
    const { out } = on_terminal(`"$SLUICE" run -p Once -n 3 --temp 0 | cat >/dev/null`);
    assert.match(out, /\u001b\[K\nsluice: prompt of/);
  });
  it('bench says what it measures and how long that will yet take', async () => {
    const shown = new TerminalProgram(
      ['bench', '-p', '16', '-n', '4', '-r', '2', '-t', '1,2'].concat('--profile'),
    );
    assert.equal(await shown.ended, 0, shown.raw);
    const lines = shown.raw.split('\r\u001b[K').map((line) => line.split('\r')[0]);
    for (const line of [
      /^run 1 of 6, 1 thread: loading$/,
      /^run 1 of 6, 1 thread: a prompt of 16 tokens$/,
      /^run 4 of 6, 2 threads: decoding 4 tokens; about \d+ s left$/,
      /^run 6 of 6, 2 threads: .* left$/,
      /^measuring what this machine reaches$/,
    ])
      assert.ok(
        lines.some((shown) => line.test(shown)),
        `${line}\n${shown.raw}`,
      );
    assert.doesNotMatch(shown.screen.text(), /run \d of|measuring/);
    assert.doesNotMatch(sluice(['bench', '-p', '4', '-n', '2', '-r', '1', '-t', '1']).err, /./);
  });
  it('no line of progress is wider than the terminal', async () => {
    const model = join(temporaryDirectory(), `${'long-name-'.repeat(5)}.gguf`);
    copyFileSync(bundled, model);
    const prompt = temporary('wide.txt', 'The little dog ran home. '.repeat(150));
    const { memory } = JSON.parse(
      sluice(['inspect', model, '-c', '2048', '-t', '1', '--json']).out,
    );
    // The slowest kernels and the least memory: the line shows the prompt, the file and the rate.
    const shown = new TerminalProgram(
      ['run', model, '-f', prompt, '-n', '1', '-c', '2048', '-t', '1'].concat(
        `--memory-budget=${memory.least}`,
      ),
      { SLUICE_KERNELS: 'generic' },
    );
    assert.equal(await shown.ended, 0, shown.raw);
    const lines = shown.raw.split('\r\u001b[K').slice(1);
    const cut = lines
      .map((line) => line.split(/[\r\n\u001b]/)[0])
      .filter((line) => line.endsWith('...'));
    assert.ok(cut.length > 0, shown.raw);
    for (const line of cut) assert.ok(line.length <= 79, `${line.length}: ${line}`);
    // A line that went on in the next row would leave a row behind.
    assert.doesNotMatch(shown.screen.text(), /reading|loading|tokens;/);
  });
  it('a run whose terminal goes saves its session', async () => {
    const session = join(temporaryDirectory(), 'gone.sluice');
    const args = ['-p', 'Once', '--ignore-eos', '-c', '1048576', '--session', session];
    const run = new TerminalProgram(['run', ...args]);
    await run.shows((screen) => screen.row > 15);
    await run.close();
    const { err } = sluice(['run', '-n', '1', '-c', '1048576', '--session', session]);
    assert.ok(Number(/(\d+) tokens restored/.exec(err)[1]) > 100, err);
  });

  it('reading again shows layers and rate, but not where the text stands', () => {
    const file = temporary('streamed.txt');
    const long = '"$SLUICE" run --temp 0 --ignore-eos -n 2000 -c 2048 -t 1';
    const { memory } = JSON.parse(sluice(['inspect', '-c', '2048', '-t', '1', '--json']).out);
    const budget = `--memory-budget ${memory.least}`;
    const { status, out } = on_terminal(`${long} ${budget} -p Once >${file}`);
    assert.equal(status, 0, out);
    assert.match(out, /\r\u001b\[Ksluice: the model needs .* read again for each token\n/);
    assert.match(
      out,
      /\r\u001b\[Kreading stories-q8_0\.gguf \(2\.\d+ MB\) again, [\d.]+ [kMG]B\/s, \d of 5 layers/,
    );
    assert.match(
      out,
      /\r\u001b\[Ksluice: prompt of .*\n.*\nsluice: .* read again, waited .* ms for weights\n$/,
    );
    assert.doesNotMatch(on_terminal(`${run} ${budget} -p Once`).out, /reading/);
  });
  it('no standard input is waited for', () => {
    assert.equal(on_terminal(`${run} ${bundled} -q`).out, `${text()}\n`);
  });
});
