// The cache in Node, which is the program's: downloads that break off and go on, verified; several at once; the program beside it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  CACHE,
  Engine,
  HASHES,
  NO_PROGRAM,
  RECORDED,
  bundled,
  cache,
  filesOf,
  greedy,
  keyOf,
  beside,
  script,
  sha256,
  startHub,
} from './helpers.mjs';

const MiB = 1 << 20;
const hub = await startHub();
const hex = sha256(bundled);
const at = (address, ending) => path.join(CACHE, `${keyOf(address)}.${ending}`);

async function hashOf(source, options = {}) {
  const engine = await Engine.load(source, { threads: 1, ...options });
  await engine.arrived;
  const { hash } = await engine.logits(RECORDED.ids);
  const { notes } = engine.stats;
  await engine.close();
  return { hash, notes: notes.map(({ code }) => code) };
}

const found = (address) => cache.find(address);

test('a model is kept whole, and read again without the server', async () => {
  const file = hub.add('a.gguf', bundled);
  assert.deepEqual(await hashOf(file.url), { hash: HASHES.f16, notes: [] });
  assert.deepEqual(filesOf(file.url), ['gguf', 'journal']);
  assert.ok(fs.readFileSync(at(file.url, 'gguf')).equals(bundled));
  const { requests } = file.counts;
  assert.deepEqual(await hashOf(file.url), { hash: HASHES.f16, notes: [] });
  assert.equal(file.counts.requests, requests);
  const kept = await found(file.url);
  assert.equal(kept.complete, true);
  assert.equal(kept.bytes, bundled.length);
  assert.equal(kept.inUse, false);
});

test('a process that is killed while it downloads loses little, and the next goes on', async () => {
  const file = hub.add('killed.gguf', bundled, {
    plan: ({ number }) => (number === 0 ? { stall: 1.5 * MiB } : {}),
  });
  const { child, next, ended } = script(
    `const engine = await Engine.load(args.url, { threads: 1, sha256: args.hex,
       onProgress: ({ loaded }) => { if (loaded >= 1_400_000) say(loaded); } });
     await engine.ready;`,
    { url: file.url, hex },
  );
  // It has the same cache: the environment is passed on.
  assert.ok((await next()) >= MiB);
  child.kill('SIGKILL');
  await ended;
  assert.deepEqual(filesOf(file.url), ['journal', 'part']);
  const { stored } = await found(file.url);
  assert.ok(stored >= MiB && stored < bundled.length, String(stored));
  const sent = file.counts.bytes;
  assert.deepEqual(await hashOf(file.url, { sha256: hex }), { hash: HASHES.f16, notes: [] });
  assert.ok(
    file.counts.bytes - sent <= bundled.length - stored,
    'only what was missing was fetched',
  );
  assert.deepEqual(filesOf(file.url), ['gguf', 'journal']);
  const kept = await found(file.url);
  assert.equal(kept.verified, true);
  assert.equal(kept.sha256, hex);
});

test('a connection that is cut is resumed', async () => {
  const file = hub.add('cut.gguf', bundled, {
    plan: ({ number }) => (number < 3 ? { cut: 600_000 } : {}),
  });
  assert.deepEqual(await hashOf(file.url, { sha256: hex }), { hash: HASHES.f16, notes: [] });
});

test('a file with another sha256 is refused, and deleted', async () => {
  const file = hub.add('wrong.gguf', bundled, { plan: () => ({ flips: [2_000_000] }) });
  const engine = Engine.load(file.url, { sha256: hex }).then(async (engine) => {
    await engine.ready;
    return engine;
  });
  await assert.rejects(engine, { code: 'download_corrupt' });
  await cache.list();
  assert.deepEqual(filesOf(file.url), []);
});

test('a damaged block is found, and fetched again alone', async () => {
  const file = hub.add('damaged.gguf', bundled);
  await hashOf(file.url);
  const whole = at(file.url, 'gguf');
  const bytes = fs.readFileSync(whole);
  bytes[1_000_000] ^= 1;
  fs.writeFileSync(whole, bytes);
  const { ok, damaged } = await cache.verify(file.url);
  assert.equal(ok, false);
  assert.deepEqual(damaged, [3]);
  assert.deepEqual(filesOf(file.url), ['journal', 'part']);
  const before = file.counts.bytes;
  assert.equal((await hashOf(file.url)).hash, HASHES.f16);
  assert.equal(file.counts.bytes - before, 256 << 10);
  assert.deepEqual(filesOf(file.url), ['gguf', 'journal']);
  assert.ok(fs.readFileSync(whole).equals(bundled));
  assert.equal((await cache.verify(file.url)).sha256, hex);
});

test('of two loads at once, one downloads and the other follows', async () => {
  const file = hub.add('two.gguf', bundled, { plan: () => ({ rate: 4 * MiB }) });
  const both = await Promise.all([hashOf(file.url), hashOf(file.url)]);
  for (const { hash } of both) assert.equal(hash, HASHES.f16);
  assert.ok(file.counts.bytes < 1.5 * bundled.length, `${file.counts.bytes} bytes were sent`);
  assert.deepEqual(filesOf(file.url), ['gguf', 'journal']);
});

