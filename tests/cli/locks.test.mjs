// The locks of the cache between the program and the web library in Node.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import { keep, program, root, sluice, start, temporaryDirectory } from './helpers.mjs';
import { MiB, entries, files_of, fresh_cache, hub, model, pulls, run } from './pull-helpers.mjs';

const compiled = path.join(temporaryDirectory(), 'locks.mjs');
const source = fs.readFileSync(path.join(root, 'web/engine/src/node/locks.ts'), 'utf8');
fs.writeFileSync(compiled, (await transform(source, { loader: 'ts', target: 'node20' })).code);
const { tryTake, isHeld } = await import(pathToFileURL(compiled));

const native_fighter = path.join(path.dirname(program), 'tests', 'lock_fight');
const node_fighter = path.join(root, 'tests/cli/lock-fight.mjs');

describe('a lock that native programs and Node want', () => {
  // A long fight: SLUICE_FIGHT_SECONDS=300 node --test tests/cli/locks.test.mjs
  const seconds = Number(process.env.SLUICE_FIGHT_SECONDS ?? 2.5);
  it(`is never held by two, also while they are killed (${seconds} s)`, async (test) => {
    const folder = temporaryDirectory();
    const lock = path.join(folder, 'k.lock');
    const state = path.join(temporaryDirectory(), 'state');
    fs.writeFileSync(state, Buffer.alloc(16));
    const count = (kind) => path.join(path.dirname(state), kind);
    let seed = 0;
    const ends = [];
    const begin = (kind) => {
      const args = [lock, state, count(kind), String(++seed)];
      const child = keep(
        kind === 'native'
          ? spawn(native_fighter, args)
          : spawn(process.execPath, [node_fighter, pathToFileURL(compiled).href, ...args]),
      );
      let err = '';
      child.stderr.on('data', (text) => (err += text));
      const ended = once(child, 'close').then(([code, signal]) => ({ kind, code, signal, err }));
      ends.push(ended);
      return { kind, child, ended, begins: once(child.stdout, 'data') };
    };
    const kinds = ['native.shared', 'native.exclusive', 'node.shared', 'node.exclusive'];
    const is_missing = (kind) => !fs.existsSync(count(kind));
    const fighters = ['native', 'native', 'node', 'node'].map(begin);
    const until = Date.now() + 1000 * seconds;
    let kills = 0;
    // Longer where the machine is busy, and not all have taken one.
    while (Date.now() < until || [...kinds, 'node.upgraded'].some(is_missing)) {
      await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 200));
      // Node needs a while to begin: it is killed less often, and not before.
      const i = Math.random() < 0.75 ? Math.floor(Math.random() * 2) : 2 + (kills % 2);
      const { kind, child, ended, begins } = fighters[i];
      await Promise.race([begins, ended]);
      child.kill('SIGKILL');
      const { signal, err } = await ended;
      assert.equal(signal, 'SIGKILL', err);
      kills += 1;
      fighters[i] = begin(kind);
    }
    // The last ones end by themselves, and have cleaned up behind the others.
    for (const kind of ['native', 'node']) fs.writeFileSync(`${count(kind)}.end`, '');
    for (const { ended } of fighters) {
      const { code, err } = await ended;
      assert.equal(code, 0, err);
    }
    for (const { signal, code, err } of await Promise.all(ends))
      assert.ok(code === 0 || signal === 'SIGKILL', err);
    const taken = {};
    for (const kind of kinds) taken[kind] = fs.statSync(count(kind)).size;
    taken.upgraded = fs.statSync(count('node.upgraded')).size;
    test.diagnostic(`${kills} kills, locks taken: ${JSON.stringify(taken)}`);
    for (const number of Object.values(taken)) assert.ok(number > 0, JSON.stringify(taken));
    tryTake(lock, 'exclusive').release();
    assert.deepEqual(fs.readdirSync(folder), ['k.lock']);
  });
});

describe('a model that Node uses', () => {
  it('is in use for the program, too', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    const lock = data.replace('.gguf', '.lock');
    const files = files_of(env);
    const used = tryTake(lock, 'shared');
    const other = tryTake(lock, 'shared');
    assert.equal(entries(env)[0].inUse, true);
    for (const command of ['delete', 'verify']) {
      const { status, err } = sluice(['cache', command, data], { env });
      assert.equal(status, 1);
      assert.match(err, /m\.gguf.*another process is using it|another process is using m\.gguf/);
    }
    // It can be read by both.
    await pulls(file.url, env, model);
    other.release();
    assert.equal(used.tryUpgrade(), true);
    assert.equal(entries(env)[0].inUse, true);
    used.release();
    assert.equal(entries(env)[0].inUse, false);
    assert.deepEqual(files_of(env), files);
    assert.equal(sluice(['cache', 'delete', data], { env }).status, 0);
    assert.deepEqual(files_of(env), []);
  });
  it('is waited for while it is incomplete, and taken as soon as it is whole', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model, {
      plan: ({ number }) => (number === 0 ? { cut: 1.5 * MiB } : { status: 404 }),
    });
    assert.equal((await run(['pull', file.url], env)).status, 1);
    file.plan = () => ({});
    const whole = fresh_cache();
    const { path: from } = await pulls(file.url, whole, model);
    const [{ path: part }] = entries(env);
    const lock = part.replace('.part', '.lock');
    const used = tryTake(lock, 'shared');
    const { child, ended } = start(['pull', file.url], env);
    await Promise.race([ended, once(child.stderr, 'data')]);
    // It is completed by others, who go on using it.
    for (const ending of ['.journal', '.gguf'])
      fs.copyFileSync(from.replace('.gguf', ending), part.replace('.part', ending));
    const { status, err } = await ended;
    assert.equal(status, 0, err);
    assert.match(err, /another process is downloading this model; waiting for it/);
    assert.equal(isHeld(lock), true);
    used.release();
  });
  it('is downloaded as soon as Node releases it', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const { path: data } = await pulls(file.url, env, model);
    assert.equal(sluice(['cache', 'delete', data], { env }).status, 0);
    const used = tryTake(data.replace('.gguf', '.lock'), 'exclusive');
    const { child, ended } = start(['pull', file.url], env);
    await Promise.race([ended, once(child.stderr, 'data')]);
    assert.ok(!fs.existsSync(data));
    used.release();
    const { status, err } = await ended;
    assert.equal(status, 0, err);
    assert.match(err, /another process is downloading this model; waiting for it/);
    assert.ok(fs.readFileSync(data).equals(model));
    assert.deepEqual(
      files_of(env).map((name) => path.extname(name)),
      ['.gguf', '.journal', '.lock'],
    );
  });
});
