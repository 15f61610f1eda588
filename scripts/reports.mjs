// The reports of a step's test runners: what each test was called, how it ended, and what was said of one that failed.
//
// A step has a folder for them, which the variable SLUICE_REPORTS names. Test runners write JUnit's XML there; node --test
// (node-reporter.mjs) and programs of this project (write_report) write JSON.
import fs from 'node:fs';
import path from 'node:path';

/** The variable that names the folder. Without it nobody wants reports. */
export const REPORTS = 'SLUICE_REPORTS';

/** The folder; null if nobody wants reports. */
function wanted_folder() {
  const folder = process.env[REPORTS] ?? '';
  if (folder === '') return null;
  fs.mkdirSync(folder, { recursive: true });
  return folder;
}

/** A file for a report in the folder, which no other process writes; null if nobody wants one. */
function new_file(extension) {
  const folder = wanted_folder();
  if (folder === null) return null;
  let n = 0;
  while (fs.existsSync(path.join(folder, `${process.pid}-${n}.${extension}`))) ++n;
  return path.join(folder, `${process.pid}-${n}.${extension}`);
}

const NODE_REPORTER = new URL('node-reporter.mjs', import.meta.url).href;

/** Arguments for node --test that make it report to the reader, and into this .json file. */
export function node_reporters(file) {
  return [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${NODE_REPORTER}`, `--test-reporter-destination=${file}`],
  ];
}

/** Arguments for a node --test that a program of ours starts. */
export function wanted_reporters() {
  const file = new_file('json');
  return file === null ? ['--test-reporter=spec'] : node_reporters(file);
}

/**
 * Writes the report of a program of ours, if one is wanted. `tests`: {name, state: 'passed' | 'failed' | 'skipped', said}; `said`
 * is what is wrong, '' if nothing is.
 */
export function write_report(tests) {
  const file = new_file('json');
  if (file !== null) fs.writeFileSync(file, JSON.stringify(tests));
}

/** The lines of a step that its run prints, too: figures, and why something was left out. */
const SAID = 'said.txt';

/** Prints a line, also in the run's own output. */
export function say(line) {
  console.log(line);
  const folder = wanted_folder();
  if (folder !== null) fs.appendFileSync(path.join(folder, SAID), `${line}\n`);
}

/** What the programs of a step had to say. */
export function read_said(folder) {
  const file = path.join(folder, SAID);
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trimEnd().split('\n') : [];
}

/** The children of an element with this name. */
const children = (element, name) =>
  [...element.childNodes].filter((child) => child.nodeName === name);

/** The text of an element and of its attribute `message`, which often has the same. */
function text_of(element) {
  const message = element.getAttribute('message') ?? '';
  const text = element.textContent ?? '';
  return text.includes(message) ? text : `${message}\n${text}`;
}

/** How a test case ended. ctest and GoogleTest say by an attribute that it did not run. */
function state_of(element) {
  if (children(element, 'failure').length + children(element, 'error').length > 0) return 'failed';
  const status = element.getAttribute('status');
  if (status === 'fail') return 'failed';
  const left_out = status === 'notrun' || status === 'disabled';
  return left_out || children(element, 'skipped').length > 0 ? 'skipped' : 'passed';
}

/** What says where a test stands: Playwright's project, which is the suite's host, and the file or the suites around it. */
function place_of(element, suites) {
  const [of = ''] = suites.slice(-1).map((suite) => suite.getAttribute('hostname') ?? '');
  const class_name = element.getAttribute('classname') ?? '';
  const where = class_name === '' ? [] : [class_name];
  const around = where.length > 0 ? where : suites.map((suite) => suite.getAttribute('name') ?? '');
  return [...(/\.spec\.ts$/.test(class_name) && of !== '' ? [`[${of}]`] : []), ...around];
}

function tests_in(element, suites) {
  const tests = children(element, 'testcase').map((test) => {
    const name = test.getAttribute('name') ?? '';
    const place = place_of(test, suites).filter((part) => part !== name);
    const wrong = [...children(test, 'failure'), ...children(test, 'error')].map(text_of);
    return {
      name: [...place, name].join(' › '),
      state: state_of(test),
      said: wrong.join('\n'),
      output: children(test, 'system-out')
        .map(({ textContent }) => textContent)
        .join('\n'),
    };
  });
  const inner = children(element, 'testsuite').flatMap((suite) =>
    tests_in(suite, [...suites, suite]),
  );
  return [...tests, ...inner];
}

/** The tests in JUnit's XML. Throws if it is none. It is loaded late: the set-up installs the parser. */
async function read_junit(file) {
  const { DOMParser, onErrorStopParsing } = await import('@xmldom/xmldom');
  const parser = new DOMParser({ onError: onErrorStopParsing });
  const { documentElement } = parser.parseFromString(fs.readFileSync(file, 'utf8'), 'text/xml');
  return tests_in(
    documentElement,
    documentElement.nodeName === 'testsuite' ? [documentElement] : [],
  );
}

/** The tests in all reports of a folder. */
export async function read_reports(folder) {
  if (!fs.existsSync(folder)) return [];
  const files = fs.readdirSync(folder).sort();
  const all = await Promise.all(
    files.map((name) => {
      const file = path.join(folder, name);
      if (name.endsWith('.json')) return JSON.parse(fs.readFileSync(file, 'utf8'));
      return name.endsWith('.xml') ? read_junit(file) : [];
    }),
  );
  return all.flat();
}

/**
 * The tests in ctest's report. A test that wrote a report NAME.xml into `programs` is a program of many tests: those stand in its
 * place. If such a program failed without a failed test, or ran no test, it stands there as a failed one, too.
 */
export async function read_ctest(report, programs) {
  if (!fs.existsSync(report)) return [];
  const tests = [];
  for (const test of await read_junit(report)) {
    const file = path.join(programs, `${test.name}.xml`);
    const inside = fs.existsSync(file) ? await read_junit(file) : null;
    if (inside === null) {
      tests.push({
        ...test,
        said: test.said === '' ? test.output : `${test.said}\n${test.output}`,
      });
      continue;
    }
    tests.push(...inside.map((one) => ({ ...one, name: `${test.name} › ${one.name}` })));
    const failed = inside.some(({ state }) => state === 'failed');
    if (test.state === 'skipped') tests.push(test);
    else if (inside.length === 0 || (test.state === 'failed' && !failed))
      tests.push({ ...test, state: 'failed', said: test.output });
  }
  return tests;
}

/** How many tests ended how. */
export function count(tests) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { state } of tests) ++counts[state];
  return counts;
}
