// The steps of the tests, in the order in which they begin where their needs allow it: the longest chains come first.
//
// A step:
//   name, what   a word, and what it shows
//   all          only `npm test -- --all` runs it
//   needs        the steps before it. Those that this run doesn't have are taken as done.
//   inputs       files and folders of the checkout that its result depends on, besides those of its needs. Where none
//                changed since it passed, it need not run again.
//   outputs      what it makes for others: if that is gone, it runs
//   runs_wasm    it runs the wasm modules that the page ships
//   commands     run one after another until one fails
//   before       run first; may throw a Failure
//   tests        reads the tests from the reports in its folder (reports.mjs); a step without it counts as one test
//   helpers      it tests helpers of the tests: these files. It runs only where they changed since it passed, by the committed
//                tests/helpers.json, which its next run renews
import fs from 'node:fs';
import path from 'node:path';
import { fuzz_targets } from './fuzz.mjs';
import { Failure, ROOT, files_under } from './lib.mjs';
import { node_reporters, read_ctest, read_reports } from './reports.mjs';
import { ALL_PARTS, USUAL_PARTS } from './setup.mjs';

export const LOGS = path.join(ROOT, 'build/logs');

const node = (script, ...args) => [process.execPath, `scripts/${script}`, ...args];
/** Runs a workspace's tests with Vitest. The step's name is that of its folder of reports. */
const vitest = (workspace, step) => [
  ...['npm', 'test', '-w', workspace, '--', '--reporter=default', '--reporter=junit'],
  `--outputFile.junit=${path.join(LOGS, step, 'vitest.xml')}`,
];
/** Runs these projects of e2e/playwright.config.ts. */
const browser_test = (...projects) => [
  ...['npm', 'test', '-w', 'e2e', '--'],
  ...projects.map((project) => `--project=${project}`),
];

const CMAKE = ['CMakeLists.txt', 'CMakePresets.json'];
const CORE = ['core', ...CMAKE];
const NPM = ['package.json', 'package-lock.json', 'tsconfig.base.json'];
const OTHER_TESTS = ['aarch64', 'bench', 'cli', 'node', 'record', 'scripts', 'wasm'];
/** The tests in C++ and what they read: not those of the scripts, the bench, the program and the wasm modules. */
const CORE_TESTS = [
  ...files_under('tests').filter((name) => !OTHER_TESTS.includes(name.split('/')[1])),
];
const SCRIPTS = ['scripts'];
const HUB = ['e2e/hub'];
/** The bundled model. */
const BUNDLED = 'web/app/public/models';
/** What the tests of the scripts run and read. */
const SCRIPTS_TOO = [
  ...[...SCRIPTS, ...HUB, 'e2e/trials', 'e2e/bench', 'tests/real', 'tests/fuzz'],
  ...['wasm/flavours.json', 'package.json', 'package-lock.json', ...CMAKE],
];
/** The tests of the kernels' check modules, which only a fresh build has. */
const KERNEL_CHECKS = /\/(kernels|sanitized)\.test\.mjs$/;

/** The test programs that start threads. ThreadSanitizer can find nothing in the others. */
const THREADED_TESTS = [
  'base_test',
  'chat_program_test',
  'engine_test',
  'hash_test',
  'lock_test',
  'packed_file_test',
  'pass_test',
  'session_file_test',
  'session_test',
  'weights_test',
];

/**
 * Two steps: the build of a preset (`targets`, by default all) and its tests (`only`: those that match). `jobs`: how many
 * compilers at a time, and `programs`: how many programs of tests.
 */
