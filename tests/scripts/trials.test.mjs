// Tests how the runs of `npm run faults` are judged and counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tally, block_bytes, is_good, judge } from '../../e2e/trials/judge.mjs';

const right = { codes: ['download_failed'], hashes: ['a'] };
const kind = (outcome) => judge(outcome, right).kind;

test('a run is judged by its hash or its error', () => {
  assert.equal(kind({ hash: 'a' }), 'right hash');
  assert.equal(kind({ code: 'download_failed' }), 'right error');
  assert.equal(kind({ hash: 'b' }), 'wrong text');
  // The text was shown before the error came.
  assert.equal(kind({ hash: 'b', code: 'download_failed' }), 'wrong text');
  assert.equal(kind({ hash: 'a', code: 'bad_file' }), 'wrong error');
  assert.equal(kind({ code: 'worker_died' }), 'wrong error');
  assert.equal(kind({ hangs: true }), 'hanging');
  assert.equal(kind({}), 'hanging');
  assert.equal(judge({ hash: 'b' }, { codes: [], hashes: ['a', 'b'] }).kind, 'right hash');
  const good = ['a', 'b'].map((hash) => is_good(judge({ hash }, right)));
  assert.deepEqual(good, [true, false]);
});

test('95% of the loads whose server recovers must get through', () => {
  const share = (got, lost) => {
    const tally = new Tally();
    for (let i = 0; i < got; ++i) tally.add(judge({ hash: 'a' }, right), true);
    for (let i = 0; i < lost; ++i) tally.add(judge({ code: 'download_failed' }, right), true);
    // These say nothing about it.
    for (let i = 0; i < 50; ++i) tally.add(judge({ code: 'download_failed' }, right), false);
    return tally.enough_recovered;
  };
  assert.equal(share(0, 0), true);
  assert.equal(share(19, 1), true);
  assert.equal(share(95, 5), true);
  assert.equal(share(94, 6), false);
  // Two of a few say little.
  assert.equal(share(17, 2), true);
  assert.equal(share(17, 3), false);
  assert.equal(share(8, 1), true);
  assert.equal(share(7, 2), false);
});

test('the size of a block follows from that of the file', () => {
  const KiB = 1024;
  assert.equal(block_bytes(1), 256 * KiB);
  assert.equal(block_bytes(64 * 256 * KiB), 256 * KiB);
  assert.equal(block_bytes(64 * 256 * KiB + 1), 512 * KiB);
  assert.equal(block_bytes(4.7e9), 4096 * KiB);
});
