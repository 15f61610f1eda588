// sluice run --session: goes on where a session ended, whatever it was computed with, and refuses what doesn't fit.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { existsSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bundled,
  events,
  root,
  shell,
  sluice,
  start,
  temporary,
  temporaryDirectory,
} from './helpers.mjs';

const maker = join(root, 'build', 'release', 'tests', 'make_models');
const noMaker = existsSync(maker) ? false : 'make_models is missing: npm test builds it';
const PROMPT = 'Once upon a time';
const seeded = ['--seed', '7', '--temp', '1.2', '--repeat-penalty', '1.2'];
const drawn = ['--temp', '1.2', '--repeat-penalty', '1.2'];

const whole = (n, ...args) =>
  sluice(['run', '-p', PROMPT, '-n', String(n), ...seeded, ...args]).out;

function refused(args, status, code) {
  const done = sluice(['run', '--json', '-n', '3', ...args]);
  const last = events(done.out).pop();
  assert.equal(last.event, 'error');
  assert.equal(last.code, code);
  assert.equal(done.status, status);
  return last.message;
}

describe('run --session', () => {
  it('goes on as if the text had not ended', () => {
    for (const kv of ['f32', 'f16', 'q8_0']) {
      const session = temporary(`whole-${kv}.sluice`);
      const options = ['--session', session, '--kv-type', kv];
      const first = sluice(['run', '-p', PROMPT, '-n', '9', ...seeded, ...options, '-t', '1']);
      assert.match(first.err, /session: 0 tokens restored, 0 reused; 13 tokens saved/);
      // With other kernels and another number of threads.
      const next = sluice(['run', '-n', '11', ...drawn, ...options, '-t', '2'], {
        env: { SLUICE_KERNELS: 'generic' },
      });
      assert.match(next.err, /session: 13 tokens restored, 13 reused; 24 tokens saved/);
      assert.match(next.err, /seed 7/);
      const last = sluice(['run', '-n', '5', ...drawn, ...options]).out;
      assert.equal(first.out + next.out + last, whole(25, '--kv-type', kv));
    }
  });

  it('computes only what a longer prompt adds', () => {
    const session = temporary('prefix.sluice');
    const long = `${PROMPT}, there was a little dog`;
    assert.equal(sluice(['run', '-p', PROMPT, '-n', '0', '--session', session]).out, '');
    const { out } = sluice([
      'run',
      '-p',
      long,
      '-n',
      '6',
      '--json',
      '--temp',
      '0',
      '--session',
      session,
    ]);
    const { stats } = events(out).pop();
    assert.equal(stats.reusedTokens, 5);
    assert.ok(stats.promptTokens > 8);
    const text = (lines) => lines.map((each) => each.text ?? '').join('');
    assert.equal(text(events(out)), sluice(['run', '-p', long, '-n', '6', '--temp', '0']).out);
    // A prompt that leaves the session after three tokens.
    const other = sluice(['run', '-p', 'Once upon the', '-n', '3', '--json', '--session', session]);
    assert.equal(events(other.out).pop().stats.reusedTokens, 3);
  });

  it('goes on from a recurrent state', { skip: noMaker }, () => {
    const models = temporaryDirectory();
    execFileSync(maker, [models]);
    const model = ['-m', join(models, 'lfm2-q8_0.gguf'), '--ignore-eos'];
    const session = temporary('recurrent.sluice');
    const run = (...args) => {
      const { out, err, status } = sluice(['run', ...model, '--json', '--temp', '0', ...args]);
      assert.equal(status, 0, err);
      const lines = events(out);
      return { ids: lines.map(({ id }) => id), stats: lines.pop().stats };
    };
    const first = run('-p', PROMPT, '-n', '9', '--session', session, '-t', '1');
    // The same prompt again: all but its last token is kept.
    const again = run('-p', PROMPT, '-n', '9', '--session', session, '-t', '2');
    assert.deepEqual(again.ids.slice(0, 9), first.ids.slice(0, 9));
    assert.equal(again.stats.reusedTokens, again.stats.promptTokens - 1);
    const more = run('-n', '5', '--session', session);
    assert.equal(more.stats.reusedTokens, more.stats.promptTokens - 1);
    const whole = run('-p', PROMPT, '-n', '14');
    assert.deepEqual([...again.ids.slice(0, 9), ...more.ids.slice(0, 5)], whole.ids.slice(0, 14));
    // Another text after three tokens is computed afresh.
    const other = run('-p', 'Once upon the', '-n', '3', '--session', session);
    assert.equal(other.stats.reusedTokens, 0);
  });

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ]) {
    it(`keeps what was written before ${signal}`, () => keepsUntil(signal, expected));
  }
  async function keepsUntil(signal, expected) {
    const session = temporary(`${signal}.sluice`);
    const options = ['--ignore-eos', '-c', '1048576', '--session', session];
    const { child, ended } = start(['run', '-p', PROMPT, '--json', '--seed', '1', ...options]);
    child.stdout.once('data', () => child.kill(signal));
    const { status, out } = await ended;
    assert.equal(status, expected);
    const n = events(out).filter(({ event }) => event === 'token').length;
    assert.ok(n > 0);
    const next = sluice(['run', '--json', '-n', '3', ...options]);
    const { stats } = events(next.out).pop();
    // The last token that was shown may be the one before the last that was written.
    assert.ok(stats.promptTokens >= 5 + n, `${stats.promptTokens} of ${n}`);
    assert.equal(stats.seed, 1);
  }

  it('goes on after SIGHUP where whoever started it has that ignored', () => {
    for (const command of ['run', 'chat']) {
      const text = temporary(`hangup-${command}`);
      const { out } = shell(
        `trap '' HUP; "$SLUICE" ${command} -p Once -n 500 --ignore-eos -c 1024 > '${text}' &
        until [ -s '${text}' ] || ! kill -0 $!; do sleep 0.01; done; kill -HUP $!; wait $!; echo $?`,
      );
      assert.equal(out, '0\n');
    }
  });

  it('keeps what was written before the reader of the text left', () => {
    const session = temporary('left.sluice');
    // Much may be written before the reader is seen to have left.
    const context = ['-c', '1048576'];
    const args = `run -p '${PROMPT}' --ignore-eos ${context.join(' ')} --session '${session}'`;
    for (const more of ['', '--json', '-q']) {
      rmSync(session, { force: true });
      const { out, err } = shell(
        `"$SLUICE" ${args} ${more} | head -c 20; echo "|\${PIPESTATUS[0]}"`,
      );
      assert.match(out, /\|0\n$/);
      if (more === '') assert.match(err, /session: 0 tokens restored, .*; \d+ tokens saved/);
      assert.doesNotMatch(err, /finish/);
      const next = sluice(['run', '-n', '1', ...context, '--session', session]);
      assert.match(next.err, /tokens restored/);
      assert.ok(Number(/(\d+) tokens restored/.exec(next.err)[1]) > 5, next.err);
    }
  });

  it("is one program's at a time, which a second one names", async () => {
    const folder = temporaryDirectory();
    const session = join(folder, 'a.sluice');
    const link = join(folder, 'link.sluice');
    sluice(['run', '-p', PROMPT, '-n', '2', '--session', session]);
    symlinkSync('a.sluice', link);
    const { child, ended } = start(['run', '--ignore-eos', '-c', '1048576', '--session', session]);
    await once(child.stdout, 'data');
    const busy = new RegExp(`is in use by process ${child.pid}; end that one first`);
    assert.match(refused(['--session', session], 1, 'busy'), busy);
    assert.match(refused(['--session', link], 1, 'busy'), busy);
    const chat = sluice(['chat', '-p', 'Hi', '--session', session]);
    assert.equal(chat.status, 1);
    assert.match(chat.err, busy);
    child.kill('SIGTERM');
    assert.equal((await ended).status, 143);
    assert.deepEqual(readdirSync(folder).sort(), ['a.sluice', 'link.sluice']);
    // What a program that was killed leaves locks nothing, and goes.
    writeFileSync(`${session}.lock`, '');
    assert.equal(sluice(['run', '-n', '1', '--session', link]).status, 0);
    assert.deepEqual(readdirSync(folder).sort(), ['a.sluice', 'link.sluice']);
  });

  it('goes on where files cannot be locked, and says so; a file of another kind stays', () => {
    const session = temporary('unlocked.sluice');
    const options = ['-n', '2', '--session', session];
    mkdirSync(`${session}.lock`);
    const { status, err } = sluice(['run', ...options]);
    assert.equal(status, 0);
    assert.match(err, /^sluice: warning: the session's file .*unlocked\.sluice can't be locked \(/);
    assert.equal(err.match(/can't be locked/g).length, 1);
    rmdirSync(`${session}.lock`);
    writeFileSync(`${session}.lock`, 'of somebody');
    assert.equal(sluice(['run', ...options]).err.includes('warning'), false);
    assert.equal(readFileSync(`${session}.lock`, 'utf8'), 'of somebody');
  });

  it('says that a prompt drops what the session has', () => {
    const session = temporary('replaced.sluice');
    const options = ['--temp', '0', '-n', '3', '--session', session];
    const dropped = /doesn't go on from the session's text: the last (\d+) of its (\d+) tokens are/;
    const first = sluice(['run', '-p', PROMPT, ...options]);
    const text = PROMPT + first.out;
    const more = sluice(['run', '-p', `${text} and`, ...options]);
    assert.doesNotMatch(more.err, dropped);
    assert.doesNotMatch(sluice(['run', ...options]).err, dropped);
    const other = sluice(['run', '-p', 'A cat', ...options]);
    const [, lost, had] = dropped.exec(other.err);
    assert.equal(Number(had) - Number(lost), 1); // BOS
    assert.match(other.err, /To go on, leave the prompt out, or give the whole text\n/);
    assert.equal(sluice(['run', '-p', 'The sea', '-q', ...options]).err, '');
  });

  it('goes on with layers that take turns', () => {
    const session = temporary('budget.sluice');
    const budget = ['--memory-budget', '12200000', '-c', '128', '-t', '1'];
    const first = sluice([
      'run',
      '-p',
      PROMPT,
      '-n',
      '5',
      ...seeded,
      '--session',
      session,
      ...budget,
    ]);
    assert.match(first.err, /weights read again/);
    const next = sluice(['run', '-n', '5', ...drawn, '--session', session, '-c', '128']);
    const last = sluice(['run', '-n', '5', ...drawn, '--session', session, ...budget]);
    assert.equal(first.out + next.out + last.out, whole(15));
  });

  it('writes a private file, beside which nothing is left', () => {
    const folder = temporaryDirectory();
    const session = join(folder, 'a.sluice');
    const link = join(folder, 'link.sluice');
    sluice(['run', '-n', '2', '--session', session]);
    assert.equal(statSync(session).mode & 0o777, 0o600);
    symlinkSync('a.sluice', link);
    const before = readFileSync(session);
    assert.equal(sluice(['run', '-n', '2', '--session', link]).status, 0);
    assert.notDeepEqual(readFileSync(session), before);
    assert.deepEqual(readdirSync(folder).sort(), ['a.sluice', 'link.sluice']);
  });

  it('refuses what does not fit, and leaves the file as it is', () => {
    const session = temporary('good.sluice');
    sluice(['run', '-p', PROMPT, '-n', '4', '--session', session]);
    const good = readFileSync(session);
    assert.match(
      refused(['--session', session, '--kv-type', 'q8_0'], 2, 'invalid_argument'),
      /are f16/,
    );
    const other = join(dirname(bundled), 'stories-q8_0.gguf');
    const model = readFileSync(other);
    model[model.length - 1] ^= 1;
    const changed = temporary('changed.gguf', model);
    const message = refused([changed, '--session', session], 2, 'invalid_argument');
    assert.match(message, /good\.sluice: .*another model/);
    const full = refused(['--session', session, '-c', '6'], 1, 'context_full');
    assert.match(full, /; load with a larger context \(-c N\)$/);
    const bad = (name, bytes) => {
      const path = temporary(name, bytes);
      const found = refused(['--session', path], 3, 'bad_file');
      assert.match(found, new RegExp(name.replace('.', '\\.')));
      assert.deepEqual(readFileSync(path), bytes);
    };
    const flipped = Buffer.from(good);
    flipped[5000] ^= 4;
    bad('flipped.sluice', flipped);
    bad('short.sluice', good.subarray(0, good.length - 1));
    bad('longer.sluice', Buffer.concat([good, Buffer.of(0)]));
    bad('empty.sluice', Buffer.alloc(0));
    bad('text.sluice', Buffer.from('this is no session at all'));
    assert.deepEqual(readFileSync(session), good);
  });

  it('says at once that a file cannot be written', () => {
    const folder = temporaryDirectory();
    refused(['--session', folder], 2, 'invalid_argument');
    refused(['--session', join(folder, 'missing', 'a.sluice')], 1, 'invalid_argument');
    assert.equal(sluice(['run', '--session', '']).status, 2);
    const long = sluice(['run', '-n', '2', '--session', join(folder, 'a'.repeat(250))]);
    assert.deepEqual([long.status, long.out], [1, '']);
    assert.match(long.err, /: File name too long\n$/);
    if (process.getuid?.() === 0) return; // root may write everywhere
    const locked = join(folder, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    refused(['--session', join(locked, 'a.sluice')], 1, 'invalid_argument');
    const secret = join(folder, 'secret.sluice');
    writeFileSync(secret, '');
    chmodSync(secret, 0);
    refused(['--session', secret], 3, 'bad_file');
    assert.ok(!existsSync(join(locked, 'a.sluice')));
  });

  it('fails at the end, and keeps the file, where there is no room', () => {
    const session = temporary('full.sluice');
    const args = `-p '${PROMPT}' -n 300 --ignore-eos --session '${session}'`;
    for (const command of ['run', 'chat']) {
      const { status, err } = shell(`ulimit -f 32; "$SLUICE" ${command} ${args} >/dev/null`);
      assert.equal(status, 1, err);
      assert.match(err, /can't write the session's file .*full\.sluice: File too large/);
      assert.ok(!existsSync(session) && !existsSync(`${session}.lock`));
    }
    // Also where nobody reads any more.
    const line = `ulimit -f 0; "$SLUICE" run ${args} --json | head -n 1; exit \${PIPESTATUS[0]}`;
    assert.equal(shell(line).status, 1);
  });
});
