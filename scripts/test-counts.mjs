// Counts of tests, read from what the test runners print.
import fs from 'node:fs';

/** From ctest's JUnit report; GoogleTest's skipped tests count as skipped. No report: nothing ran. */
export function count_ctest(report) {
  const text = fs.existsSync(report) ? fs.readFileSync(report, 'utf8') : '';
  const head = /<testsuite\b[^>]*>/.exec(text)?.[0] ?? '';
  const number = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const [failed, skipped] = [number('failures'), number('skipped') + number('disabled')];
  return { passed: number('tests') - failed - skipped, failed, skipped };
}

/** What each word of a runner's summary counts as. */
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
 * From the summaries in a log: node --test ("ℹ pass 3"), Vitest ("Tests  1 failed | 3 passed (4)"), Playwright
 * ("  3 passed (2.0s)", a line for each) and this project's own ("3 passed, 1 failed, 0 skipped"). All that occur
 * are added up, since a step may call several runners.
 */
export function count_output(log) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const add = (number, word) => {
    counts[MEANING[word]] += Number(number);
  };
  // Colours would stand between the words.
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
