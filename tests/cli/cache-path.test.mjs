// Files of the cache that are given by their paths: unfinished and damaged ones are never a model.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { bundled, sluice, start, temporaryDirectory } from './helpers.mjs';
import {
  MiB,
  entries,
  files_of,
  fresh_cache,
  hub,
  model,
  pull,
  pulls,
  run,
} from './pull-helpers.mjs';

const greedy = ['-p', 'Once', '-n', '8', '--temp', '0'];
const text = sluice(['run', ...greedy]).out;
const folder = (env) => path.join(env.XDG_CACHE_HOME, 'sluice');

/** A download of the bundled model that was broken off: {env, file, part: its path}. */
async function broken_off() {
  const env = fresh_cache();
  const file = hub.add('m.gguf', model, {
    plan: ({ number }) => (number === 0 ? { cut: 1.5 * MiB } : { status: 404 }),
  });
  assert.equal((await pull(file.url, env)).status, 1);
  file.plan = () => ({});
  const [{ path: part }] = entries(env);
  return { env, file, part };
}

function damage(file, at) {
  const handle = fs.openSync(file, 'r+');
  fs.writeSync(handle, Buffer.from([model[at] ^ 1]), 0, 1, at);
  fs.closeSync(handle);
}

describe('a file of the cache by its path', () => {
  it('is not a model until all of it is there', async () => {
    const { env, file, part } = await broken_off();
    assert.match(part, /\.part$/);
    const data = part.replace('.part', '.gguf');
    assert.ok(!fs.existsSync(data));
    const link = path.join(temporaryDirectory(), 'link.gguf');
    fs.symlinkSync(data, link);
    const { requests } = file.counts;
    for (const [command, given, cwd] of [
      ['run', part],
      ['run', data],
      ['inspect', link],
      ['run', `./${path.basename(part)}`, folder(env)],
    ]) {
      const { status, err } = sluice([command, given], { env, cwd });
      assert.equal(status, 3, err);
      assert.match(err, /the cache has .* of m\.gguf; sluice pull \S+ downloads the rest/);
      assert.ok(err.includes(`sluice pull ${file.url} `), err);
    }
    assert.equal(file.counts.requests, requests);
    assert.equal((await pulls(file.url, env, model)).path, data);
    assert.deepEqual(
      files_of(env).map((name) => path.extname(name)),
      ['.gguf', '.journal', '.lock'],
    );
    for (const given of [data, link])
      assert.equal(sluice(['run', given, ...greedy], { env }).out, text);
  });
  it('an unfinished one of an earlier version is moved and goes on', async () => {
    const { env, file, part } = await broken_off();
    const data = part.replace('.part', '.gguf');
    fs.renameSync(part, data); // as it was named before
    const { status, err } = sluice(['run', data, ...greedy], { env });
    assert.equal(status, 3);
    assert.match(err, /downloads the rest/);
    const { bytes } = file.counts;
    const [{ stored, complete }] = entries(env);
    assert.equal(complete, false);
    await pulls(file.url, env, model);
    assert.equal(file.counts.bytes - bytes, model.length - stored);
    assert.ok(!fs.existsSync(part));
  });
  it('a damaged one is no model either, until it is repaired', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    damage(data, 1_000_000);
    for (let i = 0; i < 2; ++i) {
      const { status, err } = sluice(['run', data, ...greedy], { env });
      assert.equal(status, 3, err);
      assert.match(err, /the cache has 2\.\d+ MB of 2\.58 MB of m\.gguf; sluice pull \S+ downl/);
      assert.ok(!fs.existsSync(data) && fs.existsSync(data.replace('.gguf', '.part')));
    }
    const { bytes } = file.counts;
    await pulls(file.url, env, model);
    assert.equal(file.counts.bytes - bytes, 256 * 1024);
    assert.equal(sluice(['run', data, ...greedy], { env }).out, text);
    // verify finds it, too.
    damage(data, 1_000_000);
    assert.equal(sluice(['cache', 'verify', data], { env }).status, 3);
    assert.ok(!fs.existsSync(data));
  });
  it('a process that ends between the last block and the last name leaves all', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    const part = data.replace('.gguf', '.part');
    const { requests } = file.counts;
    fs.renameSync(data, part);
    assert.equal(entries(env)[0].complete, false);
    assert.equal(sluice(['run', part, ...greedy], { env }).out, text);
    assert.ok(fs.existsSync(data));
    fs.renameSync(data, part);
    assert.match(sluice(['cache', 'verify'], { env }).out, /^m\.gguf: good, 2\.58 MB\n$/);
    assert.ok(fs.existsSync(data));
    // Or after a block was found damaged, before it was forgotten.
    damage(data, 1_000_000);
    fs.renameSync(data, part);
    await pulls(file.url, env, model);
    assert.equal(file.counts.requests, requests + 1);
  });
  it('is held while it runs, and gets a packed copy', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    const { memory } = JSON.parse(sluice(['inspect', bundled, '--json']).out);
    const tight = ['--memory-budget', String(memory.least)];
    const { child, ended } = start(['run', data, '--ignore-eos', '-n', '-1', ...tight], env);
    await Promise.race([ended, new Promise((resolve) => child.stdout.once('data', resolve))]);
    const removed = sluice(['cache', 'delete', data], { env });
    child.kill('SIGTERM');
    await ended;
    assert.equal(removed.status, 1);
    assert.match(removed.err, /another process is using m\.gguf/);
    assert.ok(entries(env)[0].packed > 0);
  });
  it('without a good journal is refused, listed and deleted', async () => {
    const env = fresh_cache();
    const { path: data } = await pulls(hub.add('m.gguf', model).url, env, model);
    fs.rmSync(data.replace('.gguf', '.journal'));
    const { status, err } = sluice(['run', data, ...greedy], { env });
    assert.equal(status, 3);
    const key = path.basename(data, '.gguf');
    assert.match(err, new RegExp(`its journal .* sluice cache delete ${key} removes it`));
    assert.equal(entries(env)[0].unreadable, 'without a journal');
    assert.equal(sluice(['cache', 'delete', key], { env }).status, 0);
    assert.deepEqual(files_of(env), []);
    // Nothing is left that a journal could be missing for.
    assert.match(sluice(['run', data], { env }).err, /can't open .*: No such file or directory/);
  });
  it('a copy of it elsewhere is a file like any other', async () => {
    const { env, part } = await broken_off();
    const copy = path.join(temporaryDirectory(), 'copy.gguf');
    fs.copyFileSync(bundled, copy);
    assert.equal(sluice(['run', copy, ...greedy], { env }).out, text);
    assert.ok(fs.existsSync(part));
  });
});

