// sluice logits --npy, and --reference: the logits as NumPy's arrays, and compared with another program's.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { bundled, events, sluice, temporary, temporaryDirectory } from './helpers.mjs';
import { npy_of, read_npy } from './npy.mjs';

const TEXT = 'Once upon a time';
const VOCAB = 2048;
const IDS = JSON.parse(sluice(['tokenize', bundled, '-p', TEXT, '--bos', '--json']).out).ids;

function written(...args) {
  const out = join(temporaryDirectory(), 'logits.npy');
  const done = sluice(['logits', bundled, '-p', TEXT, '--npy', out, ...args]);
  assert.equal(done.status, 0, done.err);
  return { ...read_npy(readFileSync(out)), out: done.out, path: out };
}
const all = written('--all');
const rows = Array.from({ length: IDS.length }, (_, i) =>
  all.numbers.subarray(i * VOCAB, (i + 1) * VOCAB),
);
function report(numbers, shape, ...args) {
  const file = temporary('reference.npy', npy_of(shape, numbers));
  const done = sluice(['logits', bundled, '-p', TEXT, '--reference', file, ...args]);
  assert.equal(done.status, 0, done.err);
  return JSON.parse(done.out);
}
function refused(args, status, message) {
  const done = sluice(['logits', bundled, '-p', TEXT, ...args, '--json']);
  assert.equal(done.status, status, done.err + done.out);
  assert.match(events(done.out).at(-1).message, message);
}

