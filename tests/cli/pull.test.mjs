// sluice pull, sluice cache and MODEL as an address, against a server that misbehaves and plays a hub.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { bundled, root, sluice, start, temporary, temporaryDirectory } from './helpers.mjs';
import {
  MiB,
  entries,
  files_of,
  fresh_cache,
  hub,
  large,
  model,
  pull,
  pulls,
  random_file,
  refused,
  run,
  sha256,
} from './pull-helpers.mjs';

describe('sluice pull', () => {
  it('prints the path of the file; a second time it asks no network', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { status, out } = await run(['pull', file.url], env);
    assert.equal(status, 0);
    assert.ok(fs.readFileSync(out.trimEnd()).equals(model));
    const { requests } = file.counts;
    const again = await pulls(file.url, env, model);
    assert.deepEqual(
      [again.path, again.bytes, again.address],
      [out.trimEnd(), model.length, file.url],
    );
    assert.equal(file.counts.requests, requests);
    assert.equal(fs.statSync(path.join(env.XDG_CACHE_HOME, 'sluice')).mode & 0o777, 0o700);
  });
  it('brings a large file by several ranges at once, each byte once', async () => {
    const file = hub.add('l.gguf', large);
    const done = await pulls(file.url, fresh_cache(), large, '--sha256', sha256(large));
    assert.equal(done.sha256, sha256(large));
    assert.equal(file.counts.again, 0);
    assert.ok(file.counts.requests <= 5, String(file.counts.requests));
    assert.ok(file.counts.most <= 4);
  });
  it('uses the address that a redirect led to, and asks anew when it has expired', async () => {
    const file = hub.add('l.gguf', large, {
      plan: ({ kind }) => (kind === 'moved' ? { signed: { uses: 2 } } : {}),
    });
    await pulls(file.moved, fresh_cache(), large);
    assert.ok(file.counts.statuses[403] >= 1, JSON.stringify(file.counts.statuses));
    assert.equal(file.counts.again, 0);
  });
  it('gives up when an address behind a redirect never works', async () => {
    const file = hub.add('m.gguf', model, {
      plan: ({ kind }) => (kind === 'signed' ? { status: 403 } : {}),
    });
    await refused(file.moved, fresh_cache(), 'download_failed', /answered 403/);
    assert.ok(file.counts.requests <= 8);
  });
  it('goes on where connections were cut', async () => {
    const file = hub.add('l.gguf', large, {
      plan: ({ number }) => (number < 8 ? { cut: 3 * MiB + 77 } : {}),
    });
    await pulls(file.url, fresh_cache(), large);
    // What a cut takes from the client's socket may be sent again.
    assert.ok(file.counts.again < 8 * MiB, String(file.counts.again));
  });
  it('takes a server without ranges, also one that cuts', async () => {
    const file = hub.add('m.gguf', model, {
      plan: ({ number }) => ({
        ignoreRange: true,
        ...(number < 2 ? { cut: 700_000 * (number + 1) } : {}),
      }),
    });
    const sum = sha256(model);
    assert.equal((await pulls(file.url, fresh_cache(), model, '--sha256', sum)).sha256, sum);
  });
  it('takes a server that stops giving ranges, or whose length is unknown', async () => {
    const stops = hub.add('l.gguf', large, {
      plan: ({ number }) => (number === 0 ? { cut: 9 * MiB } : { ignoreRange: true }),
    });
    await pulls(stops.url, fresh_cache(), large, '--sha256', sha256(large));
    const endless = hub.add('m.gguf', model, {
      plan: () => ({ ignoreRange: true, lengthBy: null }),
    });
    const env = fresh_cache();
    await pulls(endless.url, env, model);
    assert.equal(entries(env)[0].complete, true);
  });
  it('waits as long as the server asks, and says so', async () => {
    const file = hub.add('m.gguf', model, {
      plan: ({ number }) => (number === 0 ? { status: 429, retryAfter: 1 } : {}),
    });
    const done = await pulls(file.url, fresh_cache(), model, '--retry-timeout', '1');
    assert.match(done.err, /the server asks to wait/);
    const limited = hub.add('m.gguf', model, {
      plan: ({ number }) => (number === 0 ? { status: 503, rateLimit: 1 } : {}),
    });
    assert.match((await pulls(limited.url, fresh_cache(), model)).err, /the server asks to wait/);
    const long = hub.add('m.gguf', model, { plan: () => ({ status: 429, retryAfter: 3600 }) });
    await refused(long.url, fresh_cache(), 'download_failed', /asks to wait 1 h 0 min/);
    assert.equal(long.counts.requests, 1);
  });
  it('tries again after passing errors, and not after others', async () => {
    const statuses = [500, 502, 504, 408, 425];
    const file = hub.add('m.gguf', model, {
      plan: ({ number }) => (number < statuses.length ? { status: statuses[number] } : {}),
    });
    await pulls(file.url, fresh_cache(), model);
    for (const status of [404, 410, 403, 401, 400]) {
      const gone = hub.add('m.gguf', model, { plan: () => ({ status }) });
      const env = fresh_cache();
      await refused(gone.url, env, 'download_failed', new RegExp(`answered ${status}`));
      assert.equal(gone.counts.requests, 1);
      const kept = fs.readdirSync(path.join(env.XDG_CACHE_HOME, 'sluice'));
      assert.deepEqual(kept, [], 'nothing stays of an address of which no byte came');
    }
  });
  it('gives up a server that answers 416 to all, or asks to wait again and again', async () => {
    const no_range = hub.add('m.gguf', model, { plan: () => ({ status: 416 }) });
    await refused(no_range.url, fresh_cache(), 'download_failed', /answered 416/);
    const waits = hub.add('m.gguf', model, { plan: () => ({ status: 503, retryAfter: 1 }) });
    await refused(waits.url, fresh_cache(), 'download_failed', /asks to wait, again and again/);
    assert.ok(waits.counts.requests <= 10);
  });
  it('gives up when no new byte comes, and says what is kept', async () => {
    const file = hub.add('l.gguf', large, {
      plan: ({ number }) => (number === 0 ? { cut: 5 * MiB } : { close: true }),
    });
    const env = fresh_cache();
    const reason = /no new byte came .* of 38\.8 MB are kept, and the next try goes on/;
    await refused(file.url, env, 'download_failed', reason, '--retry-timeout', '1');
    file.plan = () => ({});
    await pulls(file.url, env, large);
    const silent = hub.add('m.gguf', model, { plan: () => ({ silent: true }) });
    const limits = ['--retry-timeout', '1', '--stall-timeout', '1'];
    const stalled = /: no byte came for 1 s; /;
    await refused(silent.url, fresh_cache(), 'download_failed', stalled, ...limits);
  });
  it('keeps nothing of what is no GGUF file', async () => {
    const page = hub.add('page.gguf', model, { plan: () => ({ html: true }) });
    const text = hub.add('text.gguf', Buffer.from('just a text'));
    const short = hub.add('short.gguf', Buffer.from('GG'));
    const other = hub.add('other.gguf', randomBytes(37 * MiB).fill(0, 0, 4));
    for (const [file, reason] of [
      [page, /this is not a GGUF file.* looks like an HTML page/],
      [text, /this is not a GGUF file.*just/],
      [short, /this is not a GGUF file/],
      [other, /this is not a GGUF file/],
    ]) {
      for (const ignoreRange of [false, true]) {
        if (file !== page) file.plan = () => ({ ignoreRange });
        const env = fresh_cache();
        const { facts } = await refused(file.url, env, 'bad_file', reason);
        assert.deepEqual(facts, { url: file.url });
        assert.deepEqual(files_of(env), []);
      }
    }
  });
  it('begins anew when the file has changed', async () => {
    const other = random_file(large.length);
    const file = hub.add('l.gguf', large, {
      versions: [other],
      plan: ({ number }) => (number === 0 ? { cut: 5 * MiB } : { version: 1 }),
    });
    const { err } = await pulls(file.url, fresh_cache(), other, '--sha256', sha256(other));
    assert.match(err, /has changed on the server/);
    const shorter = hub.add('l.gguf', large, {
      versions: [model],
      plan: ({ number }) => (number === 0 ? { cut: 5 * MiB } : { version: 1 }),
    });
    await pulls(shorter.url, fresh_cache(), model);
    const flaps = hub.add('l.gguf', large, {
      versions: [other],
      plan: ({ number }) => ({ version: number % 2, cut: 2 * MiB }),
    });
    const gone = await refused(
      flaps.url,
      fresh_cache(),
      'download_failed',
      /changes on the server/,
    );
    assert.deepEqual(gone.facts, { url: flaps.url });
  });
  it('takes no answer about other bytes', async () => {
    for (const wrong of [
      { contentRange: 'shifted' },
      { contentRange: 'garbage', lengthBy: 1 },
      { multipart: true },
      { gzip: true },
    ]) {
      const file = hub.add('m.gguf', model, { plan: () => wrong });
      const env = fresh_cache();
      const { status } = await pull(file.url, env, '--retry-timeout', '1');
      assert.notEqual(status, 0, JSON.stringify(wrong));
      file.plan = () => ({});
      await pulls(file.url, env, model);
    }
  });
  it('drops bytes whose sha256 is wrong', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model, { plan: () => ({ flips: [1_000_000] }) });
    await refused(
      file.url,
      env,
      'download_corrupt',
      /bytes were dropped/,
      '--sha256',
      sha256(model),
    );
    assert.deepEqual(files_of(env), []);
    file.plan = () => ({});
    await pulls(file.url, env, model, '--sha256', sha256(model));
    assert.equal(entries(env)[0].verified, true);
    // A mistyped one doesn't cost the good file.
    const wrong = '0'.repeat(64);
    await refused(file.url, env, 'download_corrupt', /check --sha256/, '--sha256', wrong);
    assert.equal(entries(env)[0].verified, true);
    const unknown = fresh_cache();
    await pulls(file.url, unknown, model);
    await refused(file.url, unknown, 'download_corrupt', /stays as it was/, '--sha256', wrong);
    assert.equal(entries(unknown)[0].complete, true);
  });
  it('looks whether a file is current only with --refresh', async () => {
    const env = fresh_cache();
    const other = random_file(3 * MiB);
    const file = hub.add('m.gguf', model, { versions: [other] });
    await pulls(file.url, env, model);
    const { bytes } = file.counts;
    await pulls(file.url, env, model, '--refresh');
    assert.ok(file.counts.bytes - bytes <= 1);
    file.plan = () => ({ version: 1 });
    await pulls(file.url, env, model);
    await pulls(file.url, env, other, '--refresh');
  });
  it('goes on after SIGKILL at any moment, fetching again at most a block a connection', async () => {
    const env = fresh_cache();
    const file = hub.add('l.gguf', large, { plan: () => ({ rate: 40 * MiB }) });
    const block = MiB; // of a file of 37 MiB
    let kills = 0;
    for (const ms of [120, 250, 60, 400, 180, 320, 90]) {
      const { child, ended } = start(['pull', file.url], env);
      const timer = setTimeout(() => child.kill('SIGKILL'), ms);
      const { signal } = await ended;
      clearTimeout(timer);
      if (signal === null) break;
      ++kills;
    }
    assert.ok(kills > 0);
    // What was on the way in the sockets of a killed process came for nothing, too.
    const on_the_way = 4 * MiB;
    await pulls(file.url, env, large, '--sha256', sha256(large));
    assert.ok(
      file.counts.again <= kills * 4 * (block + on_the_way),
      `${file.counts.again} after ${kills}`,
    );
    assert.equal(JSON.parse(sluice(['cache', 'verify', '--json'], { env }).out).ok, true);
  });
  it('a second process waits for the first, says so, and downloads nothing', async () => {
    const env = fresh_cache();
    const file = hub.add('l.gguf', large, { plan: () => ({ rate: 20 * MiB }) });
    const first = start(['pull', file.url], env);
    while (file.counts.bytes === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await run(['pull', file.url], env);
    assert.equal((await first.ended).status, 0);
    assert.equal(second.status, 0);
    assert.match(second.err, /another process is downloading this model/);
    assert.equal(file.counts.again, 0);
  });
  it('says at Ctrl-C what is kept, with --json nothing', async () => {
    for (const more of [[], ['--json']]) {
      const env = fresh_cache();
      const file = hub.add('l.gguf', large, {
        plan: ({ number }) => (number === 0 ? { cut: 5 * MiB } : { close: true }),
      });
      const { child, ended } = start(['pull', file.url, ...more], env);
      let said = '';
      child.stderr.on('data', (data) => (said += data));
      while (!said.includes('trying again'))
        await new Promise((resolve) => setTimeout(resolve, 20));
      child.kill('SIGINT');
      const { err, status } = await ended;
      assert.equal(status, 130);
      if (more.length > 0) assert.doesNotMatch(err, /stopped/);
      else
        assert.match(
          err,
          /stopped: [3-5]\.\d+ MB of 38\.8 MB are kept; the same command goes on\n$/,
        );
    }
  });
  it('says that there is no room, with figures', async () => {
    const size = 1e15;
    const read = (at, length) => Buffer.alloc(length);
    const file = hub.add('huge.gguf', { size, read });
    await refused(
      file.url,
      fresh_cache(),
      'storage_full',
      /1\.00 PB more are needed .* are free; make room/,
    );
  });
  it('refuses what is no address', async () => {
    const env = fresh_cache();
    for (const [address, reason] of [
      ['model.gguf', /expected an http: or https: address/],
      ['hf:name', /names no OWNER\/REPO/],
      ['hf:a/b:', /names neither a \.gguf file nor a type/],
      ['hf:a/b:../x.gguf', /names no valid file/],
      ['http://user:secret@localhost/m.gguf', /user name or a password/],
      ['http://', /is not valid/],
    ]) {
      const { message } = await refused(address, env, 'invalid_argument', reason);
      assert.doesNotMatch(message, /secret/);
    }
    await refused('hf:a/b', env, 'invalid_argument', /64 hexadecimal digits/, '--sha256', 'abc');
    const plain = fresh_cache({ HF_ENDPOINT: 'file:///etc' });
    await refused('hf:a/b', plain, 'invalid_argument', /HF_ENDPOINT/);
  });
});

