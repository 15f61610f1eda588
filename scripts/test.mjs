// Runs all steps of the ladder: set-up, builds and tests.  npm test
//   npm test -- --quick            the steps that find most in a short time, for work in progress
//   npm test -- --only unit,wasm   only these steps; what other steps build for them must be there already
//   npm test -- --list             names the steps
// Two steps run at a time. A free lane takes the first step in the list whose needs are done. A step does not run if one
// that it needs failed. Logs are in build/logs/. The last lines count the tests of all steps and name those that failed.
// The exit status is 1 if any did.
import fs from 'node:fs';
import path from 'node:path';
import { fuzz_targets } from './fuzz.mjs';
import { Failure, ROOT, files_under, interrupted, main, run } from './lib.mjs';
import { BASE } from './setup.mjs';
import { count_ctest, count_output } from './test-counts.mjs';
import { describe_failure, name_failures } from './test-failures.mjs';

const LOGS = path.join(ROOT, 'build/logs');
const node = (script, ...args) => [process.execPath, `scripts/${script}`, ...args];
const npm_test = (workspace) => ['npm', 'test', '-w', workspace];
/** Runs these projects of e2e/playwright.config.ts. */
const browser_test = (...projects) => [
  ...npm_test('e2e'),
  '--',
  ...projects.map((project) => `--project=${project}`),
];
/** How many steps run at a time. Each keeps about one core busy, and the machine may have only two. */
const LANES = 2;
/** How long a command of a step may take. Only one that hangs takes so long, also on a slow machine. */
const LIMIT_MS = 30 * 60_000;
/** The test programs that start threads. ThreadSanitizer can find nothing in the others. */
const THREADED_TESTS = [
  'base_test',
  'chat_program_test',
  'engine_test',
  'file_reader_test',
  'hash_test',
  'orders_test',
  'packed_file_test',
  'packed_test',
  'session_file_test',
  'session_test',
  'split_test',
];

/** Two steps: the build of a preset (`targets`, by default all) and its tests. */
function ctest_steps(
  preset,
  name,
  { targets = [], what = 'unit, parity and golden tests', quick } = {},
) {
  const report = path.join(LOGS, `${name}.xml`);
  const reports = path.join(ROOT, `build/${preset}/reports`);
  return [
    {
      name: `build-${preset}`,
      what: `${preset} build`,
      needs: ['setup'],
      quick,
      commands: [
        ['cmake', '--preset', preset, '--log-level=WARNING'],
        ['ninja', '-j1', '-C', `build/${preset}`, ...targets],
      ],
    },
    {
      name,
      what: `${what}, ${preset} build`,
      needs: [`build-${preset}`],
      quick,
      before: () =>
        [report, reports].forEach((old) => fs.rmSync(old, { recursive: true, force: true })),
      commands: [['ctest', '--preset', preset, '--timeout', '600', '--output-junit', report]],
      count: () => count_ctest(report, reports),
    },
  ];
}

/**
 * All steps. `commands` run one after another until one fails. `count` reads {passed, failed, skipped} from the log; a
 * step without it counts as one test. --quick runs the steps with `quick`; if that is a list, it has the commands to run
 * instead. The longest chain (wasm, page, browser) comes first.
 */
