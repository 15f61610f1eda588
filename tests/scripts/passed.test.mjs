// Tests of what the tests remember: which steps passed with which inputs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { fits_record, hash_of, record } from '../../scripts/passed.mjs';

const base = path.join(ROOT, 'build/tests-of-passed');
fs.rmSync(base, { recursive: true, force: true });
after(() => {
  fs.rmSync(base, { recursive: true, force: true });
  record(step('build'), '', { passed: 0, failed: 1 });
  record(step('test'), '', { passed: 0, failed: 1 });
});

/** A file below build/, by its path from the checkout. Each test takes others, since contents are read once. */
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
});
