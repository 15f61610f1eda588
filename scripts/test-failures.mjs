// The failed tests of a step, read from what the test runners print, and what the ladder shows of them.
import { tail } from './lib.mjs';

/** How a runner tells of a failed test: the line that names it, and where what is said of it ends. */
const RUNNERS = [
  // Playwright
  { head: /^ {2}\d+\) (.+?)(?: ─+)?$/gm, end: /^ {0,2}\S/m },
  // node --test, in the list at its end
  { head: /^test at (.+\n✖ .+) \([\d.]+ms\)$/gm, end: /^\S/m },
  // Vitest
  { head: /^ FAIL {2}(.+)$/gm, end: /^(?:⎯| FAIL {2})/m },
  // This project's checks, which say what is wrong before they name it
  { head: /^not ok {2}(.+)$/gm, end: /^/m },
];
const CTEST = {
  head: /^ *\d+\/\d+ Test +#\d+: (\S+) \.+\*\*\*(?!Skipped|Not Run \(Disabled\)).*$/gm,
  end: /^(?: +Start +\d+: |\d+% tests passed)/m,
};
/** Each test of a program, failed or not; in one that crashed the last has no end. */
const GOOGLETEST = { head: /^\[ RUN {6}\] (.+)$/gm, end: /^\[ /m };
const NOT_FAILED = /^\[(?: {7}OK| {2}SKIPPED) \]/;
const GOOGLETEST_PROGRESS = /^(?:\[[ =-]|Running main\(\)|Note: Google Test)/;

/** Each failed test that the runner tells of: its name, the text about it, and what follows. */
function told(log, { head, end }) {
  return [...log.matchAll(head)].map((match) => {
    const rest = log.slice(match.index + match[0].length + 1);
    const length = end.exec(rest)?.index ?? rest.length;
    const name = match[1].replace('\n✖', ' ›');
    return { name, text: rest.slice(0, length), after: rest.slice(length) };
  });
}

/** The failed tests in a log, in its order for each runner: {name, lines}, without empty lines. */
export function failed_tests(log) {
  // Colours would stand between the words.
  const plain = log.replaceAll(/\x1b\[[0-9;]*m/g, '');
  const found = RUNNERS.flatMap((runner) => told(plain, runner));
  for (const program of told(plain, CTEST)) {
    const inside = told(program.text, GOOGLETEST).filter(({ after }) => !NOT_FAILED.test(after));
    // A program without tests, or one that failed beside them: a leak, say.
    if (inside.length === 0) found.push(program);
    for (const test of inside) found.push({ ...test, name: `${program.name} › ${test.name}` });
  }
  const said = (line) => line.trim() !== '' && !GOOGLETEST_PROGRESS.test(line);
  return found.map(({ name, text }) => ({ name, lines: text.split('\n').filter(said) }));
}

/** What is shown of a failed step: its failed tests with the first lines about each, then the log's end. */
export function describe_failure(log) {
  const lines = [];
  const tests = failed_tests(log);
  for (const [i, { name, lines: about }] of tests.entries()) {
    const room = Math.min(12, 40 - lines.length);
    if (room === 0) {
      lines.push(`(${tests.length - i} more)`);
      break;
    }
    lines.push(...[name, ...about].slice(0, room));
  }
  if (lines.length > 0) lines.push("(the log's end)");
  return [...lines, ...tail(log, 60 - lines.length).split('\n')];
}

/** A line for each failed test of a step, or one for the step where no test is named. */
export function name_failures(step, log) {
  const names = failed_tests(log).map(({ name }) => `FAILED ${step}: ${name}`);
  return names.length > 0 ? names : [`FAILED ${step}`];
}