function all_steps() {
  const node_tests = (dir) =>
    files_under(dir).filter(
      (name) => name.endsWith('.test.mjs') && !name.includes('/node_modules/'),
    );
  const fuzz_seconds = '20';
  const node_step = (name, what, dir, needs, more = {}) => ({
    name,
    what,
    needs,
    commands: [[process.execPath, '--test', '--test-reporter=spec', ...node_tests(dir)]],
    before: () => {
      if (node_tests(dir).length === 0) throw new Failure(`there are no tests in ${dir}/`);
    },
    count: count_output,
    ...more,
  });
  // On an aarch64 machine the release build tests the same kernels.
  const arm_tests = ['base_test', 'hash_test', 'parity_test', 'quant_test'];
  const arm_steps =
    process.arch === 'arm64'
      ? []
      : [
          ...ctest_steps('aarch64', 'aarch64', {
            targets: ['sluice', ...arm_tests],
            what: 'parity and hashes',
          }),
          node_step('aarch64-program', 'the program under qemu-user', 'tests/aarch64', [
            'build-release',
            'build-aarch64',
          ]),
        ];
  return [
    {
      name: 'setup',
      what: 'set-up',
      needs: [],
      quick: true,
      commands: [node('setup.mjs', ...BASE)],
    },
    {
      name: 'build-wasm',
      what: 'the four wasm flavours, built afresh',
      needs: ['setup'],
      commands: [node('build-wasm.mjs', '--build')],
    },
    node_step('scripts', "the scripts' own tests", 'tests/scripts', [], { quick: true }),
    ...ctest_steps('release', 'unit', { quick: true }),
    node_step('cli', "the program's contract", 'tests/cli', ['build-release'], { quick: true }),
    {
      name: 'wasm-bytes',
      what: 'the committed flavours against those built',
      needs: ['build-wasm'],
      commands: [node('build-wasm.mjs', '--check')],
      count: count_output,
    },
    {
      name: 'web',
      what: 'library and page',
      needs: ['setup', 'build-wasm'],
      commands: [node('build.mjs', 'web')],
      // The tests that --quick runs do not run the wasm, so the committed files will do.
      quick: [node('build.mjs', 'web', '--prebuilt')],
    },
    {
      name: 'lint',
      what: 'format and types',
      needs: ['setup', 'web'],
      quick: true,
      commands: [node('lint.mjs')],
      count: count_output,
    },
    {
      name: 'engine',
      what: "the library's tests",
      needs: ['web'],
      quick: true,
      commands: [npm_test('web/engine')],
      count: count_output,
    },
    {
      name: 'app',
      what: "the page's tests",
      needs: ['web'],
      quick: true,
      commands: [npm_test('web/app')],
      count: count_output,
    },
    {
      name: 'e2e',
      what: 'the page in Chromium',
      needs: ['web', 'build-release'],
      commands: [browser_test('isolated', 'plain')],
      count: count_output,
    },
    {
      name: 'faults',
      what: 'downloads from a server that misbehaves, and kills',
      needs: ['web', 'build-release'],
      commands: [
        [
          process.execPath,
          'e2e/trials/trials.mjs',
          '--runs',
          '30',
          '--kills',
          '10',
          '--side',
          'page',
        ],
      ],
      count: count_output,
    },
    {
      name: 'firefox',
      what: 'library and page in Firefox',
      needs: ['web', 'build-release'],
      commands: [node('setup.mjs', 'firefox'), browser_test('firefox', 'firefox-plain')],
      count: count_output,
    },
    {
      name: 'webkit',
      what: 'library and page in WebKitGTK',
      needs: ['web', 'build-release'],
      commands: [node('setup.mjs', 'webkit'), browser_test('webkit', 'webkit-plain')],
      count: count_output,
    },
    node_step('wasm', 'wasm flavours under Node', 'tests/wasm', ['build-wasm', 'build-release']),
    node_step('bench', 'the bench, one short round', 'tests/bench', ['web', 'build-release']),
    // The program itself is tested only in its release build.
    ...ctest_steps('asan', 'asan', { targets: ['tests/all', 'fuzz'] }),
    ...arm_steps,
    ...ctest_steps('tsan', 'tsan', {
      targets: THREADED_TESTS,
      what: 'what runs on several threads',
    }),
    // Short steps come last, so that both lanes end at about the same time.
    ...fuzz_targets().map((target) => ({
      name: target.replaceAll('_', '-'),
      what: `fuzzing, ${fuzz_seconds} s`,
      needs: ['build-asan'],
      commands: [node('fuzz.mjs', target, '--seconds', fuzz_seconds)],
      count: count_output,
    })),
  ];
}

const ENV = {
  ...process.env,
  NO_COLOR: '1',
  FORCE_COLOR: undefined,
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  ASAN_OPTIONS:
    process.env.ASAN_OPTIONS ?? 'strict_string_checks=1:detect_stack_use_after_return=1',
  UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? 'print_stacktrace=1',
  TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? 'second_deadlock_stack=1',
};

/** Runs one step; resolves with what it counted. */
async function run_step(step) {
  const log = path.join(LOGS, `${step.name}.log`);
  fs.writeFileSync(log, '');
  let status = 0;
  try {
    step.before?.();
    for (const [command, ...args] of step.commands) {
      fs.appendFileSync(log, `$ ${[command, ...args].join(' ')}\n`);
      status = await run(command, args, { env: ENV, log, limit_ms: LIMIT_MS });
      if (status !== 0) break;
    }
  } catch (error) {
    fs.appendFileSync(log, `${error instanceof Failure ? error.message : error.stack}\n`);
    status = 1;
  }
  const good = status === 0;
  if (step.count === undefined) return { passed: good ? 1 : 0, failed: good ? 0 : 1, skipped: 0 };
  const counts = step.count(fs.readFileSync(log, 'utf8'));
  // A runner that failed without a failed test counts as one failure, and so does one that ran no test.
  const nothing = counts.passed + counts.failed + counts.skipped === 0;
  if (counts.failed === 0 && (!good || nothing)) counts.failed = 1;
  return counts;
}

