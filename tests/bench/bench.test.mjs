// Runs the bench and checks that its figures agree with each other. No test looks at how fast anything is.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-bench-test-'));
after(() => fs.rmSync(dir, { recursive: true }));

function bench(...args) {
  return spawnSync(process.execPath, [path.join(ROOT, 'e2e/bench/bench.mjs'), ...args], {
    encoding: 'utf8',
  });
}

function bench_json(...args) {
  const [json, markdown] = ['json', 'md'].map((end) => path.join(dir, `result.${end}`));
  fs.rmSync(markdown, { force: true });
  const done = bench(...args, '--json', json, '--markdown', markdown);
  assert.equal(done.status, 0, done.stderr);
  const report = JSON.parse(fs.readFileSync(json, 'utf8'));
  const written = fs.existsSync(markdown) ? fs.readFileSync(markdown, 'utf8') : '';
  return { report, markdown: written, printed: done.stdout };
}

const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.abs(b);

test('a short round of all sides: rates, shares and ratios that are their quotients', () => {
  const { report, markdown, printed } = bench_json('--quick');
  assert.ok(report.machine.cpu.length > 0 && report.machine.cores > 0);
  assert.equal(report.models.length, 1);
  const [model] = report.models;
  assert.equal(model.model, 'stories-q8_0.gguf');
  assert.ok(model.bytes_per_token > 2e6 && model.bytes_per_token < model.file_bytes);
  const native = model.rows.filter(({ side }) => side === 'native');
  assert.deepEqual(
    native.map(({ threads }) => threads),
    [1, 2],
  );
  for (const row of model.rows) {
    for (const figure of ['prompt_tps', 'decode_tps']) {
      assert.ok(row[figure] > 0, `${row.side}: ${figure}`);
      assert.equal(row.samples[figure].length, 1);
    }
    assert.ok(near(row.decode_gbps, (row.decode_tps * model.bytes_per_token) / 1e9));
    assert.ok(near(row.read_share, row.decode_gbps / model.read_gbps[row.threads]));
    if (row.side !== 'llama.cpp') assert.ok(row.load_ms > 0);
  }
  // Every pair of two sides that were measured, and no other.
  const sides = new Set(model.rows.map(({ side }) => side));
  const pairs = [
    ['native', 'llama.cpp'],
    ['chromium', 'llama.cpp'],
    ['chromium', 'wllama'],
    ['chromium', 'native'],
  ].filter((pair) => pair.every((side) => sides.has(side)));
  assert.equal(model.ratios.length, 2 * pairs.length);
  for (const { ours, theirs, threads, prompt, decode } of model.ratios) {
    const [a, b] = [ours, theirs].map((side) =>
      model.rows.find((row) => row.side === side && row.threads === threads),
    );
    assert.ok(near(prompt, a.prompt_tps / b.prompt_tps));
    assert.ok(near(decode, a.decode_tps / b.decode_tps));
  }
  // A side that was left out is named, with what to do.
  for (const side of ['llama.cpp', 'Chromium', 'wllama']) {
    if (sides.has(side.toLowerCase())) continue;
    assert.match(printed, new RegExp(`${side}.* is left out: .+`));
  }
  assert.match(
    printed,
    /stories-q8_0\.gguf: prompt of 16 tokens; 8 tokens decoded from an empty context; medians of 1/,
  );
  assert.match(markdown, /\| stories-q8_0\.gguf \(16 \+ 8\) \| /);
});

test('sides, threads and depth can be chosen', () => {
  const { report } = bench_json('--quick', '--sides', 'native', '-t', '2', '--depth', '64');
  const [model] = report.models;
  assert.equal(model.depth, 64);
  assert.deepEqual(
    model.rows.map(({ side, threads }) => [side, threads]),
    [['native', 2]],
  );
  const [row] = model.rows;
  const allowed =
    model.bytes_per_token / (model.bytes_per_token + 64 * model.kv_bytes_per_position);
  assert.ok(near(row.depth_share, row.deep_tps / row.decode_tps / allowed));
  assert.deepEqual(model.ratios, []);
});

test('the first token of a download: its figures follow from the times', () => {
  const { report, printed } = bench_json('--quick', '--streaming');
  const [result] = report.streaming;
  assert.equal(result.prompt_tokens, 100);
  assert.ok(result.plain_ms > 900, `a plain fetch took ${result.plain_ms} ms instead of 1000`);
  const sides = result.rows.map(({ side }) => side);
  for (const side of ['overlap', 'in turn']) assert.ok(sides.includes(side), side);
  for (const row of result.rows) {
    assert.ok(near(row.last_to_plain, row.last_byte_ms / result.plain_ms));
    assert.ok(near(row.after_last_ms, row.first_token_ms - row.last_byte_ms));
    assert.ok(row.late_ms <= row.after_last_ms);
    if (row.side !== 'overlap') assert.ok(row.first_token_ms >= row.ready_ms);
  }
  assert.match(printed, /Sluice, overlap turned off/);
});

test('a model under a budget: the hashes of resident weights, and shares of what reading allows', () => {
  const { report } = bench_json('--quick', '--budget', '-t', '2');
  const { budget, rows, plan, n } = report.budget;
  assert.ok(plan.all > budget && plan.least <= budget);
  assert.deepEqual(
    rows.map(({ side, cold }) => [side, cold]),
    [
      ['native', false],
      ['native', true],
      ['kept', false],
      ['opfs', false],
      ['file', false],
    ],
  );
  for (const row of rows) {
    assert.deepEqual(row.hashes, row.right);
    assert.equal(row.same_hashes, true);
    assert.ok(near(row.read_rate, Math.max(...Object.values(row.reads))));
    assert.ok(near(row.decode_share, row.decode_tps / row.decode_limit));
    assert.ok(row.prompt_limit <= row.resident.prompt_tps);
    // A part of the weights was read for each of the tokens.
    assert.ok(row.reread_bytes > 1e6 * n, `${row.side}: ${row.reread_bytes}`);
    assert.equal(row.peak_beyond, row.peak - budget);
  }
});

test('promises of speed: what is measured, what a text reaches, and the next one', () => {
  const { report, printed } = bench_json('--quick', '--promises');
  const [{ rows, samples }] = report.promises;
  assert.deepEqual(
    rows.map(({ load }) => load),
    ['quiet', 'one core busy'],
  );
  for (const { load, promised, reached, ratio, next, next_ratio } of rows) {
    assert.equal(samples[load].length, 1);
    assert.ok(promised > 0 && near(ratio, reached / promised) && near(next_ratio, next / reached));
  }
  assert.match(printed, /promised and then reached/);
});

test('--help lists the options and runs nothing', () => {
  const done = bench('--help');
  assert.equal(done.status, 0);
  for (const option of ['--types a,b', '--depth N', '--markdown FILE', '--streaming'])
    assert.ok(done.stdout.includes(option), option);
  assert.equal(done.stderr, '');
});

test('mistakes are named', () => {
  for (const [args, message] of [
    [['--sides', 'gpu'], /gpu is none of the sides native, llama\.cpp, chromium, wllama/],
    [['--models', 'gpt-5'], /no model is called gpt-5; the models are bundled, /],
    [['absent.gguf'], /there is no file .*absent\.gguf/],
    [['-p', 'many'], /-p takes a value/],
    [['--fast'], /unknown option --fast/],
  ]) {
    const done = bench(...args);
    assert.equal(done.status, 1);
    assert.match(done.stderr, message);
  }
});