describe('logits --npy', () => {
  it('writes the logits of the last position, with --all of every position', () => {
    assert.deepEqual(all.shape, [IDS.length, VOCAB]);
    assert.match(all.out, /^logits of \d positions, 2048 tokens: \S+logits\.npy\n$/);
    const last = written();
    assert.deepEqual(last.shape, [1, VOCAB]);
    assert.deepEqual(last.numbers, rows.at(-1));
    // They are those that --json has, and of every batch.
    const { positions } = JSON.parse(
      sluice(['logits', bundled, '-p', TEXT, '--json', '--top', '3']).out,
    );
    for (const [i, { top }] of positions.entries()) {
      const sum = Math.log(rows[i].reduce((a, x) => a + Math.exp(x), 0));
      for (const [id, logprob] of top) assert.ok(Math.abs(rows[i][id] - sum - logprob) < 1e-4);
    }
    assert.ok(readFileSync(written('--all', '--batch', '1').path).equals(readFileSync(all.path)));
  });
  it('replaces an older array, and no other file', () => {
    const dir = temporaryDirectory();
    const mine = join(dir, 'mine.npy');
    writeFileSync(mine, 'mine');
    refused(['--npy', mine, '--reference', all.path], 2, /another kind is there, no \.npy/);
    refused(['--npy', all.path, '--reference', all.path], 2, /is the file that is read/);
    refused(['--npy', join(dir, 'none', 'a.npy'), '--reference', all.path], 1, /isn't there/);
    assert.equal(readFileSync(mine, 'utf8'), 'mine');
    assert.deepEqual(readdirSync(dir), ['mine.npy']);
    writeFileSync(mine, '');
    for (let i = 0; i < 2; ++i)
      assert.equal(sluice(['logits', bundled, '-p', TEXT, '--npy', mine]).status, 0);
  });
  it('wrong usage is refused', () => {
    refused(['--all'], 2, /--all says which positions --npy writes; name its file/);
    refused(['--npy', 'a.npy'], 2, /--json and --npy are two forms of one output/);
    refused(['--npy', 'a.npy', '--hash'], 2, /leave it or --npy out/);
    refused(['--reference', all.path, '--hash'], 2, /leave it or --reference out/);
    refused(['--reference', ''], 2, /--reference: expected the path of a file/);
  });
});

describe('logits --reference', () => {
  it('finds no difference from its own', () => {
    const same = {
      topOverlap: 1,
      sameBest: true,
      largestDifference: 0,
      meanDifference: 0,
      kl: 0,
    };
    const whole = report(all.numbers, all.shape);
    assert.deepEqual(whole, {
      positions: IDS.length,
      vocab: VOCAB,
      top: 10,
      ...{ ...same, sameBest: 1, kl: { mean: 0, max: 0 } },
      each: IDS.map(() => same),
    });
    assert.deepEqual(report(Float64Array.from(all.numbers), all.shape), whole);
    // All positions are compared without --all, too.
    assert.deepEqual(report(all.numbers, all.shape, '--all'), whole);
    // Of the last position alone, in both forms; the array is written besides.
    for (const shape of [[VOCAB], [1, VOCAB]]) {
      const { positions, each } = report(rows.at(-1), shape);
      assert.deepEqual([positions, each], [1, [same]]);
    }
    const out = join(temporaryDirectory(), 'a.npy');
    report(rows.at(-1), [VOCAB], '--npy', out, '--all');
    assert.deepEqual(read_npy(readFileSync(out)).numbers, all.numbers);
  });
  it('measures overlap, differences and divergence', () => {
    // At position 1 the likeliest token is another; at position 2 all logits are larger, which changes no probability.
    const other = Float64Array.from(all.numbers);
    const order = (row) => [...row.keys()].sort((a, b) => row[b] - row[a] || a - b);
    const [first, ...behind] = order(rows[1]);
    const least = behind.at(-1);
    const at = VOCAB;
    const old = other[at + least];
    other[at + least] = other[at + first] + 2;
    for (let i = 0; i < VOCAB; ++i) other[2 * VOCAB + i] += 1.5;
    const { each, ...overall } = report(other, all.shape, '--top', '4');
    const near = (found, expected, most = 1e-9) =>
      assert.ok(Math.abs(found - expected) <= most * Math.max(1, Math.abs(expected)));
    assert.equal(each[1].topOverlap, 0.75);
    assert.equal(each[1].sameBest, false);
    const change = other[at + least] - old;
    near(each[1].largestDifference, change);
    near(each[1].meanDifference, change / VOCAB);
    const softmax = (row) => {
      const sum = row.reduce((a, x) => a + Math.exp(x), 0);
      return row.map((x) => Math.exp(x) / sum);
    };
    const p = softmax(other.slice(at, at + VOCAB));
    const q = softmax(Float64Array.from(rows[1]));
    near(
      each[1].kl,
      p.reduce((a, x, i) => a + x * Math.log(x / q[i]), 0),
      1e-6,
    );
    near(each[2].largestDifference, 1.5);
    near(each[2].meanDifference, 1.5);
    assert.ok(each[2].kl < 1e-12 && each[2].sameBest && each[2].topOverlap === 1);
    assert.equal(overall.top, 4);
    near(overall.topOverlap, (IDS.length - 0.25) / IDS.length);
    near(overall.sameBest, (IDS.length - 1) / IDS.length);
    near(overall.largestDifference, Math.max(change, 1.5));
    near(overall.meanDifference, (each[1].meanDifference + 1.5) / IDS.length);
    near(overall.kl.max, each[1].kl);
    near(overall.kl.mean, (each[1].kl + each[2].kl) / IDS.length);
  });
  it('is valid JSON with the largest numbers that a file can have', () => {
    const huge = Float64Array.from({ length: VOCAB }, (_, i) =>
      i % 2 === 0 ? Number.MAX_VALUE : -Number.MAX_VALUE,
    );
    const { largestDifference, meanDifference, kl } = report(huge, [VOCAB]);
    assert.ok([largestDifference, meanDifference, kl.mean, kl.max].every(Number.isFinite));
  });
  it('refuses what is no such array', () => {
    const small = Float32Array.from(rows.at(-1));
    const file = (name, bytes) => ['--reference', temporary(name, bytes)];
    const npy = (name, ...args) => file(name, npy_of(...args));
    const whole = npy_of([VOCAB], small);
    refused(
      npy('half.npy', [VOCAB], small, { descr: '<f2' }),
      3,
      /half\.npy: its numbers are '<f2'; expected '<f4' or '<f8'/,
    );
    refused(npy('big.npy', [VOCAB], small, { descr: '>f4' }), 3, /its numbers are '>f4'/);
    refused(npy('order.npy', [VOCAB], small, { order: 'True' }), 3, /Fortran's order/);
    refused(
      npy('shape.npy', [2, VOCAB / 2], small),
      3,
      /has the shape \(2, 1024\); expected \(\d, 2048\): the logits of \d tokens/,
    );
    refused(npy('three.npy', [1, 1, VOCAB], small), 3, /has the shape \(1, 1, 2048\)/);
    refused(
      npy('long.npy', [3, VOCAB], small),
      3,
      /the shape \(3, 2048\) of '<f4' has 24576 bytes, but the file has 8192/,
    );
    refused(npy('none.npy', [], small), 3, /damaged|has \d+ bytes/);
    refused(
      npy('over.npy', [4294967296, 4294967296, 4294967296], small),
      3,
      /no file has room for its shape/,
    );
    refused(npy('digits.npy', ['9'.repeat(30)], small), 3, /its header is damaged/);
    refused(npy('odd.npy', [VOCAB], small, { order: 'Maybe' }), 3, /its header is damaged/);
    refused(
      file('cut.npy', whole.subarray(0, 40)),
      3,
      /its header has \d+ bytes, which it can't have/,
    );
    refused(file('short.npy', whole.subarray(0, -4)), 3, /it is damaged/);
    refused(file('text.npy', 'Once upon a time'), 3, /no \.npy file/);
    refused(file('tiny.npy', '\x93NU'), 3, /no \.npy file/);
    refused(['--reference', join(temporaryDirectory(), 'a.npy')], 3, /can't open/);
    for (const wrong of [NaN, Infinity, -Infinity]) {
      small[5] = wrong;
      refused(npy('wrong.npy', [VOCAB], small), 3, /number 5 is NaN or infinite/);
    }
    // A header of format 2 is read, too.
    small[5] = 0;
    const done = sluice([
      ...['logits', bundled, '-p', TEXT],
      ...npy('two.npy', [1, VOCAB], small, { version: 2 }),
    ]);
    assert.equal(done.status, 0, done.err);
  });
});
