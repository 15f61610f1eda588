// Remembers which step of the tests passed with which inputs, so that it need not run again while none of them changed.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, files_under, hash_files, read_json, write_atomically } from './lib.mjs';

const RECORDS = path.join(ROOT, 'build/stamps/steps');
/** What builds and installs put beside the sources. */
const MADE = /(^|\/)(node_modules|dist|test-results)$|^build$/;
/** Optional test data. Names and sizes will do: nobody changes it in place. */
const SHARED = path.join(ROOT, '../shared');

const record_of = (step) => path.join(RECORDS, `${step.name}.json`);

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

/** The variables that choose what a test runs. */
function settings() {
  return Object.entries(process.env)
    .filter(([name]) => name.startsWith('SLUICE_') && name !== 'SLUICE_WATCHED')
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('\n');
}

let surroundings;
const contents = new Map();

function content_of(input) {
  if (!contents.has(input)) {
    contents.set(input, hash_files(files_under(input, (name) => MADE.test(name))));
  }
  return contents.get(input);
}

/**
 * A hash over all that a step's result depends on: its inputs, those of the steps that it needs, its commands, Node, the
 * test data and the settings. Null for a step without inputs, which always runs.
 */
export function hash_of(step, steps) {
  if (step.inputs === null) return null;
  surroundings ??= [process.version, process.arch, shared_data(), settings()].join('\n');
  const needed = (name) => {
    const other = steps.find((each) => each.name === name);
    return other === undefined ? [] : [...(other.inputs ?? []), ...other.needs.flatMap(needed)];
  };
  const inputs = [...new Set([...step.inputs, ...step.needs.flatMap(needed)])].sort();
  return hash_files(
    [],
    surroundings,
    JSON.stringify(step.commands),
    ...inputs.map((input) => `${input} ${content_of(input)}`),
  );
}

/** The counts with which a step passed for this hash, or null if it has to run. */
export function fits_record(step, hash) {
  const found = hash === null ? null : read_json(record_of(step));
  if (found?.hash !== hash) return null;
  const there = (step.outputs ?? []).every((name) => fs.existsSync(path.join(ROOT, name)));
  return there ? found.counts : null;
}

/** Remembers how a step ended. One that failed, or for which nothing was to be had, has to run again. */
export function record(step, hash, counts) {
  if (hash === null) return;
  if (counts.failed > 0 || counts.passed === 0) fs.rmSync(record_of(step), { force: true });
  else write_atomically(record_of(step), JSON.stringify({ hash, counts }));
}
