// Tests a real model, Gemma 3 270M: natively, and in Chromium in the library and the page.
//   node tests/real/real-model.mjs
// scripts/real-model.mjs finds or fetches the model. If it can't be had, that counts as one skipped test.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, main, run } from '../../scripts/lib.mjs';
import { NotToBeHad, real_model } from '../../scripts/real-model.mjs';

/** What the tests run, and the command that makes it. */
const BUILT = {
  'build/release/tests/real_model':
    'cmake --preset release && ninja -C build/release tests/real_model',
  'web/app/dist/index.html': 'node scripts/build.mjs web',
};

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

main(async () => {
  let model;
  try {
    model = await real_model();
  } catch (error) {
    if (!(error instanceof NotToBeHad)) throw error;
    console.log(`skipped: not to be had: ${error.message}`);
    console.log('0 passed, 0 failed, 1 skipped');
    return 0;
  }
  for (const [file, command] of Object.entries(BUILT)) {
    if (!fs.existsSync(path.join(ROOT, file))) throw new Failure(`${file} is missing: ${command}`);
  }
  const env = { ...process.env, SLUICE_REAL_MODEL: model.file };
  const began = Date.now();
  const node = ['--test', '--test-reporter=spec', 'tests/real/native.test.mjs'];
  const native = await run(process.execPath, node, { env });
  const between = Date.now();
  const page = await run('npm', ['test', '-w', 'e2e', '--', '--project=real'], { env });
  const ended = Date.now();
  console.log(
    `real-model: download ${seconds(model.download_ms)}; native ${seconds(between - began)}, Chromium ${seconds(ended - between)}`,
  );
  return native === 0 && page === 0 ? 0 : 1;
});
