// The README's commands from a folder of Hugging Face to a file that the page opens, as they stand there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { tiny_folder } from '../tests/cli/tiny-folder.mjs';
import { NO_NATIVE, SLUICE, nativeBuilt, sluice } from './models';
import { expect, test } from './profile';
import { ROOT } from './servers';

test.skip(!nativeBuilt, NO_NATIVE);

/** The block of the README that begins with `sluice convert`: its lines' arguments. */
function commands(): string[][] {
  const readme = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const block = /```sh\n(sluice convert [^`]+)```/.exec(readme)?.[1] ?? '';
  return block
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +#.*/, '').split(' ').slice(1));
}

test('the page opens what the README’s commands make of a Hugging Face folder', async ({
  app,
}, info) => {
  const dir = info.outputPath('work');
  const all = commands();
  const folder = all[0]?.[1] ?? '';
  fs.mkdirSync(path.join(dir, folder), { recursive: true });
  // Rows of whole blocks of Q4_K.
  for (const [name, bytes] of Object.entries(tiny_folder({ width: 256 })))
    fs.writeFileSync(path.join(dir, folder, name), bytes);
  expect(all.map(([command]) => command)).toEqual(['convert', 'quantize']);
  for (const args of all) execFileSync(SLUICE, args, { cwd: dir, stdio: 'pipe' });
  const made = path.join(dir, all[1]?.[2] ?? '');

  expect(JSON.parse(sluice('inspect', made, '--json'))).toMatchObject({
    name: 'My Model',
    types: { Q4_K: { tensors: 5 }, Q6_K: { tensors: 3 } },
  });

  await app.open('#length=20');
  await app.chooseFile(made);
  await app.ready('My Model');
  await app.hasFact('Architecture', 'llama');
  expect((await app.write()).length).toBeGreaterThan(0);
});