test('what is kept can be listed, pinned, exported and deleted', async () => {
  const file = hub.add('listed.gguf', bundled);
  await hashOf(file.url);
  assert.equal(await cache.has(file.url), true);
  const listed = (await cache.list()).find(({ source }) => source === file.url);
  assert.equal(listed.name, 'listed.gguf');
  await cache.pin(file.url);
  assert.equal((await found(file.url)).pinned, true);
  const blob = await cache.export(file.url);
  assert.ok(Buffer.from(await blob.arrayBuffer()).equals(bundled));
  const { usage, quota, persisted, evictable } = await cache.room();
  assert.ok(usage >= bundled.length && quota > usage);
  assert.equal(persisted, true);
  assert.equal(evictable, 0);
  assert.equal(await cache.delete(file.url), true);
  assert.equal(await cache.delete(file.url), false);
  assert.deepEqual(filesOf(file.url), []);
  await assert.rejects(cache.verify(file.url), { code: 'not_found' });
});

test('a model that is streamed from the cache is in use, and can be pinned meanwhile', async () => {
  const file = hub.add('used.gguf', bundled);
  await hashOf(file.url);
  const options = { contextSize: 64, threads: 1 };
  const { memory } = await Engine.probe(file.url, options);
  const engine = await Engine.load(file.url, { ...options, memoryBudget: memory.least });
  const text = await greedy(engine);
  assert.equal((await found(file.url)).inUse, true);
  await assert.rejects(cache.delete(file.url), { code: 'busy' });
  await cache.pin(file.url);
  await cache.pin(file.url, false);
  await engine.close();
  assert.equal((await found(file.url)).inUse, false);
  assert.deepEqual(filesOf(file.url), ['gguf', 'index', 'journal', 'packed']);
  // The next one reads the packed copy.
  const again = await Engine.load(file.url, { ...options, memoryBudget: memory.least });
  assert.equal(await greedy(again), text);
  await again.close();
  assert.equal(await cache.delete(file.url), true);
  assert.deepEqual(filesOf(file.url), []);
});

test('a process that exits in the middle of a download leaves no lock', async () => {
  const file = hub.add('exits.gguf', bundled, { plan: () => ({ stall: 1.5 * MiB }) });
  const { ended } = script(
    `await Engine.load(args.url, { threads: 1,
       onProgress: ({ loaded }) => { if (loaded >= 1_400_000) process.exit(3); } });`,
    { url: file.url },
  );
  assert.equal((await ended).code, 3);
  const left = fs.readdirSync(CACHE).filter((name) => name.startsWith(keyOf(file.url)));
  assert.deepEqual(left.map((name) => name.slice(33)).sort(), ['journal', 'part']);
});

test('a folder that cannot be made is told in a note', async () => {
  const file = hub.add('nowhere.gguf', bundled);
  const { next, ended } = script(
    `process.env.XDG_CACHE_HOME = '/dev/null';
     const engine = await Engine.load(args.url, { threads: 1 });
     await engine.ready;
     say(engine.stats.notes.map(({ code, message }) => [code, message]));
     await engine.close();`,
    { url: file.url },
  );
  const [[code, message]] = await next();
  assert.equal(code, 'model_not_kept');
  assert.match(message, /\/dev\/null\/sluice/);
  assert.equal((await ended).code, 0);
});

describe('beside the program', { skip: NO_PROGRAM }, () => {
  test('what the program has downloaded is read', async () => {
    const file = hub.add('program.gguf', bundled);
    assert.equal((await beside('pull', file.url)).status, 0);
    const before = file.counts.requests;
    assert.equal((await hashOf(file.url)).hash, HASHES.f16);
    assert.equal(file.counts.requests, before);
  });

  test('what was downloaded here is used by the program', async () => {
    const file = hub.add('library.gguf', bundled);
    await hashOf(file.url, { sha256: hex });
    const before = file.counts.requests;
    const ids = RECORDED.ids.join(',');
    const { out } = await beside('logits', file.url, '--tokens', ids, '--hash', '--json');
    assert.equal(JSON.parse(out).hash, HASHES.f16);
    assert.equal(file.counts.requests, before);
  });

  test('each goes on with what the other has begun', async () => {
    /** Breaks off once, and answers no more until `up`. */
    let up = false;
    const begin = (name) =>
      hub.add(name, bundled, {
        plan: ({ number }) => (up ? {} : number === 0 ? { cut: 1.5 * MiB } : { close: true }),
      });
    const mine = begin('mine.gguf');
    const options = { cache: 'opfs', retryTimeout: 1, threads: 1 };
    await assert.rejects(
      Engine.load(mine.url, options).then((engine) => engine.ready),
      { code: 'download_failed' },
    );
    assert.deepEqual(filesOf(mine.url), ['journal', 'part']);
    const { stored } = await found(mine.url);
    assert.ok(stored >= MiB, String(stored));
    let before = mine.counts.bytes;
    up = true;
    assert.equal((await beside('pull', mine.url)).status, 0);
    up = false;
    assert.ok(mine.counts.bytes - before <= bundled.length - stored);
    assert.ok(fs.readFileSync(at(mine.url, 'gguf')).equals(bundled));

    const its = begin('its.gguf');
    assert.equal((await beside('pull', its.url, '--retry-timeout', '1')).status, 1);
    assert.deepEqual(filesOf(its.url), ['journal', 'part']);
    const left = bundled.length - (await found(its.url)).stored;
    up = true;
    before = its.counts.bytes;
    assert.equal((await hashOf(its.url)).hash, HASHES.f16);
    assert.ok(its.counts.bytes - before <= left);
    assert.deepEqual(filesOf(its.url), ['gguf', 'journal']);
  });
});