function ctest_steps(
  preset,
  name,
  {
    targets = [],
    only = null,
    what = 'unit, parity and golden tests',
    all,
    jobs = 1,
    programs = 1,
    outputs = [],
  } = {},
) {
  const report = path.join(LOGS, name, 'ctest.xml');
  const programs_reports = path.join(ROOT, `build/${preset}/reports`);
  // CTest's own expression: the names of tests, or what they hold.
  const which = only === null ? [] : ['-R', only];
  return [
    {
      name: `build-${preset}`,
      what: `${preset} build`,
      needs: [all ? 'setup-all' : 'setup'],
      all,
      // The version is in package.json.
      inputs: [...CORE, 'native', ...CORE_TESTS, 'package.json'],
      // Ninja's log tells of every build, also of one in between from other sources.
      outputs: [
        ...['build.ninja', '.ninja_log'].map((made) => `build/${preset}/${made}`),
        ...outputs,
      ],
      commands: [
        ['cmake', '--preset', preset, '--log-level=WARNING'],
        ['ninja', `-j${jobs}`, '-C', `build/${preset}`, ...targets],
      ],
    },
    {
      name,
      what: `${what}, ${preset} build`,
      needs: [`build-${preset}`],
      all,
      inputs: [BUNDLED, 'scripts/make_unicode.mjs'],
      before: () => fs.rmSync(programs_reports, { recursive: true, force: true }),
      commands: [
        ['ctest', '--preset', preset, `-j${programs}`, ...which, '--output-junit', report],
      ],
      tests: () => read_ctest(report, programs_reports),
    },
  ];
}

/** A step that runs the tests NAME.test.mjs under `dir`, of these `only` some, `jobs` files at a time. */
function node_step(name, what, dir, needs, more = {}) {
  const { only = () => true, jobs = 1, ...rest } = more;
  const tests = files_under(dir).filter((file) => file.endsWith('.test.mjs') && only(file));
  return {
    name,
    what,
    needs,
    inputs: [dir],
    commands: [
      [
        ...[process.execPath, '--test', `--test-concurrency=${jobs}`],
        ...[...node_reporters(path.join(LOGS, name, 'node.json')), ...tests],
      ],
    ],
    before: () => {
      if (tests.length === 0) throw new Failure(`there are no tests in ${dir}/`);
    },
    tests: read_reports,
    ...rest,
    ...(more.inputs === undefined ? {} : { inputs: [dir, ...more.inputs] }),
  };
}

/** The check modules of the wasm kernels, under Node and in Chromium, which knows relaxed SIMD. */
function kernel_step() {
  const step = node_step(
    'wasm-kernels',
    'the wasm kernels against the scalar oracle, and under UBSan',
    'tests/wasm',
    ['build-wasm', 'web', 'build-release'],
    { all: true, only: (file) => KERNEL_CHECKS.test(file), inputs: ['e2e'] },
  );
  return { ...step, commands: [...step.commands, browser_test('kernels')] };
}

/** The tests of aarch64. On an aarch64 machine the release build tests the same kernels. */
function arm_steps() {
  if (process.arch === 'arm64') return [];
  const tests = ['base_test', 'hash_test', 'parity_test', 'quant_test', 'quantize_rows_test'];
  return [
    ...ctest_steps('aarch64', 'aarch64', {
      targets: ['sluice', ...tests],
      only: `^(${tests.join('|')})$|hashes_|fused`,
      what: 'parity and hashes',
      all: true,
    }),
    node_step(
      'aarch64-program',
      'the program under qemu-user',
      'tests/aarch64',
      ['build-release', 'build-aarch64'],
      { all: true, inputs: ['tests/cli', ...HUB, ...SCRIPTS, BUNDLED] },
    ),
  ];
}

/**
 * All steps. `committed`: the wasm files in wasm/prebuilt/ were built from the present sources. Then library and page take
 * them; otherwise those of a run of all wait for files that are built afresh.
 */
