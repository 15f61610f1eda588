// Fuzzing with libFuzzer, ASan and UBSan:  npm run fuzz -- [TARGET]... [--seconds N]
// Without --seconds it runs until Ctrl-C. A target starts from its corpus in build/asan/corpus/TARGET, to which it adds,
// and from the seeds that the build makes. An input that fails is written to build/asan/found/.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, is_program, main, run } from './lib.mjs';
import { build_preset } from './build.mjs';
import { count, write_report } from './reports.mjs';
import { setup } from './setup.mjs';

const BUILD = path.join(ROOT, 'build/asan');

/** The fuzz targets, by their sources: tests/fuzz/fuzz_NAME.cc is the program fuzz_NAME. */
export function fuzz_targets() {
  const dir = path.join(ROOT, 'tests/fuzz');
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir)
    .filter((name) => /^fuzz_\w+\.cc$/.test(name))
    .map((name) => name.slice(0, -3))
    .sort();
}

function fuzz(target, seconds) {
  const corpus = path.join(BUILD, 'corpus', target);
  const found = path.join(BUILD, 'found');
  const seeds = path.join(BUILD, 'tests/fuzz/seeds', target);
  fs.mkdirSync(corpus, { recursive: true });
  fs.mkdirSync(found, { recursive: true });
  const options = [
    ...(seconds === null ? [] : [`-max_total_time=${seconds}`]),
    ...['-timeout=20', '-rss_limit_mb=3000', '-print_final_stats=1'],
    `-artifact_prefix=${found}/${target}-`,
  ];
  const corpora = [corpus, ...(fs.existsSync(seeds) ? [seeds] : [])];
  return run(path.join(BUILD, 'tests/fuzz', target), [...options, ...corpora]);
}

if (is_program(import.meta.url)) {
  main(async () => {
    const args = process.argv.slice(2);
    let seconds = null;
    const at = args.indexOf('--seconds');
    if (at !== -1) {
      if (!/^\d+$/.test(args[at + 1] ?? '')) throw new Failure('--seconds takes a whole number');
      seconds = Number(args[at + 1]);
      args.splice(at, 2);
    }
    const all = fuzz_targets();
    const unknown = args.filter((name) => !all.includes(name));
    if (unknown.length > 0 || all.length === 0) {
      throw new Failure(
        `no such target: ${unknown.join(' ')}; the targets are ${all.join(', ') || 'none'}`,
      );
    }
    const targets = args.length > 0 ? args : all;
    await setup(['native', 'fuzz']);
    await build_preset('asan', ['fuzz']);
    const tests = [];
    // Without --seconds no target ends, so all run at once; otherwise one after another.
    const one = async (target) => {
      const good = (await fuzz(target, seconds)) === 0;
      tests.push({ name: target, state: good ? 'passed' : 'failed', said: '' });
    };
    if (seconds === null) await Promise.all(targets.map(one));
    else for (const target of targets) await one(target);
    write_report(tests);
    const { passed, failed } = count(tests);
    console.log(`${passed} passed, ${failed} failed`);
    return failed === 0 ? 0 : 1;
  });
}
