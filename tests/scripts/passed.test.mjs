// Tests of what the tests remember: which steps passed with which inputs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { run_ladder } from '../../scripts/ladder.mjs';
import { ROOT } from '../../scripts/lib.mjs';
import { LOGS } from '../../scripts/steps.mjs';
import {
  fits_helpers,
  fits_record,
  hash_of,
  hash_of_helpers,
  record,
  record_helpers,
} from '../../scripts/passed.mjs';

const base = path.join(ROOT, 'build/tests-of-passed');
fs.rmSync(base, { recursive: true, force: true });
after(() => {
  fs.rmSync(base, { recursive: true, force: true });
  record(step('build'), '', { passed: 0, failed: 1 });
  record(step('test'), '', { passed: 0, failed: 1 });
});

/** A file below build/, by its path from the checkout. */
function file(name, text) {
  const full = path.join(base, name);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, text);
  return path.relative(ROOT, full);
}

const step = (name, more = {}) => ({
  name: `tests-of-passed-${name}`,
  needs: [],
  inputs: [],
  commands: [['true']],
  ...more,
});
const good = { passed: 3, failed: 0, skipped: 1 };

describe('passed', () => {
  it('knows a step again by its inputs, its commands and the inputs of what it needs', () => {
    const hashes = ['one', 'two'].map((text) => {
      const build = step('build', { inputs: [file(`in-${text}`, text)] });
      return hash_of(step('test', { needs: [build.name] }), [build]);
    });
    assert.notEqual(hashes[0], hashes[1]);
    const build = step('build', { inputs: [file('in-one', 'one')] });
    const test = step('test', { needs: [build.name] });
    assert.equal(hash_of(test, [build]), hashes[0]);
    assert.notEqual(hash_of({ ...test, commands: [['false']] }, [build]), hashes[0]);
  });

  it('a step that passed fits, one that failed or had nothing to run does not', () => {
    const test = step('test', { inputs: [file('b', 'b')] });
    const hash = hash_of(test, [test]);
    assert.equal(fits_record(test, hash), null);
    record(test, hash, good);
    assert.deepEqual(fits_record(test, hash), good);
    assert.equal(fits_record(test, 'another'), null);
    record(test, hash, { passed: 2, failed: 1, skipped: 0 });
    assert.equal(fits_record(test, hash), null);
    record(test, hash, good);
    record(test, hash, { passed: 0, failed: 0, skipped: 1 });
    assert.equal(fits_record(test, hash), null);
  });

  it('a step whose output is gone runs again, and one without inputs always does', () => {
    const output = file('made', 'x');
    const build = step('build', { inputs: [file('c', 'c')], outputs: [output] });
    const hash = hash_of(build, [build]);
    record(build, hash, good);
    assert.deepEqual(fits_record(build, hash), good);
    fs.rmSync(path.join(ROOT, output));
    assert.equal(fits_record(build, hash), null);
    assert.equal(hash_of(step('setup', { inputs: null }), []), null);
    assert.equal(fits_record(step('setup', { inputs: null }), null), null);
  });

  it('a step whose output was made anew by another runs again', () => {
    const output = file('made-twice/log', 'x');
    const build = step('build', { inputs: [file('c', 'c')], outputs: [path.dirname(output)] });
    const hash = hash_of(build, [build]);
    record(build, hash, good);
    assert.deepEqual(fits_record(build, hash), good);
    file('made-twice/log', 'xy');
    assert.equal(fits_record(build, hash), null);
    record(build, hash, good);
    file('made-twice/more', 'z');
    assert.equal(fits_record(build, hash), null);
  });

  it('a step whose inputs changed while it ran runs again', () => {
    const test = step('test', { inputs: [file('d', 'before')] });
    const hash = hash_of(test, [test]);
    file('d', 'while it ran');
    record(test, hash, good, hash_of(test, [test]));
    file('d', 'before');
    assert.equal(hash_of(test, [test]), hash);
    assert.equal(fits_record(test, hash), null);
  });

  it('a step whose needs are not among the steps is not known by a hash, but remembers a failure', () => {
    const test = step('test', { needs: ['tests-of-passed-build'], inputs: [file('e', 'e')] });
    const build = step('build');
    const hash = hash_of(test, [test, build]);
    record(test, hash, good);
    assert.equal(hash_of(test, [test]), null);
    record(test, null, good, null);
    assert.deepEqual(fits_record(test, hash), good);
    record(test, null, { passed: 2, failed: 1, skipped: 0 }, null);
    assert.equal(fits_record(test, hash), null);
  });

  it('sees modes, settings and new files, but not what tests and builds leave beside the sources', () => {
    const name = file('f/a', 'a');
    const test = step('test', { inputs: [path.dirname(name)] });
    const now = () => hash_of(test, [test]);
    const first = now();
    for (const made of ['node_modules/x', '__pycache__/x.pyc', 'dist/x', 'a.tsbuildinfo'])
      file(`f/${made}`, 'x');
    execFileSync('mkfifo', [path.join(base, 'f/pipe')]);
    assert.equal(now(), first);
    fs.chmodSync(path.join(ROOT, name), 0o755);
    const second = now();
    assert.notEqual(second, first);
    file('f/b', 'b');
    assert.notEqual(now(), second);
  });

  for (const [variable, differs] of [
    ['SLUICE_ANYTHING', true],
    ['CXXFLAGS', true],
    ['NODE_OPTIONS', true],
    ['SLUICE_WATCHED', false],
    ['TERM_PROGRAM', false],
  ]) {
    it(`${variable} is ${differs ? 'one' : 'none'} of the settings`, () => {
      const script = `
        import { hash_of } from './scripts/passed.mjs';
        console.log(hash_of({ name: 'a', needs: [], inputs: [], commands: [] }, []));
      `;
      const hash_with = (value) =>
        execFileSync(process.execPath, ['--input-type=module', '-e', script], {
          cwd: ROOT,
          encoding: 'utf8',
          env: { ...process.env, NODE_OPTIONS: '', [variable]: value },
        });
      assert.equal(hash_with('--no-warnings') !== hash_with('--no-deprecation'), differs);
    });
  }

  it('helpers fit as the committed file has them, until they change or their tests fail', async () => {
    const kept = path.join(ROOT, 'tests/helpers.json');
    const before = fs.existsSync(kept) ? fs.readFileSync(kept) : null;
    try {
      const one = step('helpers', { helpers: [file('helpers/one', 'one')] });
      const hash = hash_of_helpers(one);
      assert.equal(fits_helpers(one, hash), null);
      record_helpers(one, hash, good);
      assert.equal(fits_helpers(one, hash), 4);
      const other = step('helpers', { helpers: [file('helpers/two', 'one')] });
      assert.notEqual(hash_of_helpers(other), hash);
      assert.equal(fits_helpers(other, hash_of_helpers(other)), null);
      // Also in a run of all steps, which otherwise runs what has passed; not if the step is named.
      const failing = { ...one, commands: [['false']] };
      fs.mkdirSync(LOGS, { recursive: true });
      const { totals } = await run_ladder([failing], { again: true });
      assert.deepEqual(totals, { passed: 0, failed: 0, skipped: 4 });
      const named = await run_ladder([failing], { again: true, named: true });
      assert.deepEqual(named.totals, { passed: 0, failed: 1, skipped: 0 });
      record_helpers(one, hash, { passed: 3, failed: 1, skipped: 0 });
      assert.equal(fits_helpers(one, hash), null);
    } finally {
      if (before === null) fs.rmSync(kept, { force: true });
      else fs.writeFileSync(kept, before);
      fs.rmSync(path.join(LOGS, 'tests-of-passed-helpers.log'), { force: true });
    }
  });
});
