// Tests real models: Gemma 3 270M natively, and in Chromium in the library and the page; and the encoder all-MiniLM-L6-v2,
// which is converted here, natively and in the library.
//   node tests/real/real-model.mjs
// scripts/real-model.mjs and scripts/real-encoder.mjs find or fetch the models. If one can't be had, that counts as one
// skipped test.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, ROOT, main, run } from '../../scripts/lib.mjs';
import { converted_encoder, real_encoder } from '../../scripts/real-encoder.mjs';
import { NotToBeHad, real_model } from '../../scripts/real-model.mjs';
import { say, wanted_reporters, write_report } from '../../scripts/reports.mjs';
import { TYPES } from './encoder_vectors.mjs';

/** What the tests run, and the command that makes it. */
const BUILT = {
  'build/release/sluice': 'cmake --preset release && ninja -C build/release sluice',
  'build/release/tests/real_model':
    'cmake --preset release && ninja -C build/release tests/real_model',
  'web/app/dist/index.html': 'node scripts/build.mjs web',
};

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** What `find` gives; null, with a message, if the model can't be had. */
async function had(find) {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof NotToBeHad)) throw error;
    say(`skipped: not to be had: ${error.message}`);
    write_report([{ name: error.message, state: 'skipped', said: '' }]);
    return null;
  }
}

/** Runs a model's native tests and those in Chromium. Returns whether all passed. */
async function test_model(name, download_ms, env, native_file, page_file) {
  const began = Date.now();
  const node = ['--test', ...wanted_reporters(), `tests/real/${native_file}`];
  const all = { ...process.env, ...env };
  const native = await run(process.execPath, node, { env: all });
  const between = Date.now();
  const args = ['test', '-w', 'e2e', '--', '--project=real', page_file];
  const page = await run('npm', args, { env: all });
  const times = `native ${seconds(between - began)}, Chromium ${seconds(Date.now() - between)}`;
  say(`${name}: download ${seconds(download_ms)}; ${times}`);
  return native === 0 && page === 0;
}

main(async () => {
  const model = await had(real_model);
  const encoder = await had(real_encoder);
  if (model === null && encoder === null) return 0;
  for (const [file, command] of Object.entries(BUILT)) {
    if (!fs.existsSync(path.join(ROOT, file))) throw new Failure(`${file} is missing: ${command}`);
  }
  let good = true;
  if (model !== null) {
    const env = { SLUICE_REAL_MODEL: model.file };
    const files = ['native.test.mjs', 'real-model.spec.ts'];
    good = (await test_model('real-model', model.download_ms, env, ...files)) && good;
  }
  if (encoder === null) return good ? 0 : 1;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-encoder-'));
  try {
    const program = path.join(ROOT, 'build/release/sluice');
    for (const type of TYPES) converted_encoder(program, encoder.folder, type, dir);
    const env = { SLUICE_REAL_VECTORS: dir };
    const files = ['encoder.test.mjs', 'real-encoder.spec.ts'];
    good = (await test_model('real-encoder', encoder.download_ms, env, ...files)) && good;
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
  return good ? 0 : 1;
});
