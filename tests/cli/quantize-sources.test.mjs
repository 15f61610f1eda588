// sluice quantize: models in several files, and models at an address.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Hub } from '../../e2e/hub/server.mjs';
import { bundled, gguf, kv, sluice, start, temporary, temporaryDirectory } from './helpers.mjs';
import { error_of, inspect, quantize, sha256 } from './quantize-helpers.mjs';

describe('a split model', () => {
  const folder = temporaryDirectory();
  const names = (name) => [1, 2].map((i) => `${name}-0000${i}-of-00002.gguf`);
  const parts = names('in').map((name) => path.join(folder, name));
  const tensor = (name) => ({ name, type: 0, shape: [256, 2], bytes: 2048 });
  const keys = (number) => ({
    'split.no': kv.u32(number),
    'split.count': kv.u32(2),
    'split.tensors.count': kv.u32(2),
  });
  const meta = { 'general.architecture': kv.string('llama') };
  fs.writeFileSync(parts[0], gguf({ ...meta, ...keys(0) }, [tensor('b.weight')]));
  fs.writeFileSync(parts[1], gguf(keys(1), [tensor('a.weight')]));
  const whole = temporary('whole.gguf', gguf(meta, [tensor('a.weight'), tensor('b.weight')]));

  it('is joined', () => {
    const one = quantize(whole, '--type', 'Q8_0');
    for (const each of parts) {
      const joined = quantize(each, '--type', 'Q8_0');
      assert.equal(joined.status, 0, joined.err);
      assert.deepEqual(joined.files, ['out.gguf']);
      assert.equal(sha256(joined.out_path), sha256(one.out_path));
    }
    const told = JSON.parse(quantize(parts[0], '--type', 'Q8_0', '--json').out);
    assert.equal(told.bytesBefore, fs.statSync(parts[0]).size + fs.statSync(parts[1]).size);
  });
  it('gets no name that says another number of files', () => {
    for (const [name, ...more] of [
      ['a-00001-of-00002.gguf'],
      ['a-00002-of-00003.gguf', '--keep-split'],
    ]) {
      const out = path.join(temporaryDirectory(), name);
      const refused = sluice(['quantize', parts[0], out, '--type', 'Q8_0', '--json', ...more]);
      assert.equal(refused.status, 2, refused.err);
      assert.match(error_of(refused).message, /name of a file of a model that is split into [23];/);
      assert.deepEqual(fs.readdirSync(path.dirname(out)), []);
    }
  });
  it('or stays split', () => {
    const kept = quantize(parts[1], '--type', 'Q8_0', '--keep-split', '--json');
    assert.equal(kept.status, 0, kept.err);
    assert.deepEqual(kept.files, names('out'));
    const folder = path.dirname(kept.out_path);
    const files = kept.files.map((name) => path.join(folder, name));
    const sizes = files.map((file) => fs.statSync(file).size);
    assert.equal(JSON.parse(kept.out).bytesAfter, sizes[0] + sizes[1]);
    const info = inspect(files[0]);
    assert.equal(info.files, 2);
    assert.deepEqual(
      info.tensors.map(({ name, type }) => `${name} ${type}`),
      ['b.weight Q8_0', 'a.weight Q8_0'],
    );
    const diff = sluice(['diff', kept.out_path.replace('.gguf', '-00001-of-00002.gguf'), whole]);
    assert.match(diff.out, /^Fields: 2 differ, 1 is equal$/m);
    const joined = quantize(parts[0], '--type', 'Q8_0').out_path;
    const same = sluice(['diff', files[0], joined]);
    assert.equal(same.status, 0, same.out);
    assert.match(same.out, /^Fields: 0 differ, 3 are equal$/m);
    // In place of the files of such a model.
    const again = sluice(['quantize', parts[0], files[0], '--type', 'F16', '--keep-split']);
    assert.equal(again.status, 0, again.err);
    assert.deepEqual(fs.readdirSync(folder).sort(), names('out'));
    const over = sluice(['quantize', parts[0], parts[1], '--type', 'F16', '--keep-split']);
    assert.equal(over.status, 2);
    assert.match(over.err, /is the file that is read/);
  });
});

describe('a model at an address', () => {
  it('is downloaded, and for a plan only its header', async () => {
    const hub = await Hub.start();
    try {
      hub.api.repository('OWNER/REPO', { 'Stories-Q8_0.gguf': hub.add('s.gguf', bundled) });
      const folder = temporaryDirectory();
      const env = { HF_ENDPOINT: hub.url, HF_TOKEN: '', XDG_CACHE_HOME: folder, no_proxy: '*' };
      const out = path.join(folder, 'o.gguf');
      const args = ['--type', 'Q5_0', '--allow-requantize', '--json'];
      const run = (...more) => start(['quantize', 'hf:OWNER/REPO', ...more, ...args], env).ended;
      const dry = await run('--dry-run');
      assert.equal(dry.status, 0, dry.err);
      assert.deepEqual(
        fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.gguf')),
        [],
      );
      const real = await run(out);
      assert.equal(real.status, 0, real.err);
      assert.deepEqual(JSON.parse(real.out), { file: out, ...JSON.parse(dry.out) });
      assert.equal(inspect(out).types.Q5_0.tensors > 5, true);
    } finally {
      hub.close();
    }
  });
});
