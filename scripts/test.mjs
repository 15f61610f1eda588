// Runs the tests.  npm test
//   npm test                       what shows that it works: lint, unit, program, library, page, and the wasm
//   npm test -- --all              the above with the whole of the page, and a fresh wasm build, sanitizers, fuzzing, other
//                                  browsers, bundlers, aarch64
//   npm test -- --only unit,wasm   only these steps; what other steps build for them must be there already
//   npm test -- --list             names the steps
// A step that passed is not run again while nothing that it depends on has changed, unless CI=true; the tests of the tests'
// own helpers run when these differ from those of tests/helpers.json, or by name. Logs are in build/logs/.
// The last lines count the tests of all steps and name those that failed. The exit status is 1 if any did.
import fs from 'node:fs';
import { prebuilt_fits } from './build-wasm.mjs';
import { clock, run_ladder } from './ladder.mjs';
import { Failure, main } from './lib.mjs';
import { LOGS, all_steps, choose } from './steps.mjs';

function read_args(args) {
  const rest = args.filter((arg) => arg !== '--all');
  const options = { all: args.includes('--all'), list: false, only: null };
  if (rest[0] === '--list' && rest.length === 1) options.list = true;
  else if (rest[0] === '--only' && rest.length === 2) options.only = rest[1].split(',');
  else if (rest.length > 0)
    throw new Failure('usage: npm test -- [--all] [--only STEP,STEP | --list]');
  return options;
}

main(async () => {
  const { all, list, only } = read_args(process.argv.slice(2));
  const committed = prebuilt_fits();
  // Steps that are named are those of the whole.
  const whole = all || only !== null;
  const known = all_steps({ committed, all: whole });
  if (list) {
    for (const step of known) {
      console.log(`${step.name.padEnd(16)} ${step.all ? '--all  ' : '       '} ${step.what}`);
    }
    return 0;
  }
  const { steps, stale } = choose(known, { committed, all, only });
  if (stale !== null) console.log(stale);
  fs.mkdirSync(LOGS, { recursive: true });
  const started = Date.now();
  const again = process.env.CI === 'true' || only !== null;
  const { totals, times, failed } = await run_ladder(steps, { again, named: only !== null });
  const slowest = times.sort((a, b) => b.ms - a.ms).slice(0, 6);
  if (slowest.length > 0) {
    const named_times = slowest.map(({ name, ms }) => `${name} ${clock(ms)}`);
    console.log(`\nthe slowest steps: ${named_times.join(', ')}`);
  }
  console.log(`in ${clock(Date.now() - started)}; logs are in build/logs/`);
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
  for (const line of failed) console.log(line);
  if (stale !== null) console.log(stale);
  return totals.failed === 0 ? 0 : 1;
});
