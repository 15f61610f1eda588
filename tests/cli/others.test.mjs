// The table in docs/program.md of llama.cpp's and ollama's commonest command lines: what it says to work does.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Hub } from '../../e2e/hub/server.mjs';
import { bundled, environment, keep, program, root, temporaryDirectory } from './helpers.mjs';
import { tiny_folder } from './tiny-folder.mjs';

const text = fs.readFileSync(join(root, 'docs/program.md'), 'utf8');
const table = text.slice(text.indexOf('| There | Here |')).split('\n\n')[0].split('\n').slice(2);
/** The command lines that work here. */
const lines = table
  .map((row) => /^`(sluice [^`]+)`/.exec(row.split(' | ')[1])?.[1])
  .filter((here) => here !== undefined);

/** Runs a command line in a shell, in `cwd`, with a message on standard input: {status, out, err}. */
function run(line, cwd, env) {
  const bash = keep(
    spawn('bash', ['-c', `echo Hello | ${line}`], { cwd, env: { ...environment, ...env } }),
  );
  let out = '';
  let err = '';
  bash.stdout.on('data', (part) => (out += part));
  bash.stderr.on('data', (part) => (err += part));
  return new Promise((resolve) => {
    bash.on('close', (status) => resolve({ status, out, err }));
  });
}

describe('the table of other programs in docs/program.md', () => {
  const cwd = temporaryDirectory();
  let hub;
  let env;
  before(async () => {
    fs.copyFileSync(bundled, join(cwd, 'model.gguf'));
    for (const name of ['prompt.txt', 'notes.txt']) fs.writeFileSync(join(cwd, name), 'Once upon');
    fs.writeFileSync(join(cwd, 'text.txt'), 'Once upon a time there was a dog.\n'.repeat(50));
    fs.mkdirSync(join(cwd, 'FOLDER'));
    for (const [name, bytes] of Object.entries(tiny_folder()))
      fs.writeFileSync(join(cwd, 'FOLDER', name), bytes);
    fs.mkdirSync(join(cwd, 'bin'));
    fs.symlinkSync(program, join(cwd, 'bin', 'sluice'));
    hub = await Hub.start();
    hub.api.repository('OWNER/REPO', { 'Stories-Q8_0.gguf': hub.add('s.gguf', bundled) });
    env = {
      PATH: `${join(cwd, 'bin')}:${process.env.PATH}`,
      HF_ENDPOINT: hub.url,
      HF_TOKEN: '',
      XDG_CACHE_HOME: join(cwd, 'cache'),
      no_proxy: '*',
    };
    const { status, err } = await run('sluice pull hf:OWNER/REPO', cwd, env);
    assert.equal(status, 0, err);
  });
  after(() => hub.close());

  it('has twenty rows and more', () => assert.ok(table.length >= 20 && lines.length >= 15));
  for (const line of lines) {
    it(line, async () => {
      const given = line.replace('MODEL', 'stories-q8_0');
      const { status, out, err } = await run(given, cwd, env);
      assert.equal(status, 0, err);
      assert.doesNotMatch(err, /error:/);
      assert.notEqual(out, '');
    });
  }
});
