// The packed library in other people's builds: each site of projects.mjs is built from it, and runs in Chromium, cross-origin
// isolated and not, under a strict policy. `types` checks the published types. Needs the built library and Chromium.
//   node e2e/bundlers/bundlers.mjs [NAME..]   builds and runs these; by default all
//   --list                                    names them
import fs from 'node:fs';
import path from 'node:path';
import {
  Failure,
  ROOT,
  capture,
  hash_files,
  is_program,
  main,
  run,
  tail,
} from '../../scripts/lib.mjs';
import { count, write_report } from '../../scripts/reports.mjs';
import { Browser } from '../bench/chromium.mjs';
import { PROJECTS } from './projects.mjs';
import { serve_site } from './serve.mjs';
import { check_types } from './types.mjs';

const SOURCES = 'e2e/bundlers';
const WORK = path.join(ROOT, 'build/bundlers');
const MODEL = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');
const PATIENCE_MS = 120_000;

/** The environment without the settings of the npm that runs this script, such as its workspace. */
const ENV = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))),
  NEXT_TELEMETRY_DISABLED: '1',
  NO_COLOR: '1',
  FORCE_COLOR: undefined,
};

/** Runs a command; a failure has the end of what it printed. */
async function command(name, args, { cwd, log, env = {} }) {
  fs.mkdirSync(path.dirname(log), { recursive: true });
  fs.writeFileSync(log, '');
  const status = await run(name, args, { cwd, log, env: { ...ENV, ...env } });
  if (status === 0) return;
  throw new Failure(
    `${[path.basename(name), ...args].join(' ')} failed\n${tail(fs.readFileSync(log, 'utf8'), 25)}`,
  );
}

/** Packs the library as for a registry; returns the archive. */
async function pack() {
  if (!fs.existsSync(path.join(ROOT, 'web/engine/dist/index.js')))
    throw new Failure('the library is not built; run node scripts/build.mjs web');
  fs.mkdirSync(WORK, { recursive: true });
  const args = ['pack', '-w', 'web/engine', '--json', '--ignore-scripts', '--pack-destination'];
  const { status, stdout, stderr } = await capture('npm', [...args, WORK], { env: ENV });
  if (status !== 0) throw new Failure(`npm pack failed\n${stderr}`);
  return path.join(WORK, JSON.parse(stdout)[0].filename);
}

/**
 * A copy of a folder of sources with its packages and the packed library; returns its path. Packages are fetched only if the
 * lock file is another one than last time.
 */
async function install(sources, archive) {
  const dir = path.join(WORK, sources);
  const stamp = path.join(dir, 'node_modules/.lock-hash');
  const hash = hash_files([`${SOURCES}/${sources}/package-lock.json`]);
  if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== hash) {
    fs.rmSync(dir, { recursive: true, force: true });
    fs.cpSync(path.join(ROOT, SOURCES, sources), dir, { recursive: true });
    const log = path.join(WORK, 'logs', `${sources}-install.log`);
    await command('npm', ['ci', '--no-audit', '--no-fund'], { cwd: dir, log });
    fs.writeFileSync(stamp, hash);
  }
  fs.cpSync(path.join(ROOT, SOURCES, sources), dir, { recursive: true });
  fs.copyFileSync(path.join(ROOT, SOURCES, 'write.js'), path.join(dir, 'write.js'));
  // It has no dependencies, so to install it is to unpack it. (npm would write this archive's hash into the lock file.)
  const library = path.join(dir, 'node_modules/@sluice/engine');
  fs.rmSync(library, { recursive: true, force: true });
  fs.mkdirSync(library, { recursive: true });
  const log = path.join(WORK, 'logs', `${sources}-unpack.log`);
  await command('tar', ['-xzf', archive, '--strip-components=1', '-C', library], { cwd: dir, log });
  return dir;
}

/** Opens a site, and returns what it shows when it has written. Anything in the console is a failure. */
async function visit(browser, dir, isolation, policy) {
  const site = await serve_site({ dir, model: MODEL, isolation, policy });
  const context = await browser.handle.newContext();
  try {
    const page = await context.newPage();
    const said = [];
    page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => said.push(`uncaught: ${error.message}`));
    await page.goto(site.url);
    const written = page.locator('output').filter({ hasText: '{' });
    await written.waitFor({ timeout: PATIENCE_MS }).catch(() => said.push('it wrote nothing'));
    if (said.length > 0) throw new Failure(said.join('\n'));
    const told = JSON.parse(await written.textContent());
    if (told.error !== undefined) throw new Failure(told.error);
    const isolated = await page.evaluate(() => globalThis.crossOriginIsolated);
    if (isolated !== isolation) throw new Failure(`crossOriginIsolated is ${isolated}`);
    return told;
  } finally {
    await context.close();
    await site.close();
  }
}