describe('a cache that is no directory', () => {
  it('is told as such, with what helps', async () => {
    const env = fresh_cache();
    fs.symlinkSync('nowhere', folder(env));
    const { url } = hub.add('m.gguf', model);
    for (let i = 0; i < 2; ++i) {
      const { status, message } = await pull(url, env);
      assert.equal(status, 1);
      assert.match(message, /can't make the directory of the cache, .* name another one in XDG_/);
      fs.rmSync(folder(env));
      fs.writeFileSync(folder(env), '');
    }
  });
});

describe('a download that was ended before its first block', () => {
  it('leaves nothing where it had only made its files', () => {
    const env = fresh_cache();
    fs.mkdirSync(folder(env), { recursive: true });
    const key = 'a6dcf898ba5bf2cc61c2aea42aed2ad6';
    for (const end of ['journal', 'part'])
      fs.writeFileSync(path.join(folder(env), `${key}.${end}`), '');
    assert.match(sluice(['list'], { env }).out, /^0 models/);
    assert.deepEqual(files_of(env), []);
    // What has something in it stays, to be looked at.
    fs.writeFileSync(path.join(folder(env), `${key}.journal`), 'x');
    assert.match(sluice(['list'], { env }).out, /damaged/);
  });
  it('leaves nothing that is listed or kept', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model, { plan: () => ({ silent: true }) });
    const { child, ended } = start(['pull', file.url], env);
    while (!files_of(env).some((name) => name.endsWith('.journal')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGKILL');
    await ended;
    const verified = sluice(['cache', 'verify'], { env });
    assert.match(verified.out, /^the cache is empty\n$/, verified.err);
    assert.deepEqual(files_of(env), []);
  });
});