/** Begins here and ends meanwhile. */
const unreached = run(['pull', 'http://127.0.0.1:1/m.gguf'], fresh_cache());

describe('a hub', () => {
  it('or another server that was never reached is given up long before --retry-timeout', async () => {
    const { status, err } = await unreached;
    assert.equal(status, 1);
    assert.match(err, /connect to server; the server wasn't reached within 5 s; check the address/);
  });
  it('that is not there is waited for, and the program says so', async () => {
    const env = fresh_cache({ HF_ENDPOINT: 'http://127.0.0.1:1' });
    const why = /can't read .*connect.*; the server wasn't reached within 2 s; check the address/i;
    const done = await refused('hf:a/b', env, 'download_failed', why, '--retry-timeout', '2');
    assert.match(done.err, /trying again/);
  });
  const q4 = Buffer.concat([model, Buffer.alloc(100)]);
  let files;
  before(() => {
    files = {
      'model-Q8_0.gguf': hub.add('model-Q8_0.gguf', model),
      'model-Q4_0.gguf': hub.add('model-Q4_0.gguf', q4),
      'mmproj-Q4_K_M.gguf': hub.add('mmproj.gguf', randomBytes(99)),
      'README.md': hub.add('README.md', Buffer.from('# a')),
    };
    hub.api.repository('owner/name', files, { page: 2 });
  });
  const requests = () =>
    Object.values(files).reduce((n, file) => n + file.counts.requests, 0) + hub.api.counts.api;

  it('chooses a file by type, by name or by itself; its sha256 comes from the list', async () => {
    for (const [address, bytes, name] of [
      ['hf:owner/name:q8_0', model, 'model-Q8_0.gguf'],
      ['hf:owner/name', q4, 'model-Q4_0.gguf'],
      ['hf:owner/name:model-Q8_0.gguf@main', model, 'model-Q8_0.gguf'],
      [`${hub.url}/owner/name`, q4, 'model-Q4_0.gguf'],
      [`${hub.url}/owner/name/blob/main/model-Q8_0.gguf?a#b`, model, 'model-Q8_0.gguf'],
      ['https://huggingface.co/owner/name/tree/main', q4, 'model-Q4_0.gguf'],
    ]) {
      const env = fresh_cache();
      const done = await pulls(address, env, bytes);
      assert.equal(done.address, `${hub.url}/owner/name/resolve/main/${name}`);
      assert.equal(done.sha256, sha256(bytes));
      const before = requests();
      await pulls(address, env, bytes);
      assert.equal(requests(), before, 'a model in the cache needs no network');
    }
  });
  it('lists what there is when nothing fits', async () => {
    const env = fresh_cache();
    const listed = /model-Q4_0\.gguf, model-Q8_0\.gguf/;
    await refused('hf:owner/name:Q5_0', env, 'invalid_argument', listed);
    await refused('hf:owner/name:none.gguf', env, 'download_failed', /404|has no file/);
    await refused('hf:owner/none', env, 'download_failed', /HF_TOKEN/);
  });
  it('gets the token; nobody else does, and it is kept nowhere', async () => {
    const secret = hub.add('s-Q4_0.gguf', model);
    hub.api.repository('owner/secret', { 's-Q4_0.gguf': secret }, { token: 'hf_secret' });
    await refused(
      'hf:owner/secret',
      fresh_cache(),
      'download_failed',
      /no such repository, or it needs an account at its hub: check the name, or open http:\/\/127\.0\.0\.1:\d+\/owner\/\w+ there, accept its terms, .*HF_TOKEN/,
    );
    const env = fresh_cache({ HF_TOKEN: 'hf_secret' });
    const { err } = await pulls('hf:owner/secret', env, model);
    assert.equal(secret.counts.leaked, 0);
    assert.doesNotMatch(err, /hf_secret/);
    for (const name of files_of(env)) {
      const bytes = fs.readFileSync(path.join(env.XDG_CACHE_HOME, 'sluice', name));
      assert.equal(bytes.includes('hf_secret'), false, name);
    }
  });
  it('goes on without its list where the file is named', async () => {
    const file = hub.add('n.gguf', model);
    hub.api.repository('owner/listless', { 'n.gguf': file }, { plan: () => ({ status: 500 }) });
    const env = fresh_cache();
    const limits = ['--retry-timeout', '1'];
    const { err, sha256: sum } = await pulls('hf:owner/listless:n.gguf', env, model, ...limits);
    assert.match(err, /list can't be had, so the file's sha256 is unknown/);
    assert.equal(sum, '');
    await refused('hf:owner/listless', env, 'download_failed', /answered 500/, ...limits);
  });
  it('bytes that are not what it lists are download_corrupt', async () => {
    const env = fresh_cache();
    const file = hub.add('f-Q4_0.gguf', model, {
      plan: ({ kind }) => (kind === 'signed' ? { flips: [2_000_000] } : {}),
    });
    hub.api.repository('owner/flips', { 'f-Q4_0.gguf': file });
    await refused('hf:owner/flips', env, 'download_corrupt', /has the sha256 .* expected/);
    assert.deepEqual(files_of(env), []);
  });
});

describe('MODEL as an address', () => {
  const greedy = ['-p', 'Once', '-n', '8', '--temp', '0'];
  it('run, logits and bench download it once; the text is the same', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { out, status, err } = await run(['run', file.url, ...greedy], env);
    assert.equal(status, 0, err);
    assert.equal(out, sluice(['run', ...greedy]).out);
    const { requests } = file.counts;
    assert.equal((await run(['logits', file.url, '-p', 'Once', '--hash'], env)).status, 0);
    const bench = await run(['bench', file.url, '-p', '8', '-n', '2', '-r', '1', '--json'], env);
    assert.equal(JSON.parse(bench.out).model, 'm.gguf');
    assert.equal(file.counts.requests, requests);
  });
  it('inspect and tokenize read only the header, and keep nothing', async () => {
    const env = fresh_cache();
    const header = JSON.parse(sluice(['inspect', bundled, '--json']).out);
    const big = Buffer.concat([model, Buffer.alloc(40 * MiB)]);
    const file = hub.add('m.gguf', big);
    const { out, err } = await run(['inspect', file.url, '--json'], env);
    assert.deepEqual({ ...JSON.parse(out), fileBytes: 0 }, { ...header, fileBytes: 0 }, err);
    assert.equal(JSON.parse(out).fileBytes, big.length);
    const ids = await run(['tokenize', file.url, '-p', 'Once upon'], env);
    assert.equal(ids.out, sluice(['tokenize', '-p', 'Once upon']).out);
    assert.ok(file.counts.bytes < 10 * MiB, String(file.counts.bytes));
    assert.deepEqual(files_of(env), []);
  });
  it('a budget or context that cannot be is refused before the download', async () => {
    const big = Buffer.concat([model, Buffer.alloc(40 * MiB)]);
    const here = temporary('big.gguf', big);
    for (const args of [
      ['run', ...greedy, '--memory-budget', '3M'],
      ['logits', '-p', 'Once', '--memory-budget', '3M'],
      ['run', ...greedy, '-c', '1048576', '--memory-budget', '20M'],
    ]) {
      const env = fresh_cache();
      const file = hub.add('m.gguf', big);
      const [command, ...rest] = args;
      const { out, err, status } = await run([command, file.url, ...rest, '--json'], env);
      assert.equal(status, 4, err);
      const told = JSON.parse(out);
      assert.equal(told.code, 'budget_too_small');
      const after = JSON.parse(sluice([command, here, ...rest, '--json']).out);
      assert.equal(told.message, after.message);
      assert.ok(file.counts.bytes < 10 * MiB, String(file.counts.bytes));
      assert.equal(file.counts.requests, 1);
      assert.deepEqual(files_of(env), []);
      // In the cache it is refused without the network.
      await pulls(file.url, env, big);
      const { requests } = file.counts;
      assert.equal((await run([command, file.url, ...rest], env)).status, 4);
      assert.equal(file.counts.requests, requests);
    }
  });
  it('a damaged block is fetched again, alone', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const done = await pulls(file.url, env, model);
    const { bytes, requests } = file.counts;
    const handle = fs.openSync(done.path, 'r+');
    fs.writeSync(handle, Buffer.from([model[1_000_000] ^ 1]), 0, 1, 1_000_000);
    fs.closeSync(handle);
    const { out, err } = await run(['run', file.url, ...greedy], env);
    assert.match(err, /1 damaged block/);
    assert.equal(out, sluice(['run', ...greedy]).out);
    assert.equal(file.counts.bytes - bytes, 256 * 1024);
    assert.equal(file.counts.requests, requests + 1);
    assert.ok(fs.readFileSync(done.path).equals(model));
  });
  it('an error of the download is an event, and no text comes', async () => {
    const file = hub.add('m.gguf', model, { plan: () => ({ status: 404 }) });
    const { out, status } = await run(['run', file.url, ...greedy, '--json'], fresh_cache());
    assert.equal(status, 1);
    assert.equal(JSON.parse(out).code, 'download_failed');
  });
  it('--sha256 and --refresh are refused for a path', () => {
    assert.match(sluice(['run', bundled, '--refresh']).err, /for models at addresses/);
  });
});