function clock(ms) {
  const s = Math.round(ms / 1000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

/** Prints a step's result. Returns the lines that name what failed. */
function report(step, counts, ms) {
  const parts = [`${counts.passed} passed`];
  if (counts.failed > 0) parts.push(`${counts.failed} FAILED`);
  if (counts.skipped > 0) parts.push(`${counts.skipped} skipped`);
  const mark = counts.failed > 0 ? 'FAILED' : 'ok    ';
  console.log(`${mark} ${step.name.padEnd(14)} ${clock(ms).padStart(12)}   ${parts.join(', ')}`);
  if (counts.failed === 0) return [];
  const log = fs.readFileSync(path.join(LOGS, `${step.name}.log`), 'utf8');
  for (const line of describe_failure(log)) console.log(`       | ${line}`);
  return name_failures(step.name, log);
}

/**
 * Runs steps in their order, each when the steps that it needs are done and a lane is free. Returns the counts of all,
 * the time of each step, and the lines that name what failed.
 */
async function run_ladder(steps) {
  const times = [];
  const failed = [];
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const names = new Set(steps.map((step) => step.name));
  const state = new Map();
  const running = new Set();
  const waiting = [...steps];
  const finish = (step, counts, started) => {
    state.set(step.name, counts.failed === 0 ? 'good' : 'bad');
    for (const key of Object.keys(totals)) totals[key] += counts[key];
    if (started === null) return;
    times.push({ name: step.name, ms: Date.now() - started });
    failed.push(...report(step, counts, times.at(-1).ms));
  };
  while (waiting.length > 0 || running.size > 0) {
    if (interrupted()) waiting.length = 0;
    for (const step of [...waiting]) {
      const needs = step.needs
        .filter((name) => names.has(name))
        .map((name) => [name, state.get(name)]);
      const broken = needs.find(([, result]) => result === 'bad');
      if (broken !== undefined) {
        waiting.splice(waiting.indexOf(step), 1);
        console.log(`FAILED ${step.name.padEnd(14)} not run, because ${broken[0]} failed`);
        failed.push(`FAILED ${step.name}: not run, because ${broken[0]} failed`);
        finish(step, { passed: 0, failed: 1, skipped: 0 }, null);
        continue;
      }
      if (running.size >= LANES || needs.some(([, result]) => result === undefined)) continue;
      waiting.splice(waiting.indexOf(step), 1);
      const started = Date.now();
      const job = run_step(step).then((counts) => {
        running.delete(job);
        finish(step, counts, started);
      });
      running.add(job);
    }
    if (running.size > 0) await Promise.race(running);
  }
  if (interrupted()) throw new Failure('interrupted');
  return { totals, times, failed };
}

main(async () => {
  const args = process.argv.slice(2);
  let steps = all_steps();
  if (args[0] === '--list') {
    for (const step of steps) console.log(`${step.name.padEnd(16)} ${step.what}`);
    return 0;
  }
  if (args.length === 1 && args[0] === '--quick') {
    steps = steps
      .filter(({ quick }) => quick)
      .map((step) => (step.quick === true ? step : { ...step, commands: step.quick }));
  } else if (args.length > 0) {
    const wanted = args[0] === '--only' && args.length === 2 ? args[1].split(',') : [];
    const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
    if (wanted.length === 0 || unknown.length > 0) {
      throw new Failure(
        `usage: npm test -- [--quick | --only STEP,STEP | --list]${unknown.length > 0 ? `; no such step: ${unknown.join(', ')}` : ''}`,
      );
    }
    steps = steps.filter((step) => wanted.includes(step.name));
  }
  fs.mkdirSync(LOGS, { recursive: true });
  const started = Date.now();
  const { totals, times, failed } = await run_ladder(steps);
  const slowest = times.sort((a, b) => b.ms - a.ms).slice(0, 6);
  console.log(
    `\nthe slowest steps: ${slowest.map(({ name, ms }) => `${name} ${clock(ms)}`).join(', ')}`,
  );
  console.log(`in ${clock(Date.now() - started)}; logs are in build/logs/`);
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
  for (const line of failed) console.log(line);
  return totals.failed === 0 ? 0 : 1;
});
