// The packed copy that a model in the cache gets when it runs under a budget: KEY.packed and KEY.index beside KEY.gguf.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Hub } from '../../e2e/hub/server.mjs';
import {
  bundled,
  damaged,
  program,
  root,
  shell,
  sluice,
  start,
  temporaryDirectory,
} from './helpers.mjs';

let hub;
before(async () => (hub = await Hub.start()));
after(() => hub.close());

const tokens = ['--tokens', '5,1,30,7,7,12', '--hash', '-t', '2'];
const memory_of = (file, ...args) =>
  JSON.parse(sluice(['inspect', file, '--json', '-t', '2', ...args]).out).memory;
const { least } = memory_of(bundled);
const budget = ['--memory-budget', String(least)];
const { rereadBytes } = memory_of(bundled, ...budget);
const whole = sluice(['logits', bundled, ...tokens]).out;

const fresh_cache = () => ({
  XDG_CACHE_HOME: temporaryDirectory(),
  HF_TOKEN: '',
  http_proxy: '',
  no_proxy: '*',
});

/** A cache with the bundled model, pulled: its environment, address and files. */
async function cached(options = {}) {
  const env = fresh_cache();
  const file = hub.add('m.gguf', fs.readFileSync(bundled), options);
  const { url } = file;
  const { status, out, err } = await start(['pull', url], env).ended;
  assert.equal(status, 0, err);
  const data = out.trimEnd();
  return {
    env,
    url,
    file,
    data,
    packed: data.replace('.gguf', '.packed'),
    index: data.replace('.gguf', '.index'),
  };
}

/** The hash of the logits of a model in the cache. */
async function hash_of({ url, env }, ...args) {
  const { status, out, err } = await start(['logits', url, ...tokens, ...args], env).ended;
  assert.equal(status, 0, err);
  return out;
}

/** The records of an index, {begin, end}, after its header. */
function records_of({ index }) {
  const bytes = fs.readFileSync(index);
  assert.equal(bytes.toString('latin1', 0, 8), 'SLUICEP\n');
  assert.equal((bytes.length - 40) % 24, 0);
  return Array.from({ length: (bytes.length - 40) / 24 }, (_, i) => ({
    begin: Number(bytes.readBigUInt64LE(40 + 24 * i)),
    end: Number(bytes.readBigUInt64LE(48 + 24 * i)),
  }));
}

const list = ({ env }) => JSON.parse(sluice(['cache', 'list', '--json'], { env }).out);