describe('sluice cache', () => {
  it('lists, verifies and deletes', async () => {
    const env = fresh_cache();
    assert.match(sluice(['cache', 'list'], { env }).out, /^0 models, 0 B in /);
    const a = hub.add('a.gguf', model);
    const b = hub.add('b.gguf', large, {
      plan: ({ number }) => ({ cut: number === 0 ? 3 * MiB : 0 }),
    });
    await pulls(a.url, env, model);
    assert.equal((await pull(b.url, env, '--retry-timeout', '1')).status, 1);
    const [partial, whole] = entries(env);
    assert.deepEqual([partial.name, partial.complete], ['b.gguf', false]);
    assert.ok(partial.stored >= 2 * MiB && partial.bytes === large.length);
    assert.deepEqual([whole.name, whole.complete, whole.bytes], ['a.gguf', true, model.length]);
    const text = sluice(['cache', 'list'], { env }).out;
    assert.match(text, /a\.gguf\n {2}2\.58 MB, complete, last used 20/);
    assert.match(text, /b\.gguf\n {2}3\.\d+ MB of 38\.8 MB, partial, last/);
    const so_far = /^b\.gguf: good so far, 3\.\d+ MB of 38\.8 MB\n$/;
    assert.match(sluice(['cache', 'verify', b.url], { env }).out, so_far);
    const flip = fs.openSync(whole.path, 'r+');
    fs.writeSync(flip, Buffer.from([model[500_000] ^ 4]), 0, 1, 500_000);
    fs.closeSync(flip);
    const { status, out } = sluice(['cache', 'verify', a.url, '--json'], { env });
    assert.equal(status, 3);
    assert.deepEqual(JSON.parse(out).damaged, [1]);
    assert.equal(entries(env)[1].complete, false);
    await pulls(a.url, env, model);
    assert.match(sluice(['cache', 'verify', a.url], { env }).out, /^a\.gguf: good, 2\.58 MB\n$/);
    assert.match(sluice(['cache', 'delete', a.url], { env }).out, /^deleted a\.gguf/);
    assert.equal(sluice(['cache', 'delete', a.url], { env }).status, 2);
    assert.equal(sluice(['cache', 'delete', '--all'], { env }).status, 0);
    assert.deepEqual(files_of(env), []);
    for (const args of [['verify'], ['delete', '--all']]) {
      const empty = sluice(['cache', ...args], { env });
      assert.deepEqual([empty.out, empty.status], ['the cache is empty\n', 0]);
    }
  });
  it('takes the name of a file that one model has', async () => {
    const env = fresh_cache();
    const a = hub.add('same.gguf', model);
    const b = hub.add('same.gguf', model);
    await pulls(a.url, env, model);
    assert.match(
      sluice(['cache', 'verify', 'same.gguf'], { env }).out,
      /^same\.gguf: good, 2\.58 MB\n$/,
    );
    await pulls(b.url, env, model);
    const several = sluice(['cache', 'delete', 'same.gguf'], { env });
    assert.equal(several.status, 2);
    assert.match(several.err, /same\.gguf may mean 2 models in the cache; name one of them:/);
    for (const { url } of [a, b]) assert.ok(several.err.includes(`\n  ${url}`), several.err);
    assert.equal(entries(env).length, 2);
    assert.equal(sluice(['cache', 'delete', a.url], { env }).status, 0);
    const { status, out } = sluice(['cache', 'delete', 'same.gguf'], { env });
    assert.equal(status, 0);
    assert.match(out, /^deleted same\.gguf, 2\.58 MB\n$/);
    assert.deepEqual(files_of(env), []);
    const none = sluice(['cache', 'delete', 'same.gguf', '--json'], { env });
    assert.equal(none.status, 2);
    assert.equal(JSON.parse(none.out).code, 'not_found');
    assert.match(none.err, /has no model same\.gguf; expected the address or the file name/);
  });
  it('verify goes on behind a model that is in use', async () => {
    const env = fresh_cache();
    const good = hub.add('good.gguf', model);
    await pulls(good.url, env, model);
    const used = hub.add('used.gguf', large, { plan: () => ({ rate: 256 * 1024 }) });
    const { child, ended } = start(['pull', used.url], env);
    while (used.counts.bytes === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const text = await run(['cache', 'verify'], env);
    const json = await run(['cache', 'verify', '--json'], env);
    child.kill('SIGKILL');
    await ended;
    assert.deepEqual([text.status, json.status], [1, 1]);
    assert.equal(text.out, 'good.gguf: good, 2.58 MB\n');
    assert.match(text.err, /used\.gguf isn't checked: another process is using it; try again/);
    const lines = json.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(lines.find(({ source }) => source === good.url).ok, true);
    assert.deepEqual(
      lines.find(({ source }) => source === used.url),
      { source: used.url, inUse: true },
    );
  });
  it('does not delete what is in use, and names it', async () => {
    const env = fresh_cache();
    const file = hub.add('used.gguf', large, { plan: () => ({ rate: 256 * 1024 }) });
    const { child, ended } = start(['pull', file.url], env);
    while (file.counts.bytes === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const { err, status } = await run(['cache', 'delete', file.url], env);
    child.kill('SIGKILL');
    await ended;
    assert.equal(status, 1);
    assert.match(err, /another process is using used\.gguf; try again/);
  });
  it('leaves an entry of a newer version alone, except that it can be deleted', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    const journal = data.replace('.gguf', '.journal');
    const bytes = fs.readFileSync(journal);
    bytes.writeUInt32LE(2, 8);
    fs.writeFileSync(journal, bytes);
    await refused(file.url, env, 'download_failed', /newer version of Sluice/);
    assert.ok(fs.readFileSync(journal).equals(bytes));
    const [{ unreadable, source }] = entries(env);
    assert.match(unreadable, /newer/);
    assert.equal(sluice(['cache', 'delete', source], { env }).status, 0);
    assert.deepEqual(files_of(env), []);
  });
  it('a journal of random bytes counts as none', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    fs.writeFileSync(data.replace('.gguf', '.journal'), randomBytes(20000));
    assert.match(entries(env)[0].unreadable, /damaged/);
    await pulls(file.url, env, model);
  });
  it('refuses wrong usage', () => {
    for (const [args, reason] of [
      [['cache'], /ACTION is required: list, verify or delete/],
      [['cache', 'verfy'], /unknown action 'verfy'; did you mean verify\?/],
      [['cache', 'xyz'], /unknown action 'xyz'; the actions are list, verify, delete; see/],
      [['cache', 'delete'], /delete needs the address of a model, or --all/],
      [['cache', 'list', '--all'], /--all is for delete/],
      [['cache', 'verify', 'http://localhost/none.gguf'], /the cache has no model/],
      [['pull'], /ADDRESS is required/],
    ]) {
      const { status, err } = sluice(args, { env: fresh_cache() });
      assert.equal(status, 2, err);
      assert.match(err, reason);
    }
  });
});

const maker = path.join(root, 'build', 'release', 'tests', 'make_models');
const no_maker = fs.existsSync(maker) ? false : 'make_models is missing: npm test builds it';

describe('split models at addresses', { skip: no_maker }, () => {
  it('all files come, and any one names them', async () => {
    const made = temporaryDirectory();
    execFileSync(maker, [made, '--split', '3']);
    const split = [1, 2, 3].map((i) => path.join(made, `qwen2-q4_0-0000${i}-of-00003.gguf`));
    const added = split.map((file) => hub.add(path.basename(file), fs.readFileSync(file)));
    hub.api.repository('owner/split', Object.fromEntries(added.map((file) => [file.name, file])));
    const env = fresh_cache();
    const logits = ['--tokens', '1,2', '--hash'];
    const address = `hf:owner/split:${added[1].name}`;
    const { out, err, status } = await run(['logits', address, ...logits], env);
    assert.equal(status, 0, err);
    assert.equal(out, sluice(['logits', split[0], ...logits]).out);
    const [entry, ...others] = entries(env);
    assert.deepEqual([others.length, entry.parts, entry.complete], [0, 3, true]);
    const { parts, bytes } = await pull('hf:owner/split', env);
    assert.equal(parts.length, 3);
    assert.equal(
      bytes,
      split.reduce((sum, file) => sum + fs.statSync(file).size, 0),
    );
    // By the path of any part, too, and by the name that they have in common.
    for (const given of [parts[1].path, 'qwen2-q4_0'])
      assert.equal(sluice(['logits', given, ...logits], { env }).out, out, given);
    fs.renameSync(parts[2].path, parts[2].path.replace('.gguf', '.part'));
    fs.truncateSync(parts[2].path.replace('.gguf', '.part'), 100);
    const broken = sluice(['logits', parts[0].path, ...logits], { env });
    assert.match(
      broken.err,
      /of qwen2-q4_0-00003-of-00003\.gguf; sluice pull .* downloads the rest/,
    );
    assert.equal((await pull('qwen2-q4_0', env)).bytes, bytes);
    const remote = await run(['inspect', address, '--json'], fresh_cache());
    assert.deepEqual(
      JSON.parse(remote.out),
      JSON.parse(sluice(['inspect', split[0], '--json']).out),
    );
    assert.equal(sluice(['cache', 'delete', address], { env }).status, 0);
    assert.deepEqual(files_of(env), []);
  });
});
