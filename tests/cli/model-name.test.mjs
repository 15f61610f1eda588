// What MODEL means: a path, a name in the cache, an address without its scheme; and what is said of a word that is none.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { bundled, gguf, kv, sluice, temporaryDirectory } from './helpers.mjs';
import { entries, fresh_cache, hub, model, pulls, run } from './pull-helpers.mjs';

const tokens = sluice(['tokenize', '-p', 'Once upon']).out;
const logits = ['-p', 'Once', '--hash'];
const ask = (word, env, cwd) => sluice(['tokenize', word, '-p', 'Once upon'], { env, cwd });

const files = {};
before(() => {
  for (const name of ['Tiny-Story-Q8_0.gguf', 'Tiny-Story-Q4_K_M.gguf', 'mmproj-Q4_K_M.gguf'])
    files[name] = hub.add(name, model);
  hub.api.repository('owner/Tiny-GGUF', files);
});

describe('the name of a model in the cache', () => {
  it('is its file without .gguf, its repository, or the beginning of either', async () => {
    const env = fresh_cache();
    await pulls('hf:owner/Tiny-GGUF:Q8_0', env, model);
    const { requests } = files['Tiny-Story-Q8_0.gguf'].counts;
    const asked = hub.api.counts.api;
    for (const word of [
      'Tiny-Story-Q8_0.gguf',
      'tiny-story-q8_0',
      'tiny-story',
      'TINY-GGUF',
      't',
    ]) {
      const { out, err } = ask(word, env);
      assert.equal(out, tokens, `${word}: ${err}`);
    }
    assert.equal(
      sluice(['logits', 'tiny-story', ...logits], { env }).out,
      sluice(['logits', ...logits]).out,
    );
    assert.equal((await pulls('tiny-story', env, model)).bytes, model.length);
    assert.match(
      sluice(['cache', 'verify', 'tiny-gguf'], { env }).out,
      /^Tiny-Story-Q8_0.gguf: good/,
    );
    assert.equal(files['Tiny-Story-Q8_0.gguf'].counts.requests, requests);
    assert.equal(hub.api.counts.api, asked);
    assert.match(sluice(['rm', 'tiny'], { env }).out, /^deleted Tiny-Story-Q8_0\.gguf/);
    assert.deepEqual(entries(env), []);
  });
  it('may mean several: they are listed, unless one is called just so', async () => {
    const env = fresh_cache();
    await pulls('hf:owner/Tiny-GGUF:Q8_0', env, model);
    await pulls('hf:owner/Tiny-GGUF:Q4_K_M', env, model);
    const other = hub.add('tiny.gguf', model);
    const again = hub.add('tiny.gguf', model);
    for (const args of [
      ['tokenize', 'tiny-gguf', '-p', 'x'],
      ['cache', 'delete', 'tiny-s'],
    ]) {
      const { status, err } = sluice(args, { env });
      assert.equal(status, 2);
      assert.match(err, /tiny-\w+ may mean 2 models in the cache; name one of them:/);
      assert.match(err, /\n {2}Tiny-Story-Q8_0\n/);
      assert.match(err, /\n {2}Tiny-Story-Q4_K_M\n/);
    }
    await pulls(other.url, env, model);
    assert.equal(ask('tiny', env).out, tokens);
    await pulls(again.url, env, model);
    const { err } = ask('tiny', env);
    for (const { url } of [other, again]) assert.ok(err.includes(`\n  ${url}\n`), err);
  });
  it('comes behind a path that exists', async () => {
    const env = fresh_cache();
    const dir = temporaryDirectory();
    await pulls('hf:owner/Tiny-GGUF:Q8_0', env, model);
    fs.writeFileSync(path.join(dir, 'tiny-story'), 'no model');
    assert.match(ask('tiny-story', env, dir).err, /not a GGUF file/);
    fs.mkdirSync(path.join(dir, 'owner'));
    fs.copyFileSync(bundled, path.join(dir, 'owner', 'Tiny-GGUF'));
    const asked = hub.api.counts.api;
    assert.equal(ask('owner/Tiny-GGUF', env, dir).out, tokens);
    assert.equal(hub.api.counts.api, asked);
  });
});

describe('an address of a hub', () => {
  it('is known without its scheme, and with a type behind it', async () => {
    const place = 'owner/Tiny-GGUF/resolve/main/Tiny-Story';
    const { host } = new URL(hub.url);
    for (const [address, name] of [
      ['owner/Tiny-GGUF', 'Q4_K_M'],
      ['owner/Tiny-GGUF:Q8_0', 'Q8_0'],
      ['hf.co/owner/Tiny-GGUF:Q8_0', 'Q8_0'],
      ['HuggingFace.co/owner/Tiny-GGUF', 'Q4_K_M'],
      ['huggingface.co/owner/Tiny-GGUF/tree/main', 'Q4_K_M'],
      ['hf.co/owner/Tiny-GGUF/blob/main/Tiny-Story-Q8_0.gguf', 'Q8_0'],
      ['owner/Tiny-GGUF/blob/main/Tiny-Story-Q8_0.gguf', 'Q8_0'],
      ['https://hf.co/owner/Tiny-GGUF:Tiny-Story-Q8_0.gguf', 'Q8_0'],
      [`http://${host}/owner/Tiny-GGUF:q8_0`, 'Q8_0'],
    ]) {
      const env = fresh_cache();
      const done = await pulls(address, env, model);
      assert.equal(done.address, `${hub.url}/${place}-${name}.gguf`, address);
    }
    const { out, err } = await run(
      ['tokenize', 'owner/Tiny-GGUF', '-p', 'Once upon'],
      fresh_cache(),
    );
    assert.equal(out, tokens, err);
  });
  it('says which file it takes and which others there are, unless quiet', async () => {
    const env = fresh_cache();
    const takes =
      'sluice: owner/Tiny-GGUF: takes Tiny-Story-Q4_K_M.gguf (2.58 MB); others: Tiny-Story-Q8_0.gguf\n';
    assert.equal((await run(['pull', 'owner/Tiny-GGUF'], env)).err, takes);
    const again = await run(['pull', 'hf:owner/Tiny-GGUF'], env);
    assert.equal(
      again.err,
      'sluice: owner/Tiny-GGUF: takes Tiny-Story-Q4_K_M.gguf from the cache\n',
    );
    const short = ['-p', 'Once', '-n', '1'];
    assert.ok((await run(['run', 'owner/Tiny-GGUF', ...short], fresh_cache())).err.includes(takes));
    for (const args of [
      ['pull', 'owner/Tiny-GGUF', '-q'],
      ['run', 'owner/Tiny-GGUF', '-q', ...short],
      ['pull', 'owner/Tiny-GGUF:Q8_0'],
    ])
      assert.equal((await run(args, fresh_cache())).err, '');
  });
});

