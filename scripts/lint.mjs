// Checks formats (clang-format for C++, Prettier for the rest), types (tsc, each workspace), and that the files written
// by scripts/options.mjs are up to date.
//   npm run lint            checks
//   npm run lint -- --fix   formats
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, files_under, main, read_json, run } from './lib.mjs';
import { setup } from './setup.mjs';

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
    ['prettier', bin('prettier'), [fix ? '--write' : '--check', '--log-level', 'warn', '.']],
  ];
  for (const workspace of read_json(path.join(ROOT, 'package.json')).workspaces) {
    for (const name of ['tsconfig.json', 'tsconfig.worker.json']) {
      const project = path.join(workspace, name);
      if (!fs.existsSync(path.join(ROOT, project))) continue;
      checks.push([`types: ${project}`, bin('tsc'), ['--noEmit', '-p', project]]);
    }
  }
  const counts = { passed: 0, failed: 0 };
  for (const [name, command, args] of checks) {
    const good = (await run(command, args)) === 0;
    ++counts[good ? 'passed' : 'failed'];
    console.log(`${good ? 'ok      ' : 'not ok  '}${name}`);
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  return counts.failed === 0 ? 0 : 1;
});