export function all_steps({ committed, all }) {
  const fresh = all && !committed;
  // Made templates run the language as well.
  const fuzz_seconds = (target) => (target === 'fuzz_jinja' ? '5' : '10');
  return [
    {
      name: 'setup',
      what: 'set-up',
      needs: [],
      inputs: null,
      commands: [node('setup.mjs', ...USUAL_PARTS)],
    },
    {
      name: 'setup-all',
      what: 'set-up of what only --all needs',
      needs: ['setup'],
      all: true,
      inputs: null,
      commands: [node('setup.mjs', ...ALL_PARTS)],
    },
    ...ctest_steps('release', 'unit', { jobs: 2, outputs: ['build/release/sluice'] }),
    {
      name: 'web',
      what: 'library and page',
      needs: fresh ? ['setup', 'build-wasm'] : ['setup'],
      inputs: [...NPM, 'web', 'wasm', 'LICENSE', 'NOTICE', ...SCRIPTS],
      outputs: ['web/engine/dist', 'web/app/dist'],
      // The tests that a stale file leaves to run don't run the wasm, so the committed files will do.
      commands: [node('build.mjs', 'web', ...(fresh ? [] : ['--prebuilt']))],
    },
    {
      name: 'build-wasm',
      what: 'the four wasm flavours, built afresh, and the checks of their kernels',
      needs: ['setup-all'],
      all: true,
      inputs: [...CORE, 'wasm', 'tests', ...SCRIPTS],
      outputs: ['build/wasm/stamp.json'],
      commands: [node('build-wasm.mjs', '--build')],
    },
    node_step('cli', "the program's contract", 'tests/cli', ['build-release'], {
      inputs: [
        ...[...HUB, ...SCRIPTS, BUNDLED],
        // Two of them hold the program against the library.
        ...['node/locks.ts', 'loader', 'shared'].map((name) => `web/engine/src/${name}`),
      ],
      // Most of their time is waiting.
      jobs: 3,
    }),
    {
      name: 'e2e',
      what: all ? 'the page in Chromium' : 'the page in Chromium: what its users do first',
      needs: ['web', 'build-release', ...(all ? ['setup-all'] : [])],
      inputs: ['e2e', 'docs', 'README.md', 'tests/cli/tiny-folder.mjs'],
      runs_wasm: true,
      commands: [browser_test(...(all ? ['isolated', 'plain', 'tabs'] : ['usual']))],
      tests: read_reports,
    },
    node_step('wasm', 'the wasm flavours under Node', 'tests/wasm', ['web', 'build-release'], {
      runs_wasm: true,
      only: (file) => !KERNEL_CHECKS.test(file),
    }),
    node_step('node', 'the library in Node', 'tests/node', ['web', 'build-release'], {
      runs_wasm: true,
      jobs: 2,
      inputs: [...HUB, ...SCRIPTS, BUNDLED, 'tests/data'],
    }),
    {
      name: 'engine',
      what: "the library's tests",
      needs: ['web'],
      inputs: [...HUB, 'tests/data', 'core/base'],
      commands: [vitest('web/engine', 'engine')],
      tests: read_reports,
    },
    {
      name: 'app',
      what: "the page's tests",
      needs: ['web'],
      inputs: [],
      commands: [vitest('web/app', 'app')],
      tests: read_reports,
    },
    {
      name: 'lint',
      what: 'format, types, and what includes what',
      needs: ['web'],
      inputs: [
        ...[
          ...CORE,
          'native',
          'tests',
          'e2e',
          'docs',
          'README.md',
          'CHANGELOG.md',
          '.ci',
          '.npmrc',
        ],
        ...['.clang-format', '.editorconfig', '.gitignore', '.prettierignore', '.prettierrc.json'],
      ],
      commands: [node('lint.mjs')],
      tests: read_reports,
    },
    node_step('scripts', "the scripts' own tests", 'tests/scripts', ['setup'], {
      jobs: 3,
      inputs: SCRIPTS_TOO,
      helpers: ['tests/scripts', ...SCRIPTS_TOO],
    }),
    {
      name: 'wasm-bytes',
      what: 'the committed flavours against those built',
      needs: ['build-wasm'],
      all: true,
      inputs: [],
      commands: [node('build-wasm.mjs', '--check')],
      tests: read_reports,
    },
    kernel_step(),
    {
      name: 'faults',
      what: 'downloads from a server that misbehaves, and kills',
      needs: ['web', 'build-release', 'setup-all'],
      all: true,
      inputs: ['e2e'],
      commands: [
        [
          process.execPath,
          ...['e2e/trials/trials.mjs', '--runs', '30', '--kills', '10', '--side', 'page'],
        ],
      ],
      tests: read_reports,
    },
    ...['firefox', 'webkit'].map((browser) => ({
      name: browser,
      what: `library and page in ${browser === 'webkit' ? 'WebKitGTK' : 'Firefox'}`,
      needs: ['web', 'build-release', 'setup-all'],
      all: true,
      inputs: ['e2e'],
      commands: [node('setup.mjs', browser), browser_test(browser, `${browser}-plain`)],
      tests: read_reports,
    })),
    node_step(
      'bench',
      'the bench, one short round',
      'tests/bench',
      ['web', 'build-release', 'setup-all'],
      {
        all: true,
        inputs: ['e2e'],
        helpers: ['tests/bench', 'e2e/bench', ...HUB, ...SCRIPTS, 'package-lock.json'],
      },
    ),
    {
      name: 'bundlers',
      what: 'sites that use the packed library, by bundler, and its types',
      needs: ['web', 'setup-all'],
      all: true,
      inputs: ['e2e/bundlers', 'e2e/bench'],
      commands: [[process.execPath, 'e2e/bundlers/bundlers.mjs']],
      tests: read_reports,
    },
    {
      name: 'real-model',
      what: 'real models, natively and in Chromium, where they are to be had',
      needs: ['web', 'build-release', 'setup-all'],
      all: true,
      inputs: ['tests/real', 'tests/data', 'e2e'],
      commands: [[process.execPath, 'tests/real/real-model.mjs']],
      tests: read_reports,
    },
    {
      name: 'probes',
      what: 'tools/probes, where its Python packages are to be had',
      needs: ['build-release'],
      all: true,
      inputs: ['tools', BUNDLED, ...SCRIPTS],
      commands: [[process.execPath, 'tools/probes/tests/probes.mjs']],
      tests: read_reports,
    },
    // The program itself is tested only in its release build.
    // The last step, when nothing else runs any more.
    ...ctest_steps('asan', 'asan', { targets: ['tests/all', 'fuzz'], all: true, programs: 2 }),
    ...arm_steps(),
    ...ctest_steps('tsan', 'tsan', {
      targets: THREADED_TESTS,
      only: `^(${THREADED_TESTS.join('|')})$`,
      what: 'what runs on several threads',
      all: true,
    }),
    // Short steps come last, so that both lanes end at about the same time.
    ...fuzz_targets().map((target) => ({
      name: target.replaceAll('_', '-'),
      what: `fuzzing, ${fuzz_seconds(target)} s`,
      needs: ['build-asan'],
      all: true,
      inputs: SCRIPTS,
      commands: [node('fuzz.mjs', target, '--seconds', fuzz_seconds(target))],
      tests: read_reports,
    })),
  ];
}

/**
 * The steps of a run: `only` those named, or all, or what `npm test` runs. `stale`: a sentence if these leave out what runs
 * the wasm, because the committed files don't fit the sources; otherwise null.
 */
export function choose(known, { committed, all, only }) {
  if (only !== null) {
    const unknown = only.filter((name) => !known.some((step) => step.name === name));
    if (unknown.length > 0) {
      throw new Failure(`no such step: ${unknown.join(', ')}; npm test -- --list names them`);
    }
    return { steps: known.filter((step) => only.includes(step.name)), stale: null };
  }
  if (all) return { steps: known, stale: null };
  const usual = known.filter((step) => !step.all);
  if (committed) return { steps: usual, stale: null };
  const left_out = usual.filter((step) => step.runs_wasm).map(({ name }) => name);
  return {
    steps: usual.filter((step) => !step.runs_wasm),
    stale:
      `The wasm in wasm/prebuilt/ was built from other sources, so these did not run: ${left_out.join(', ')}. ` +
      'npm test -- --all builds it afresh; node scripts/build-wasm.mjs --update-prebuilt renews it.',
  };
}