describe('a word that is no model', () => {
  const env = fresh_cache();
  before(() => pulls('hf:owner/Tiny-GGUF:Q8_0', env, model));
  const said = (...args) => {
    const { status, err } = sluice(args, { env });
    assert.equal(status, 3, err);
    return err;
  };
  it('may be a prompt', () => {
    for (const command of ['run', 'tokenize', 'chat', 'logits'])
      assert.match(
        said(command, 'Hello wide world'),
        /can't open Hello wide world: .* a prompt goes after -p: -p "Hello wide world"\n$/,
      );
    assert.match(said('tokenize', 'Hello'), / a prompt goes after -p: -p Hello\n$/);
    assert.match(said('run', 'say "$(id)"'), / a prompt goes after -p: -p TEXT\n$/);
    assert.doesNotMatch(said('run', 'Hello', '-p', 'x'), /goes after/);
    assert.doesNotMatch(said('inspect', 'Hello'), /goes after/);
  });
  it('may be a name with a wrong letter', () => {
    for (const word of ['tiny-stroy', 'tinny-story-q8_0', 'Tiny-Story-Q8_1.gguf'])
      assert.match(
        said('run', word),
        /in the cache is named .*; did you mean Tiny-Story-Q8_0\?\n$/,
      );
    assert.match(
      sluice(['cache', 'verify', 'tiny-stroy'], { env }).err,
      /has no model tiny-stroy; .*; did you mean Tiny-Story-Q8_0\?/,
    );
  });
  it('is told what was tried', () => {
    assert.match(
      said('inspect', 'models/none.gguf'),
      /can't open models\/none\.gguf: No such file or directory; expected the path of a GGUF model, a name of one in the cache or of sluice models, or an address like hf:OWNER\/REPO\n$/,
    );
    assert.match(said('inspect', '/'), /is a directory; expected the path/);
  });
});

describe('a header that tells that a model cannot run here', () => {
  const other = gguf({ 'general.architecture': kv.string('other') });
  const file = Buffer.concat([other, Buffer.alloc(40 << 20)]);
  it('ends pull before the rest comes, but for --force', async () => {
    const env = fresh_cache();
    const served = hub.add('other.gguf', file);
    for (const args of [
      ['pull', served.url],
      ['run', served.url, '-p', 'x'],
    ]) {
      const { status, err } = await run(args, env);
      assert.equal(status, 3, err);
      assert.match(err, /architecture is "other"/);
      if (args[0] === 'pull') assert.match(err, /\. sluice pull --force brings it anyway\n$/);
    }
    const { code } = JSON.parse((await run(['pull', served.url, '--json'], env)).out);
    assert.equal(code, 'unsupported_model');
    assert.equal(served.counts.requests, 3);
    assert.ok(served.counts.bytes < 36 << 20, String(served.counts.bytes));
    assert.deepEqual(entries(env), []);
    await pulls(served.url, env, file, '--force');
  });
  it('a file that its server has cut short is refused, and nothing of it kept', async () => {
    for (const ignoreRange of [false, true]) {
      for (const lengthBy of [0, null]) {
        if (lengthBy === null && !ignoreRange) continue;
        const env = fresh_cache();
        const served = hub.add('cut.gguf', model.subarray(0, 2_000_000), {
          plan: () => ({ ignoreRange, lengthBy }),
        });
        for (const args of [['pull'], ['run', '-p', 'x']]) {
          const [command, ...rest] = args;
          const { status, out } = await run([command, served.url, ...rest, '--json'], env);
          const { code, message, facts } = JSON.parse(out);
          assert.deepEqual([status, code, facts.url], [3, 'bad_file', served.url]);
          assert.match(
            message,
            new RegExp(
              `has 2000000 bytes of a file whose header promises ${model.length}: it is incomplete there`,
            ),
          );
        }
        assert.deepEqual(entries(env), []);
      }
    }
    const env = fresh_cache();
    const headless = hub.add('cut.gguf', model.subarray(0, 5000));
    const { status, err } = await run(['pull', headless.url], env);
    assert.equal(status, 3);
    assert.match(err, /the file ends after 5000 bytes/);
    assert.deepEqual(entries(env), []);
  });
});