/** What each way of serving must give besides the text. */
const EXPECTED = [
  { isolation: true, threads: 2 },
  { isolation: false, threads: 1 },
];

/** Builds a site and visits it in both ways; returns the text that it wrote. */
async function check_site(project, from, browser) {
  const out = path.join(from, 'out', project.name);
  fs.rmSync(out, { recursive: true, force: true });
  if (project.command !== undefined) {
    const [program, ...args] = project.command(out);
    const log = path.join(WORK, 'logs', `${project.name}.log`);
    // Next takes a path in its folder.
    const env = { SITE_OUT: path.relative(from, out) };
    const argv = [path.join(from, 'node_modules', program), ...args];
    // The program of esbuild's package is no script where its own set-up has replaced it.
    await command(...as_program(argv), { cwd: from, log, env });
  }
  project.finish?.(from, out);
  const texts = [];
  for (const { isolation, threads } of EXPECTED) {
    const told = await visit(browser, out, isolation, project.policy);
    const where = isolation ? 'isolated' : 'not isolated';
    if (told.threads !== threads || told.kept !== 0)
      throw new Failure(`${where}: ${JSON.stringify(told)}, with ${threads} threads expected`);
    texts.push(told.text);
  }
  if (texts[0] === undefined || texts[0].length < 40 || texts[0] !== texts[1])
    throw new Failure(`the texts: ${JSON.stringify(texts)}`);
  return texts[0];
}

/** How to run a package's program: by Node if it is a script. */
function as_program([file, ...args]) {
  const start = fs.readFileSync(file).subarray(0, 4).toString('latin1');
  return start === '\x7fELF' ? [file, args] : [process.execPath, [file, ...args]];
}

function seconds_since(started) {
  return `${Math.round((Date.now() - started) / 1000)} s`.padStart(5);
}

async function check(names) {
  const all = [...PROJECTS.map(({ name }) => name), 'types'];
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new Failure(`there is no project ${unknown}; there are ${all.join(', ')}`);
  const wanted = names.length === 0 ? all : names;
  const archive = await pack();
  const projects = PROJECTS.filter(({ name }) => wanted.includes(name));
  const folders = {};
  const needed = new Set(projects.map(({ sources }) => sources));
  if (wanted.includes('types')) needed.add('types');
  const unfit = {};
  for (const sources of needed) {
    const started = Date.now();
    try {
      folders[sources] = await install(sources, archive);
      console.log(`        ${`packages, ${sources}`.padEnd(16)}${seconds_since(started)}`);
    } catch (error) {
      unfit[sources] = error;
    }
  }

  const tests = [];
  const texts = new Set();
  const browser = projects.length > 0 ? await Browser.launch() : null;
  const judge = async (name, sources, body) => {
    const started = Date.now();
    let fault = '';
    try {
      if (unfit[sources] !== undefined) throw unfit[sources];
      await body(folders[sources]);
    } catch (error) {
      fault = error instanceof Failure ? error.message : error.stack;
    }
    tests.push({ name, state: fault === '' ? 'passed' : 'failed', said: fault });
    const ok = fault === '' ? 'ok      ' : 'not ok  ';
    console.log(`${ok}${name.padEnd(16)}${seconds_since(started)}`);
    if (fault !== '') console.log(fault.replace(/^/gm, '        '));
  };
  const site = (project) =>
    judge(project.name, project.sources, async (from) => {
      texts.add(await check_site(project, from, browser));
      if (texts.size > 1) throw new Failure(`another text: ${JSON.stringify([...texts])}`);
    });
  // Two at a time, but Next builds only one thing at a time in a folder.
  const [next, others] = [true, false].map((is_next) =>
    projects.filter(({ sources }) => (sources === 'next') === is_next),
  );
  await Promise.all([
    (async () => {
      for (const project of next) await site(project);
    })(),
    (async () => {
      for (const project of others) await site(project);
      if (wanted.includes('types'))
        await judge('types', 'types', (dir) => check_types(dir, archive, command, WORK));
    })(),
  ]);
  await browser?.handle.close();
  write_report(tests);
  const { passed, failed } = count(tests);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

if (is_program(import.meta.url)) {
  main(() => {
    const args = process.argv.slice(2);
    if (!args.includes('--list')) return check(args);
    console.log([...PROJECTS.map(({ name }) => name), 'types'].join('\n'));
    return 0;
  });
}
