// Remembers which step of the tests passed with which inputs, so that it need not run again while none of them changed.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, files_under, read_json, which, write_atomically } from './lib.mjs';

const RECORDS = path.join(ROOT, 'build/stamps/steps');
/** What builds, installs, tests and editors put beside the sources. */
const MADE = new RegExp(
  [
    /(^|\/)(node_modules|dist|test-results|playwright-report|screenshots|__pycache__)$/,
    /^build$|^web\/engine\/(LICENSE|NOTICE)$|\.(tsbuildinfo|tgz|swp)$|(^|\/)\.DS_Store$/,
  ]
    .map((pattern) => pattern.source)
    .join('|'),
);
/** Optional test data. Names and sizes will do: nobody changes it in place. */
const SHARED = path.join(ROOT, '../shared');

const record_of = (step) => path.join(RECORDS, `${step.name}.json`);

function hash_of_texts(texts) {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text}\0`);
  return hash.digest('hex');
}

function shared_data() {
  if (!fs.existsSync(SHARED)) return 'none';
  return fs
    .readdirSync(SHARED, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .map((file) => `${file} ${fs.statSync(file).size}`)
    .sort()
    .join('\n');
}

/** The variables that choose what a test runs, or how compilers and runners work. */
const SETTING =
  /^(SLUICE_(?!WATCHED$).*|CC|CXX|(C|CXX|CPP|LD)FLAGS|NODE_OPTIONS|(A|L|T|UB)SAN_OPTIONS|(CMAKE|EMCC|PLAYWRIGHT)_.*)$/;

function settings() {
  return Object.entries(process.env)
    .filter(([name]) => SETTING.test(name))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('\n');
}

/** Which version of a program that isn't asked for it: packages keep the times of their files. */
function program(...names) {
  const file = names.map((name) => which(name)).find((found) => found !== null);
  if (file === undefined) return `no ${names[0]}`;
  const { size, mtimeMs } = fs.statSync(file);
  return `${fs.realpathSync(file)} ${size} ${mtimeMs}`;
}

let surroundings;

/** Of this machine and run. The programs are those that the set-up has installed by the time of the first call. */
function surroundings_of_all() {
  surroundings ??= [
    process.version,
    process.arch,
    program('c++'),
    program('chromium-headless-shell', 'chromium'),
    shared_data(),
    settings(),
  ].join('\n');
  return surroundings;
}

/** By path: {known: what its times, size and mode were when it was read, text}. */
const files_read = new Map();

/** A file's name, mode and hash; null if it has just gone, as an editor's or a test's file does. */
function file_text(relative) {
  try {
    const full = path.join(ROOT, relative);
    const { size, mode, mtimeMs, ctimeMs } = fs.statSync(full);
    const known = `${size} ${mode} ${mtimeMs} ${ctimeMs}`;
    const before = files_read.get(relative);
    if (before?.known === known) return before.text;
    const hash = createHash('sha256').update(fs.readFileSync(full)).digest('hex');
    const text = `${relative} ${(mode & 0o111) === 0 ? '' : 'x'} ${hash}`;
    files_read.set(relative, { known, text });
    return text;
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function content_of(input, contents) {
  if (!contents.has(input)) {
    const texts = files_under(input, (name) => MADE.test(name)).map(file_text);
    contents.set(input, hash_of_texts(texts.filter((text) => text !== null)));
  }
  return contents.get(input);
}

/**
 * A hash over all that a step's result depends on: its inputs, those of the steps that it needs, its commands, Node, the
 * compiler, the browser, the test data and the settings. Null for a step without inputs, which always runs, and for one that
 * needs a step which isn't among `steps`: nobody knows what that one has made. `contents`: of inputs that were looked at
 * already, for several steps at the same moment.
 */
export function hash_of(step, steps, contents = new Map()) {
  const all = with_needs(step, steps);
  if (step.inputs === null || all === null) return null;
  const inputs = [...new Set(all.flatMap((each) => each.inputs ?? []))].sort();
  return hash_of_texts([
    surroundings_of_all(),
    JSON.stringify(step.commands),
    ...inputs.map((input) => `${input} ${content_of(input, contents)}`),
  ]);
}

/** A step and all that it needs; null if one isn't among `steps`. */
function with_needs(step, steps) {
  const needed = step.needs.map((name) => {
    const other = steps.find((each) => each.name === name);
    return other === undefined ? null : with_needs(other, steps);
  });
  return needed.includes(null) ? null : [step, ...needed.flat()];
}

/** The files that a step has made, with their sizes and times; null if some are missing. */
function made_by(step) {
  const made = (step.outputs ?? []).map((output) => files_under(output));
  if (made.some((files) => files.length === 0)) return null;
  const texts = made.flat().map((name) => {
    const { size, mtimeMs } = fs.statSync(path.join(ROOT, name));
    return `${name} ${size} ${mtimeMs}`;
  });
  return hash_of_texts(texts);
}

/** The counts with which a step passed for this hash, or null if it has to run: also if what it made is gone or another. */
export function fits_record(step, hash) {
  const found = hash === null ? null : read_json(record_of(step));
  if (found?.hash !== hash) return null;
  const made = made_by(step);
  return made !== null && made === found.made ? found.counts : null;
}

/**
 * Remembers how a step ended that ran with the inputs of `hash`. One that failed, or for which nothing was to be had, has to
 * run again; so has one whose inputs are others at its end (`hash_now`), since nobody knows with which it ran. Of a step
 * without a hash only a failure is remembered.
 */
export function record(step, hash, counts, hash_now = hash) {
  const good = counts.failed === 0 && counts.passed > 0;
  if (good && hash === null) return;
  if (!good || hash !== hash_now) fs.rmSync(record_of(step), { force: true });
  else write_atomically(record_of(step), JSON.stringify({ hash, counts, made: made_by(step) }));
}

/** Committed: by step, the hash of the helpers with which its tests passed, and how many they are. */
const HELPERS = path.join(ROOT, 'tests/helpers.json');

/** A hash over the helpers that a step tests (`step.helpers`): files of ours alone, so that it is the same on any machine. */
export function hash_of_helpers(step) {
  const contents = new Map();
  return hash_of_texts(step.helpers.map((input) => `${input} ${content_of(input, contents)}`));
}

/** How many tests passed with helpers of this hash, as tests/helpers.json has it; null if those had another. */
export function fits_helpers(step, hash) {
  const found = read_json(HELPERS)?.[step.name];
  return found?.hash === hash ? found.tests : null;
}

/** Remembers in tests/helpers.json, which is to be committed, how the tests of helpers of this hash ended. */
export function record_helpers(step, hash, counts) {
  const all = { ...read_json(HELPERS) };
  if (counts.failed > 0 || counts.passed === 0) delete all[step.name];
  else all[step.name] = { hash, tests: counts.passed + counts.skipped };
  write_atomically(HELPERS, `${JSON.stringify(all, null, 2)}\n`);
}
