// sluice convert of a repository of a hub: what is downloaded, kept, and shown of it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { start, temporary, temporaryDirectory } from './helpers.mjs';
import { entries, files_of, fresh_cache, hub, run } from './pull-helpers.mjs';
import { tiny_folder } from './tiny-folder.mjs';

let n = 0;
/** Adds a repository with these contents: {name, address, files: the served ones, by path}. */
function repository(contents, options = {}, plans = {}) {
  const name = `owner/tiny${++n}`;
  const files = serve(contents, plans);
  const added = hub.api.repository(name, files, options);
  return { name, address: `hf:${name}`, files, added };
}
const serve = (contents, plans = {}) =>
  Object.fromEntries(
    Object.entries(contents).map(([file, bytes]) => [
      file,
      hub.add(file, bytes, plans[file] ? { plan: plans[file] } : {}),
    ]),
  );

async function convert(address, env, ...more) {
  const out = temporary(`out${++n}.gguf`);
  const done = await run(['convert', address, out, '--retry-timeout', '1', ...more], env);
  return { ...done, path: out };
}
async function converts(address, env, ...more) {
  const done = await convert(address, env, ...more);
  assert.equal(done.status, 0, done.err);
  assert.ok(fs.existsSync(done.path));
  return done;
}
async function refuses(address, env, reason, ...more) {
  const done = await convert(address, env, ...more);
  assert.notEqual(done.status, 0);
  assert.match(done.err, reason);
  assert.ok(!fs.existsSync(done.path), 'no file is made');
  return done;
}
const requests = ({ files }) =>
  Object.fromEntries(Object.entries(files).map(([file, { counts }]) => [file, counts.requests]));
const asked = (repository) => Object.values(requests(repository)).reduce((sum, each) => sum + each);