describe('the packed copy', () => {
  it('is written in the first run under a budget, and read in the second', async () => {
    const model = await cached();
    assert.equal(await hash_of(model), whole);
    assert.ok(!fs.existsSync(model.index) && !fs.existsSync(model.packed), 'all is in memory');
    assert.equal(await hash_of(model, ...budget), whole);
    const records = records_of(model);
    assert.equal(
      records.reduce((sum, { begin, end }) => sum + end - begin, 0),
      rereadBytes,
    );
    const [index, packed] = [model.index, model.packed].map((file) => fs.readFileSync(file));
    // The chunks aren't those of the file: they are packed.
    const file = fs.readFileSync(model.data);
    const { begin, end } = records.reduce((a, b) => (b.end - b.begin > a.end - a.begin ? b : a));
    assert.ok(!packed.subarray(begin, end).equals(file.subarray(begin, end)));
    assert.equal(await hash_of(model, ...budget), whole);
    assert.ok(fs.readFileSync(model.index).equals(index));
    assert.ok(fs.readFileSync(model.packed).equals(packed));
    assert.equal(fs.statSync(model.packed).mode & 0o777, 0o600);
  });
  it('may be damaged: the chunks come from the file, and are kept again', async () => {
    const model = await cached();
    await hash_of(model, ...budget);
    const records = records_of(model);
    const bytes = fs.readFileSync(model.packed);
    for (const { begin } of records) bytes[begin] ^= 0x55;
    fs.writeFileSync(model.packed, bytes);
    assert.equal(await hash_of(model, ...budget), whole);
    assert.equal(records_of(model).length, 2 * records.length);
    for (const { begin } of records) bytes[begin] ^= 0x55;
    assert.ok(fs.readFileSync(model.packed).equals(bytes));

    fs.truncateSync(model.packed, 1000);
    assert.equal(await hash_of(model, ...budget), whole);
    fs.writeFileSync(model.index, Buffer.alloc(5000, 'SLUICEP\n'));
    assert.equal(await hash_of(model, ...budget), whole);
    assert.equal(records_of(model).length, records.length);
  });
  it('is begun anew when the file has changed on the server', async () => {
    const changed = damaged('other.gguf', 'blk.0.ffn_up.weight', 2, Buffer.from([1, 2, 3]));
    const model = await cached({ versions: [fs.readFileSync(changed)] });
    await hash_of(model, ...budget);
    const records = records_of(model);
    const before = fs.readFileSync(model.index);
    const expected = sluice(['logits', changed, ...tokens]).out;
    assert.notEqual(expected, whole);
    model.file.plan = () => ({ version: 1 });
    assert.equal(await hash_of(model, ...budget, '--refresh'), expected);
    assert.equal(records_of(model).length, records.length);
    assert.ok(!fs.readFileSync(model.index).subarray(0, 40).equals(before.subarray(0, 40)));
    assert.equal(await hash_of(model, ...budget), expected);
  });
  it('is used by one process; others do without it', async () => {
    const model = await cached();
    for (let i = 0; i < 2; ++i) {
      const hashes = await Promise.all([1, 2, 3].map(() => hash_of(model, ...budget)));
      assert.deepEqual(hashes, [whole, whole, whole]);
    }
  });
  it('is done without where it cannot be written', async () => {
    const model = await cached();
    const line = `ulimit -f 64; XDG_CACHE_HOME='${model.env.XDG_CACHE_HOME}' '${program}' logits '${model.url}'`;
    const { status, out, err } = shell(`${line} ${[...tokens, ...budget].join(' ')}`);
    assert.equal(status, 0, err);
    assert.equal(out, whole);
  });
  it('counts with its model and goes with it', async () => {
    const model = await cached();
    assert.equal(list(model).packed, 0);
    await hash_of(model, ...budget);
    const { packed, stored, bytes } = list(model);
    assert.ok(packed >= rereadBytes && packed < 3 * rereadBytes + 100_000, String(packed));
    assert.equal(stored, bytes);
    const text = sluice(['cache', 'list'], model).out;
    assert.match(text, /2\.58 MB, complete, packed copy [\d.]+ [kM]B, last used/);
    assert.equal(list(model).packedFits, true);
    assert.equal(sluice(['cache', 'delete', model.url], model).status, 0);
    assert.deepEqual(fs.readdirSync(path.dirname(model.data)), []);
  });
  it('verify checks it: what is damaged is dropped, and packed again', async () => {
    const model = await cached();
    await hash_of(model, ...budget);
    const verify = (...args) => sluice(['cache', 'verify', ...args], model);
    assert.match(verify().out, /^m\.gguf: good, 2\.58 MB, packed copy [\d.]+ [kM]B\n$/);
    const [good] = JSON.parse(`[${verify('--json').out}]`);
    assert.deepEqual([good.ok, good.packed, good.packedDamaged], [true, rereadBytes, 0]);
    const records = records_of(model);
    const bytes = fs.readFileSync(model.packed);
    for (const { begin } of records.slice(0, 3)) bytes[begin] ^= 0x55;
    fs.writeFileSync(model.packed, bytes);
    const { status, out } = verify();
    assert.equal(status, 0);
    assert.match(
      out,
      /^m\.gguf: good, 2\.58 MB; packed copy: 3 damaged chunks were dropped; they are packed again when they are needed\n$/,
    );
    assert.equal(records_of(model).length, records.length - 3);
    assert.match(verify().out, /, packed copy /);
    assert.equal(await hash_of(model, ...budget), whole);
    assert.equal(records_of(model).length, records.length);
    assert.equal(JSON.parse(verify('--json').out).packed, rereadBytes);
    fs.writeFileSync(model.packed, 'x');
    assert.equal(JSON.parse(verify('--json').out).ok, true);
    assert.ok(!fs.existsSync(model.packed) && !fs.existsSync(model.index), 'no chunk is good');
  });
  it("that isn't of this file is called so, and verify or the next use removes it", async () => {
    const model = await cached();
    for (const spoil of [
      () => fs.rmSync(model.index),
      () => fs.writeFileSync(model.index, Buffer.alloc(5000, 'SLUICEP\n')),
    ]) {
      await hash_of(model, ...budget);
      const records = records_of(model);
      spoil();
      assert.equal(list(model).packedFits, false);
      assert.match(sluice(['cache', 'list'], model).out, /complete, unusable packed copy [\d.]+ /);
      assert.equal(await hash_of(model, ...budget), whole);
      assert.equal(records_of(model).length, records.length);
      assert.equal(list(model).packedFits, true);
      spoil();
      const { status, out } = sluice(['cache', 'verify'], model);
      assert.equal(status, 0);
      assert.match(out, /good, 2\.58 MB; packed copy: it wasn't of this file and was removed\n$/);
      assert.ok(!fs.existsSync(model.packed) && !fs.existsSync(model.index));
      assert.equal(list(model).packed, 0);
    }
  });
  it('the figures of a run tell once that it was made, or that it has no room', async () => {
    const model = await cached();
    const args = ['run', model.url, '--tokens', '5,1', '-n', '2', '--temp', '0', '-t', '2'];
    const told = async () => (await start([...args, ...budget], model.env).ended).err;
    assert.match(await told(), /waited [\d.]+ ms for weights; their packed copy was made/);
    assert.doesNotMatch(await told(), /packed copy/);
    for (const file of [model.packed, model.index]) fs.rmSync(file);
    const line = `ulimit -f 64; XDG_CACHE_HOME='${model.env.XDG_CACHE_HOME}' '${program}'`;
    const { err } = shell(`${line} ${[...args, ...budget].join(' ')}`);
    assert.match(err, /waited [\d.]+ ms for weights; there is no room for their packed copy/);
    assert.equal(err.match(/packed copy/g).length, 1);
    assert.doesNotMatch((await start(args, model.env).ended).err, /packed copy/);
  });
  it("isn't made of files that lie elsewhere", () => {
    const directory = temporaryDirectory();
    const file = path.join(directory, 'm.gguf');
    fs.copyFileSync(bundled, file);
    const { status, out, err } = sluice(['logits', file, ...tokens, ...budget]);
    assert.equal(status, 0, err);
    assert.equal(out, whole);
    assert.deepEqual(fs.readdirSync(directory), ['m.gguf']);
  });
});

const maker = path.join(root, 'build', 'release', 'tests', 'make_models');
const no_maker = fs.existsSync(maker) ? false : 'make_models is missing: npm test builds it';

it('each file of a split model has a packed copy', { skip: no_maker }, async () => {
  const made = temporaryDirectory();
  execFileSync(maker, [made, '--split', '3']);
  const split = [1, 2, 3].map((i) => path.join(made, `qwen2-q4_0-0000${i}-of-00003.gguf`));
  const added = split.map((file) => hub.add(path.basename(file), fs.readFileSync(file)));
  hub.api.repository('owner/split', Object.fromEntries(added.map((file) => [file.name, file])));
  const env = { ...fresh_cache(), HF_ENDPOINT: hub.url };
  const model = { url: `hf:owner/split:${added[0].name}`, env };
  const expected = sluice(['logits', split[0], ...tokens]).out;
  const tight = ['--memory-budget', String(memory_of(split[0]).least)];
  assert.equal(await hash_of(model, ...tight), expected);
  const directory = path.join(env.XDG_CACHE_HOME, 'sluice');
  const indexes = fs.readdirSync(directory).filter((name) => name.endsWith('.index'));
  assert.ok(indexes.length > 1, String(indexes));
  const sizes = indexes.map((name) => fs.statSync(path.join(directory, name)).size);
  assert.equal(await hash_of(model, ...tight), expected);
  assert.deepEqual(
    indexes.map((name) => fs.statSync(path.join(directory, name)).size),
    sizes,
  );
});
