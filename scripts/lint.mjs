// Checks formats (clang-format for C++, Prettier for the rest), types (tsc, each workspace), which folder includes which, and
// that the files written by scripts/options.mjs are up to date.
//   npm run lint            checks
//   npm run lint -- --fix   formats
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT, files_under, main, read_json, run } from './lib.mjs';
import { count, write_report } from './reports.mjs';
import { setup } from './setup.mjs';

/** Runs a command; resolves with its exit status and what it wrote. */
async function run_and_hear(command, args) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-'));
  try {
    const log = path.join(dir, 'log');
    const status = await run(command, args, { log });
    return { status, said: fs.readFileSync(log, 'utf8') };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

main(async () => {
  const fix = process.argv.includes('--fix');
  await setup(['npm', 'lint']);
  const sources = ['core', 'wasm', 'native', 'tests']
    .flatMap((dir) => files_under(dir))
    .filter((name) => /\.(cc|h|inl)$/.test(name));
  const bin = (name) => path.join(ROOT, 'node_modules/.bin', name);
  const checks = [
    ['clang-format', 'clang-format', [...(fix ? ['-i'] : ['--dry-run', '-Werror']), ...sources]],
    ['options', process.execPath, ['scripts/options.mjs', '--check']],
    ['layers', process.execPath, ['tests/check_layers.mjs']],
    ['prettier', bin('prettier'), [fix ? '--write' : '--check', '--log-level', 'warn', '.']],
  ];
  for (const workspace of read_json(path.join(ROOT, 'package.json')).workspaces) {
    for (const name of ['tsconfig.json', 'tsconfig.worker.json']) {
      const project = path.join(workspace, name);
      if (!fs.existsSync(path.join(ROOT, project))) continue;
      checks.push([`types: ${project}`, bin('tsc'), ['--noEmit', '-p', project]]);
    }
  }
  const tests = [];
  // Two at a time, each with what it says in one piece.
  const check_next = async () => {
    for (let check = checks.shift(); check !== undefined; check = checks.shift()) {
      const [name, command, args] = check;
      const { status, said } = await run_and_hear(command, args);
      const good = status === 0;
      tests.push({ name, state: good ? 'passed' : 'failed', said: good ? '' : said });
      console.log(`${said}${good ? 'ok      ' : 'not ok  '}${name}`);
    }
  };
  await Promise.all([check_next(), check_next()]);
  write_report(tests);
  const { passed, failed } = count(tests);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});
