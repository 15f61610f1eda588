// sluice models: the models to begin with, and their names as MODEL.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { events, root, shell, sluice } from './helpers.mjs';
import { entries, fresh_cache, hub, model, pull, pulls, run } from './pull-helpers.mjs';
import { TerminalProgram } from './terminal-screen.mjs';

const shelf = JSON.parse(
  fs.readFileSync(path.join(root, 'web/app/public/models/shelf.json'), 'utf8'),
).models;
/** {repo, file, revision} of an address of the shelf. */
const parts = (address) =>
  /^hf:(?<repo>[^:]+):(?<file>[^@]+)(@(?<revision>\w+))?$/.exec(address).groups;
const free = shelf.find(({ terms, files }) => terms === null && files[0].sha256 === null);
const hashed = shelf.find(({ terms, files }) => terms === null && files[0].sha256 !== null);
const bound = shelf.find(
  ({ terms, files }) => terms !== null && files.some((f) => f.sha256 === null),
);
const bound_type = bound.files.find((file) => file.sha256 === null);
const bound_name = `${bound.id}:${bound_type.type}`;
const served = {};
before(() => {
  for (const { address } of [free.files[0], hashed.files[0], bound_type]) {
    const { repo, file, revision } = parts(address);
    served[file] = hub.add(file, model);
    const main = revision ?? 'f'.repeat(40);
    hub.api.repository(repo, { [file]: served[file] }, { revisions: { main } });
  }
});
const has_script = shell('script --version').out.includes('util-linux');
const skip = !has_script && "needs util-linux's script";

