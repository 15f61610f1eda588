// What the ladder prints of a step that failed: its failed tests, and the end of its log.
import { tail } from './lib.mjs';

/** Most lines of a test, of all tests, and of these with the end of the log. */
const MOST = { test: 12, tests: 40, all: 60 };

/** What was said of a test, without colours and empty lines. */
function lines_of({ said }) {
  const plain = said.replaceAll(/\x1b\[[0-9;]*m/g, '');
  return plain.split('\n').filter((line) => line.trim() !== '');
}

/** The lines to print for a failed step: its failed tests, each with the first lines of its report; then the log's end. */
export function describe_failure(tests, log) {
  const lines = [];
  const failed = tests.filter(({ state }) => state === 'failed');
  for (const [i, test] of failed.entries()) {
    const room = Math.min(MOST.test, MOST.tests - lines.length);
    if (room === 0) {
      lines.push(`(${failed.length - i} more)`);
      break;
    }
    lines.push(...[test.name, ...lines_of(test)].slice(0, room));
  }
  if (lines.length > 0) lines.push("(the log's end)");
  return [...lines, ...tail(log, MOST.all - lines.length).split('\n')];
}

/** One line for each failed test of a step, or one for the step if no test is named. */
export function name_failures(step, tests) {
  const failed = tests.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return [`FAILED ${step}`];
  return failed.map(({ name }) => `FAILED ${step}: ${name}`);
}