describe('sluice convert hf:OWNER/REPO', () => {
  it('downloads what a conversion reads and no more, and needs no network again', async () => {
    const env = fresh_cache();
    const beside = ['README.md', 'pytorch_model.bin', 'm.gguf', 'onnx/model.onnx', 'weights.h5'];
    const more = { 'consolidated.00.safetensors': Buffer.from('x'), 'special_tokens_map.json': '' };
    const contents = {
      ...tiny_folder(),
      // Of small files a hub's list has no sha256.
      'tokenizer_config.json': {
        size: 2,
        read: (at, length) => Buffer.from('{}').subarray(at, at + length),
      },
      'model-00001-of-00001.safetensors': Buffer.from('of no index'),
      ...Object.fromEntries(
        Object.entries(more).map(([file, bytes]) => [file, Buffer.from(bytes)]),
      ),
      ...Object.fromEntries(beside.map((file) => [file, Buffer.from(file)])),
    };
    const tiny = repository(contents);
    await converts(tiny.address, env);
    const needed = ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'];
    const fetched = Object.entries(requests(tiny)).filter(([, count]) => count > 0);
    assert.deepEqual(fetched.map(([file]) => file).sort(), needed);
    const before = [asked(tiny), tiny.added.asked];
    await converts(tiny.address, env);
    assert.deepEqual([asked(tiny), tiny.added.asked], before, 'no request');
    await converts(tiny.address, env, '--refresh');
    assert.equal(tiny.files['model.safetensors'].counts.again, 0, 'it is current');
  });

  it('is one entry of the cache, which is no model', async () => {
    const env = fresh_cache();
    const tiny = repository(tiny_folder());
    await converts(tiny.address, env);
    const repo = tiny.name.slice('owner/'.length);
    const [entry, ...others] = entries(env);
    assert.deepEqual(others, []);
    const bytes = Object.values(tiny.files).reduce((sum, { size }) => sum + size, 0);
    assert.equal(entry.name, tiny.address);
    assert.deepEqual([entry.bytes, entry.stored, entry.parts], [bytes, bytes, 3]);
    assert.deepEqual([entry.complete, entry.verified, entry.forConversion], [true, true, true]);
    const list = (await run(['cache', 'list'], env)).out;
    assert.match(
      list,
      new RegExp(
        `^${tiny.address}\n  .* kB, source of a conversion, complete, sha256 verified, 3 files, `,
      ),
    );
    assert.match(list, /\n0 models and 1 source of conversions, /);
    assert.equal((await run(['cache', 'list', '--names'], env)).out, '');
    const verified = JSON.parse((await run(['cache', 'verify', tiny.address, '--json'], env)).out);
    assert.deepEqual([verified.ok, verified.bytes], [true, bytes]);
    for (const name of [repo, entry.path]) {
      const { status, err } = await run(['run', name, '-p', 'x'], env);
      assert.equal(status, 3);
      assert.match(err, new RegExp(`first: sluice convert ${tiny.address} OUT\\.gguf`));
    }
    const online = await run(['run', tiny.address, '-p', 'x'], env);
    assert.match(online.err, new RegExp(`but safetensors: sluice convert ${tiny.address} OUT`));
    tiny.added.plan = () => ({ status: 404 });
    const away = await run(['run', tiny.address, '-p', 'x'], env);
    assert.match(away.err, new RegExp(`first: sluice convert ${tiny.address} OUT`));
    const gone = await run(['cache', 'delete', tiny.address], env);
    assert.match(gone.out, new RegExp(`^deleted ${tiny.address}, `));
    assert.deepEqual(
      files_of(env).filter((file) => !file.startsWith('device')),
      [],
    );
  });

  it('goes on with shards after SIGKILL, and fetches no file again', async () => {
    const env = fresh_cache();
    const contents = tiny_folder({ shards: 2, width: 256 });
    const [first, second] = Object.keys(contents).filter((file) => file.includes('-of-'));
    const half = Math.round(contents[second].length / 2);
    assert.ok(half > 600_000, 'several blocks');
    let stalls = true;
    const plan = () => (stalls ? { stall: half } : {});
    const tiny = repository(contents, {}, { [second]: plan });
    const { child, ended } = start(['convert', tiny.address, temporary('killed.gguf')], env);
    const { counts } = tiny.files[second];
    while (counts.bytes < half) await new Promise((resolve) => setTimeout(resolve, 5));
    while (!entries(env).some(({ stored }) => stored > contents[first].length + 500_000))
      await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGKILL');
    assert.equal((await ended).signal, 'SIGKILL');
    assert.deepEqual(
      entries(env).map(({ complete, name, parts }) => [complete, name, parts]),
      [[false, tiny.address, 5]],
    );
    const whole = { ...requests(tiny), [second]: 0 };
    stalls = false;
    await converts(tiny.address, env);
    assert.deepEqual({ ...requests(tiny), [second]: 0 }, whole, 'files that are there');
    assert.ok(counts.again < half, `${counts.again} bytes came again`);
    assert.equal(entries(env)[0].complete, true);
  });

  it('has all files of one commit, also when the revision moves meanwhile', async () => {
    const env = fresh_cache();
    const [was, is] = ['a'.repeat(40), 'b'.repeat(40)];
    const old = serve(tiny_folder({ seed: 1 }), {
      'tokenizer.json': () => {
        tiny.added.revisions.main = is;
        return {};
      },
      'model.safetensors': ({ number }) => (number === 0 ? { status: 404 } : {}),
    });
    // The same tokenizer: it is kept under the address of the other commit.
    const now = serve(tiny_folder({ seed: 2 }));
    const history = { [was]: old, [is]: now };
    const tiny = repository(
      {},
      {
        revisions: { main: was, old: was },
        history: Object.fromEntries(
          Object.entries(history).map(([commit, files]) => [
            commit,
            new Map(Object.entries(files)),
          ]),
        ),
      },
    );
    await refuses(tiny.address, env, /model\.safetensors: the server answered 404/);
    assert.equal(tiny.added.revisions.main, is, 'it has moved');
    // It goes on with what it has begun.
    await converts(tiny.address, env);
    assert.equal(now['model.safetensors'].counts.requests, 0);
    assert.match(entries(env)[0].source, new RegExp(`/tree/${was}$`));
    await converts(tiny.address, env);
    assert.equal(now['model.safetensors'].counts.requests, 0, 'only with --refresh');
    await converts(tiny.address, env, '--refresh');
    assert.deepEqual(
      entries(env).map(({ source, complete }) => [source.slice(-40), complete]),
      [[is, true]],
      'the earlier commit is gone',
    );
    assert.ok(now['model.safetensors'].counts.requests > 0);
    assert.equal(now['tokenizer.json'].counts.requests, 0, 'it is the same');
    // By its own name the earlier commit stays beside.
    await converts(`${tiny.address}@old`, env);
    await converts(tiny.address, env, '--refresh');
    assert.deepEqual(
      entries(env)
        .map(({ name }) => name)
        .sort(),
      [tiny.address, `${tiny.address}@old`],
    );
  });

  it('refuses an index with names that are no shards of the repository', async () => {
    const index = 'model.safetensors.index.json';
    const shard = 'model-00001-of-00002.safetensors';
    for (const [name, reason] of [
      ['../../etc/passwd', /names the file \.\.\/\.\.\/etc\/passwd, expected NAME\.safetensors/],
      ['away.safetensors', /names the file away\.safetensors, which the repository doesn't have/],
      [7, /gives no file for b/],
    ]) {
      const contents = tiny_folder({ shards: 2 });
      contents[index] = Buffer.from(JSON.stringify({ weight_map: { a: shard, b: name } }));
      const tiny = repository({ ...contents, 'onnx/x.safetensors': Buffer.from('x') });
      await refuses(tiny.address, fresh_cache(), reason);
      assert.equal(tiny.files[shard].counts.requests, 0);
    }
  });

  it('says what is missing, and what there is instead', async () => {
    const folder = tiny_folder();
    const without = (...files) =>
      Object.fromEntries(Object.entries(folder).filter(([file]) => !files.includes(file)));
    const pickled = { 'pytorch_model.bin': Buffer.from('x') };
    for (const [contents, reason] of [
      [without('config.json'), /has no config\.json, which tells what the model is/],
      [
        { ...without('tokenizer.json'), 'tokenizer.model': Buffer.from('x') },
        /has no tokenizer\.json, which tells its tokens; it has tokenizer\.model; look/,
      ],
      [{ 'm-Q8_0.gguf': Buffer.from('x') }, /has GGUF files, which need no conversion: sluice run/],
      [
        { ...without('model.safetensors'), ...pickled },
        /only in pytorch_model\.bin, which is Python's pickle/,
      ],
      [without('model.safetensors'), /no weights in safetensors.* there are config\.json, /],
    ]) {
      const tiny = repository(contents);
      const env = fresh_cache();
      await refuses(tiny.address, env, reason);
      assert.equal(files_of(env).length, 0, 'nothing is kept');
    }
    for (const [address, reason] of [
      ['hf:owner/none', /there is no such repository, or it needs an account/],
      [
        'hf:owner/repo:Q8_0',
        /names a part of a repository; a whole one is converted: hf:owner\/repo/,
      ],
      [`${hub.url}/file/1/x`, /is no repository of a hub; expected hf:OWNER\/REPO/],
    ]) {
      await refuses(address, fresh_cache(), reason);
    }
  });

  it('looks at the config before it downloads the weights', async () => {
    const folder = tiny_folder({ shards: 2 });
    const config = JSON.parse(folder['config.json']);
    const other = JSON.stringify({ ...config, architectures: ['OtherForCausalLM'] });
    const tiny = repository({ ...folder, 'config.json': Buffer.from(other) });
    const env = fresh_cache();
    await refuses(tiny.address, env, /the model is a OtherForCausalLM; Sluice converts /);
    const shards = Object.entries(requests(tiny)).filter(([file]) => file.includes('-of-'));
    assert.deepEqual(
      shards.map(([, count]) => count),
      [0, 0],
    );
    assert.deepEqual(files_of(env), [], 'nothing is kept');
  });

  it('takes a folder that is there before a repository of that name', async () => {
    const tiny = repository(tiny_folder());
    const folder = temporaryDirectory();
    const here = path.join(folder, tiny.name);
    fs.mkdirSync(here, { recursive: true });
    for (const [file, bytes] of Object.entries(tiny_folder({ seed: 2 })))
      fs.writeFileSync(path.join(here, file), bytes);
    const env = fresh_cache();
    const convert_at = (...args) =>
      start(['convert', tiny.name, 'out.gguf', ...args], env, folder).ended;
    assert.equal((await convert_at()).status, 0);
    assert.equal(asked(tiny), 0);
    const wrong = await convert_at('--refresh');
    assert.equal(wrong.status, 2);
    assert.match(wrong.err, /--refresh is for what is downloaded/);
    fs.rmSync(here, { recursive: true });
    assert.equal((await convert_at()).status, 0);
    assert.ok(asked(tiny) > 0);
  });

  it('says at Ctrl-C what is kept of the download', async () => {
    const plan = ({ kind, number }) => {
      if (kind !== 'signed') return {};
      return number === 0 ? { cut: 1_400_000 } : { close: true };
    };
    const contents = tiny_folder({ width: 256 });
    const tiny = repository(contents, {}, { 'model.safetensors': plan });
    const env = fresh_cache();
    const out = temporary('stopped.gguf');
    const { child, ended } = start(['convert', tiny.address, out], env);
    let said = '';
    child.stderr.on('data', (data) => (said += data));
    while (!said.includes('trying again')) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGINT');
    const { err, status } = await ended;
    assert.equal(status, 130);
    assert.match(err, /stopped: .* of 2\.10 MB of file 3 of 3 are kept; the same command goes on/);
    assert.ok(!fs.existsSync(out));
  });

  it('needs a token where the hub does', async () => {
    const tiny = repository(tiny_folder(), { token: 'secret' });
    await refuses(tiny.address, fresh_cache(), /put a token that may read it into HF_TOKEN/);
    await converts(tiny.address, fresh_cache({ HF_TOKEN: 'secret' }));
    assert.equal(tiny.files['model.safetensors'].counts.leaked, 0);
  });

  it('keeps no web page in place of a file, and no file with another sha256', async () => {
    const page = repository(
      tiny_folder(),
      {},
      {
        'tokenizer.json': () => ({ html: true }),
      },
    );
    const env = fresh_cache();
    await refuses(page.address, env, /tokenizer\.json: .*(a web page|the hub lists a file of)/);
    page.files['tokenizer.json'].plan = () => ({});
    await converts(page.address, env);
    const torn = repository(
      tiny_folder(),
      {},
      {
        'model.safetensors': () => ({ flips: [90_000] }),
      },
    );
    await refuses(torn.address, env, /has the sha256 [0-9a-f]{64}, expected /);
  });

  it('says before the first shard that not all have room', async () => {
    const contents = tiny_folder({ shards: 2 });
    const huge = Object.keys(contents).findLast((file) => file.includes('-of-'));
    const read = (_, length) => Buffer.alloc(length);
    const tiny = repository({ ...contents, [huge]: { size: 1e15, read } });
    await refuses(tiny.address, fresh_cache(), /no room for the model: 1\.00 PB more are needed/);
    const shards = Object.entries(requests(tiny)).filter(([file]) => file.includes('-of-'));
    assert.deepEqual(
      shards.map(([, count]) => count),
      [0, 0],
    );
  });
});