describe('sluice models', () => {
  it('lists the shelf without asking anybody, at 80 columns in a pipe', () => {
    const env = fresh_cache();
    const asked = hub.api.counts.api;
    const { status, out, err } = sluice(['models'], { env });
    assert.deepEqual([status, err], [0, '']);
    for (const { id, name } of shelf) assert.match(out, new RegExp(`^${id}\n  ${name}`, 'm'));
    for (const line of out.split('\n')) assert.ok([...line].length <= 80, line);
    assert.match(out, /\d+ MB, (fits|doesn't fit)/);
    assert.doesNotMatch(out, /download \d|null|licence: \n/);
    // Models that write no text have no speed of writing, and another command.
    for (const { id, kind } of shelf) {
      const [, entry] = new RegExp(`^${id}\n((?:  .*\n)+)`, 'm').exec(out);
      assert.equal(/tokens\/s/.test(entry), kind === 'chat' && !/from the disk/.test(entry), id);
    }
    assert.match(
      out,
      /^sluice chat NAME talks with one\.\nsluice similar NAME -p QUERY -f FILE finds lines, /m,
    );
    assert.equal(hub.api.counts.api, asked);
    assert.deepEqual(entries(env), []);
  });
  it('has fixed keys as JSON', () => {
    const list = events(sluice(['models', '--json'], { env: fresh_cache() }).out);
    assert.deepEqual(
      list.map(({ id }) => id),
      shelf.map(({ id }) => id),
    );
    const keys =
      'id name goodFor parameters context thinking licence terms type types address bytes sha256 fits tokensPerSecond downloadSeconds cached';
    for (const one of list) {
      assert.deepEqual(Object.keys(one), keys.split(' '));
      assert.equal(one.cached, 'no');
      assert.equal(one.downloadSeconds, null);
      assert.ok(one.tokensPerSecond === null || one.tokensPerSecond[0] < one.tokensPerSecond[1]);
      const { kind } = shelf.find(({ id }) => id === one.id);
      if (kind === 'embedding') assert.equal(one.tokensPerSecond, null);
    }
  });
  it('tells what this device has learned, and what is in the cache', async () => {
    const env = fresh_cache();
    await pulls(free.id, env, model);
    const rates = { downloadBytesPerSecond: 1e7, decodeBytesPerSecond: 1e10 };
    const file = path.join(env.XDG_CACHE_HOME, 'sluice', 'device.json');
    fs.writeFileSync(file, JSON.stringify(rates));
    for (const one of events(sluice(['models', '--json'], { env }).out)) {
      assert.equal(one.cached, one.id === free.id ? 'whole' : 'no');
      const { bytes } = shelf.find(({ id }) => id === one.id).files[0];
      assert.equal(one.downloadSeconds, one.id === free.id ? null : bytes / 1e7);
      const { kind } = shelf.find(({ id }) => id === one.id);
      if (one.fits === 'whole' && kind === 'chat')
        assert.deepEqual(one.tokensPerSecond, [(0.75 * 1e10) / bytes, (1.1 * 1e10) / bytes]);
    }
    const { out } = sluice(['models'], { env });
    assert.match(out, /in the cache\n/);
    assert.match(out, /, download \d+ s\n/);
    for (const wrong of ['{', '[]', '{"decodeBytesPerSecond":"x"}', 'null']) {
      fs.writeFileSync(file, wrong);
      assert.equal(sluice(['models'], { env }).status, 0);
    }
  });
  it('fits 40 columns', { skip }, async () => {
    const program = new TerminalProgram(['models'], fresh_cache(), 'stty cols 40 rows 200');
    assert.equal(await program.ended, 0);
    const lines = program.raw.replaceAll('\r', '').split('\n');
    assert.ok(lines.length > 3 * shelf.length);
    // An address is a line by itself.
    for (const line of lines)
      assert.ok([...line].length <= 40 || /^ {2}https:\S+$/.test(line), line);
  });
});

describe('a name of sluice models', () => {
  const complete = (env) => entries(env).map(({ source }) => source);
  it('is a MODEL: downloaded once, with its revision', async () => {
    const env = fresh_cache();
    const { repo, file, revision } = parts(free.files[0].address);
    const args = ['run', free.id.toUpperCase(), '-p', 'Once', '-n', '2', '--temp', '0'];
    const first = await run(args, env);
    assert.equal(first.status, 0, first.err);
    assert.deepEqual(complete(env), [`${hub.url}/${repo}/resolve/${revision}/${file}`]);
    const { requests } = served[file].counts;
    const again = await run(args, { ...env, HF_ENDPOINT: hub.url });
    assert.equal(again.out, first.out);
    assert.equal(served[file].counts.requests, requests);
    assert.equal((await run(['inspect', `${free.id}:${free.files[0].type}`], env)).status, 0);
    assert.match((await run(['cache', 'verify', free.id], env)).out, /: good/);
    assert.match((await run(['rm', free.id], env)).out, /^deleted /);
  });
  it('has its sha256 compared', async () => {
    const env = fresh_cache();
    const { status, message, code } = await pull(hashed.id, env);
    assert.deepEqual([status, code], [3, 'download_corrupt'], message);
    assert.match(message, new RegExp(`expected ${hashed.files[0].sha256}`));
  });
  it('with a wrong letter is told the right one; a type that is not there, which there are', () => {
    const env = fresh_cache();
    const word = `${free.id.slice(0, 2)}x${free.id.slice(3)}`;
    for (const args of [
      ['run', word],
      ['pull', word],
      ['chat', `${word}:Q8_0`, '-p', 'x'],
    ])
      assert.match(sluice(args, { env }).err, new RegExp(`; did you mean ${free.id}\\?`));
    const { status, err } = sluice(['pull', `${free.id}:Q9_9`], { env });
    assert.equal(status, 2);
    assert.match(err, new RegExp(`${free.id} has no file of type Q9_9; there are `));
  });
  it('needs a network the first time', async () => {
    const env = fresh_cache({ HF_ENDPOINT: 'http://127.0.0.1:9' });
    const { status, code } = await pull(free.id, env, '--retry-timeout', '1');
    assert.equal(status, 1);
    assert.match(code, /^(download_failed|offline)$/);
  });
});

describe('terms that bind', () => {
  const file = () => served[parts(bound_type.address).file];
  it('are told in a pipe, and nothing is fetched before --accept-terms', async () => {
    const env = fresh_cache();
    const { requests } = file().counts;
    for (const args of [
      ['pull', bound_name],
      ['run', bound_name, '-p', 'x'],
    ]) {
      const { status, out } = await run([...args, '--json'], env);
      const { code, message } = JSON.parse(out);
      assert.deepEqual([status, code], [2, 'invalid_argument']);
      assert.ok(message.includes(bound.terms.address), message);
      assert.match(message, /--accept-terms/);
    }
    assert.equal(file().counts.requests, requests);
    await pulls(bound_name, env, model, '--accept-terms');
    await run(['cache', 'delete', '--all'], env);
    await pulls(bound_name, env, model); // they stay accepted
  });
  it('ask nothing of a model that is in the cache', async () => {
    const env = fresh_cache();
    await pulls(bound_name, env, model, '--accept-terms');
    fs.rmSync(path.join(env.XDG_CACHE_HOME, 'sluice', 'accepted_terms'));
    await pulls(bound_name, env, model);
  });
  it('are accepted by y at a terminal, and by nothing else', { skip }, async () => {
    const env = fresh_cache();
    for (const answer of ['\n', 'n\n', 'y\n']) {
      const program = new TerminalProgram(['pull', bound_name], env);
      await program.shows(/Accept them\? \[y\/N\]/);
      assert.ok(program.screen.text().includes(bound.terms.address));
      program.type(answer);
      assert.equal(await program.ended, answer === 'y\n' ? 0 : 2, program.raw);
      assert.equal(entries(env).length, answer === 'y\n' ? 1 : 0);
    }
  });
});
