// Split models: any of their files stands for all.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { root, sluice } from './helpers.mjs';

const maker = join(root, 'build', 'release', 'tests', 'make_models');
const skip = existsSync(maker) ? false : 'make_models is missing: npm test builds it';
const NAME = 'qwen2-q4_0';
const N = 3;

function inspect(file) {
  return JSON.parse(sluice(['inspect', file, '--json']).out);
}

describe('a split model', { skip }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-split-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  const whole = join(dir, `${NAME}.gguf`);
  const files = [1, 2, 3].map((i) => join(dir, `${NAME}-0000${i}-of-0000${N}.gguf`));
  if (skip === false) {
    execFileSync(maker, [dir]);
    execFileSync(maker, [dir, '--split', `${N}`]);
    execFileSync(maker, [dir]); // --split has removed the whole ones
  }

  it('gives the logits, ids and text of the whole one', () => {
    const commands = [
      ['logits', ['--tokens', '1,2,3,4', '--hash', '--json']],
      ['tokenize', ['-p', 'hello there', '--json']],
      ['run', ['--tokens', '1,2,3', '--temp', '0', '-n', '8', '--ignore-eos']],
    ];
    for (const [command, args] of commands) {
      const expected = sluice([command, whole, ...args]);
      assert.equal(expected.status, 0, expected.err);
      for (const file of files) {
        const got = sluice([command, file, ...args]);
        assert.equal(got.status, 0, got.err);
        assert.equal(got.out, expected.out);
      }
    }
  });
  it('is measured', () => {
    const { status, err } = sluice(['bench', files[0], '-p', '4', '-n', '2', '-r', '1']);
    assert.equal(status, 0, err);
  });
  it('is shown with the number of its files', () => {
    const info = inspect(files[1]);
    assert.equal(info.files, N);
    assert.equal(
      info.fileBytes,
      files.reduce((sum, file) => sum + statSync(file).size, 0),
    );
    assert.equal(info.tensors.length, inspect(whole).tensors.length);
    assert.match(sluice(['inspect', files[0]]).out.split('\n')[0], / in 3 files$/);
    assert.doesNotMatch(sluice(['inspect', whole]).out.split('\n')[0], /files/);
  });
  it('is refused under another name, and without one of its files', () => {
    const renamed = join(dir, 'renamed.gguf');
    renameSync(files[1], renamed);
    try {
      const alone = sluice(['inspect', renamed]);
      assert.equal(alone.status, 3);
      assert.match(alone.err, /renamed\.gguf: this is file 2 of 3 of a split model: give all/);
      const incomplete = sluice(['inspect', files[0]]);
      assert.equal(incomplete.status, 3);
      assert.match(incomplete.err, /00002-of-00003\.gguf: No such file.*split into 3 files/);
    } finally {
      renameSync(renamed, files[1]);
    }
  });
});
