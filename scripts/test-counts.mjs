// Counts tests from the output of the test runners.
import fs from 'node:fs';
import path from 'node:path';

/** The attributes of an element's first tag in XML, as {name: text}. */
function attributes(tag) {
  return Object.fromEntries([...tag.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, k, v]) => [k, v]));
}

/** The counts in GoogleTest's report of one program. */
function count_googletest(text) {
  const number = (value) => Number(value ?? 0);
  const all = attributes(/<testsuites\b[^>]*>/.exec(text)?.[0] ?? '');
  const suites = [...text.matchAll(/^ *<testsuite [^>]*>/gm)].map(([tag]) => attributes(tag));
  const failed = number(all.failures) + number(all.errors);
  const skipped = suites.reduce((sum, suite) => sum + number(suite.skipped), number(all.disabled));
  return { passed: number(all.tests) - failed - skipped, failed, skipped };
}

/**
 * The counts in ctest's JUnit report; all 0 if there is none. A test that wrote a report NAME.xml into `reports` is a
 * program of many tests: those are counted instead. If such a program failed without a failed test, or ran no test, that
 * counts as one failure.
 */
export function count_ctest(report, reports) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const text = fs.existsSync(report) ? fs.readFileSync(report, 'utf8') : '';
  for (const [tag] of text.matchAll(/^\t?<testcase [^>]*>/gm)) {
    const { name, status } = attributes(tag);
    const own = path.join(reports, `${name}.xml`);
    const inside = fs.existsSync(own)
      ? count_googletest(fs.readFileSync(own, 'utf8'))
      : { passed: status === 'run' ? 1 : 0, failed: 0, skipped: 0 };
    const good = status === 'run' && inside.passed + inside.failed + inside.skipped > 0;
    if (status === 'notrun' || status === 'disabled') inside.skipped += 1;
    else if (!good && inside.failed === 0) inside.failed = 1;
    for (const key of Object.keys(counts)) counts[key] += inside[key];
  }
  return counts;
}

/** What each word in a runner's summary counts as. */
const MEANING = {
  pass: 'passed',
  passed: 'passed',
  flaky: 'failed',
  fail: 'failed',
  failed: 'failed',
  cancelled: 'failed',
  interrupted: 'failed',
  'did not run': 'failed',
  skipped: 'skipped',
  todo: 'skipped',
};

const WORDS = Object.keys(MEANING).join('|');

/**
 * The counts in the summaries in a log: node --test ("ℹ pass 3"), Vitest ("Tests  1 failed | 3 passed (4)"), Playwright
 * ("  3 passed (2.0s)", a line for each) and this project's own ("3 passed, 1 failed, 0 skipped"). They are
 * added up, because a step may call several runners.
 */
export function count_output(log) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const add = (number, word) => {
    counts[MEANING[word]] += Number(number);
  };
  // Colour codes would come between the words.
  for (const line of log.replaceAll(/\x1b\[[0-9;]*m/g, '').split('\n')) {
    const node_test = /^(?:ℹ|#) (pass|fail|cancelled|skipped|todo) (\d+)$/.exec(line);
    if (node_test !== null) add(node_test[2], node_test[1]);
    const playwright = new RegExp(`^ {2}(\\d+) (${WORDS})(?: \\([^)]*\\))?$`).exec(line);
    if (playwright !== null) add(playwright[1], playwright[2]);
    const listed = /^(?: +Tests +(.*?) \(\d+\)|(\d+ passed, .*))$/.exec(line);
    const pairs = (listed?.[1] ?? listed?.[2] ?? '').split(/ \| |, /);
    for (const pair of pairs) {
      const match = new RegExp(`^(\\d+) (${WORDS})$`).exec(pair);
      if (match !== null) add(match[1], match[2]);
    }
  }
  return counts;
}
