// The files of the cache are the same for the program and the web library: what one writes the other one reads.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { bundled, root, sluice, temporaryDirectory } from './helpers.mjs';
import { entries, files_of, fresh_cache, hub, model, pulls, MiB, pull } from './pull-helpers.mjs';

const outfile = path.join(temporaryDirectory(), 'store.mjs');
const store = 'loader/store';
await build({
  stdin: {
    contents: [
      `${store}/journal`,
      `${store}/hashes`,
      `${store}/packed-index`,
      'loader/net/addresses',
    ]
      .map((file) => `export * from './${file}.ts';`)
      .join('\n'),
    resolveDir: path.join(root, 'web/engine/src'),
  },
  bundle: true,
  format: 'esm',
  platform: 'node',
  outfile,
  logLevel: 'warning',
});
const library = await import(pathToFileURL(outfile));
before(() => library.loadHashes());

const hash = (bytes) => library.tableHash(library.xxh64([bytes]));

/** The journal of the only entry of a cache, as the library reads it: {file, bytes, header, table}. */
function journal_of(env, stored = model.length) {
  const name = files_of(env).find((each) => each.endsWith('.journal'));
  const file = path.join(env.XDG_CACHE_HOME, 'sluice', name);
  const bytes = new Uint8Array(fs.readFileSync(file));
  const header = library.readHeader(bytes);
  assert.equal(typeof header, 'object', String(header));
  return { file, bytes, header, table: library.readTable(bytes, header.meta, stored) };
}

/** The hashes of a file's blocks. */
function hashes_of(bytes, block) {
  const hashes = [];
  for (let at = 0; at < bytes.length; at += block)
    hashes.push(hash(bytes.subarray(at, at + block)));
  return hashes;
}

describe('the files of the cache', () => {
  it('are read by the library, and their journal is written by it', async () => {
    const env = fresh_cache();
    const { url } = hub.add('m.gguf', model);
    const { path: data } = await pulls(url, env, model);
    const { file, bytes, header, table } = journal_of(env);
    assert.equal(header.meta.address, library.canonicalOf(library.parseAddress(url, hub.url)));
    assert.equal(header.meta.totalBytes, model.length);
    assert.equal(header.meta.blockBytes, library.blockBytesFor(model.length));
    assert.deepEqual([...table], hashes_of(model, header.meta.blockBytes));
    assert.equal(bytes.length, library.TABLE_AT + 8 * table.length);
    // The library's next copy of the header counts for the program, which keeps what it doesn't know.
    const changed = { ...header.meta, pinned: true, names: ['a name'], ofLater: [1] };
    const copy = library.writeHeader(changed, header.sequence + 1n);
    const handle = fs.openSync(file, 'r+');
    fs.writeSync(handle, copy, 0, copy.length, (1 - header.copy) * library.COPY_BYTES);
    fs.closeSync(handle);
    const [entry] = entries(env);
    assert.equal(entry.complete, true);
    assert.equal(entry.pinned, true);
    await pulls(url, env, model);
    const again = journal_of(env);
    assert.equal(again.header.sequence, header.sequence + 2n);
    assert.deepEqual({ ...again.header.meta, used: 0 }, { ...changed, used: 0 });
    assert.equal(sluice(['cache', 'verify', data], { env }).status, 0);
  });
  it('have the same blocks while a download is unfinished', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model, {
      plan: ({ number }) => (number === 0 ? { cut: 1.5 * MiB } : { status: 404 }),
    });
    assert.equal((await pull(file.url, env)).status, 1);
    const { header, table } = journal_of(env);
    const whole = hashes_of(model, header.meta.blockBytes);
    assert.equal(table.length, whole.length);
    const there = [...table].filter((each) => each !== 0n).length;
    assert.ok(there > 0 && there < whole.length, `${there} blocks`);
    table.forEach((each, i) => assert.ok(each === 0n || each === whole[i], `block ${i}`));
  });
  it('have the same names for the choices of a hub', async () => {
    const file = hub.add('some-Q8_0.gguf', model);
    hub.api.repository('owner/cached', { 'a b/some-Q8_0.gguf': file, 'README.md': file });
    for (const text of [
      'hf:owner/cached',
      'hf:owner/cached:q8_0@main',
      `${hub.url}/owner/cached/tree/main/a%20b`,
      'hf:owner/cached:a b/some-Q8_0.gguf',
    ]) {
      const env = fresh_cache();
      await pulls(text, env, model);
      const { meta } = journal_of(env).header;
      const address = library.parseAddress(text, hub.url);
      const canonical = library.canonicalOf(address);
      if (address.kind === 'hub choice') assert.deepEqual(meta.names, [canonical]);
      else assert.equal(meta.address, canonical);
      assert.equal(meta.address, `${hub.url}/owner/cached/resolve/main/a%20b/some-Q8_0.gguf`);
    }
  });
  it('have the same names for addresses', async () => {
    const { url } = hub.add('m.gguf', model);
    const odd = [
      ...['', '?download=true', '#part', '?a b|c{d}#e', `?q='x'&z=%7e"<>^`, '?ü%c3', '/../m.gguf'],
      ...['?/../a', '/./../m.gguf'],
    ].map((ending) => url + ending);
    const named = hub.add('ü {a}<`|^~%20.gguf', model);
    odd.push(
      named.url,
      decodeURI(named.url),
      url.replace('http:', 'HTTP:'),
      url.replace('127.0.0.1', 'LocalHost'),
    );
    const found = {};
    for (const text of odd) {
      const env = fresh_cache();
      const done = await pull(text, env);
      found[text] = done.status === 0 ? journal_of(env).header.meta.address : done.message;
    }
    const canonical = (text) => library.canonicalOf(library.parseAddress(text, hub.url));
    assert.deepEqual(found, Object.fromEntries(odd.map((text) => [text, canonical(text)])));
  });
  it('have the same packed copies', async () => {
    const env = fresh_cache();
    const { path: data } = await pulls(hub.add('m.gguf', model).url, env, model);
    const { least } = JSON.parse(sluice(['inspect', bundled, '--json']).out).memory;
    const args = ['run', data, '-p', 'a', '-n', '2', '--memory-budget', String(least)];
    assert.equal(sluice(args, { env }).status, 0);
    const index = new Uint8Array(fs.readFileSync(data.replace('.gguf', '.index')));
    const packed = fs.readFileSync(data.replace('.gguf', '.packed'));
    const original = { layout: 1, total: model.length, table: journal_of(env).table };
    const header = library.indexHeader(original);
    assert.deepEqual(index.subarray(0, header.length), header);
    const chunks = [...library.readIndex(index, header, original, packed.length).values()];
    assert.ok(chunks.length > 10, `${chunks.length} chunks`);
    for (const chunk of chunks)
      assert.equal(library.chunkHash([packed.subarray(chunk.begin, chunk.end)]), chunk.hash);
  });
});
