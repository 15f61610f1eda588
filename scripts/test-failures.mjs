// Finds the failed tests of a step in the output of the test runners, for the ladder to print.
import { tail } from './lib.mjs';

/** How a runner reports a failed test: `head` matches the line with its name, `end` what follows the report. */
const RUNNERS = [
  // Playwright
  { head: /^ {2}\d+\) (.+?)(?: ─+)?$/gm, end: /^ {0,2}\S/m },
  // node --test, in the list at its end
  { head: /^test at (.+\n✖ .+) \([\d.]+ms\)$/gm, end: /^\S/m },
  // Vitest
  { head: /^ FAIL {2}(.+)$/gm, end: /^(?:⎯| FAIL {2})/m },
  // This project's checks, which print what is wrong before the name
  { head: /^not ok {2}(.+)$/gm, end: /^/m },
];
const CTEST = {
  head: /^ *\d+\/\d+ Test +#\d+: (\S+) \.+\*\*\*(?!Skipped|Not Run \(Disabled\)).*$/gm,
  end: /^(?: +Start +\d+: |\d+% tests passed)/m,
};
/** Each test of a program, failed or not. If the program crashed, its last test has no end. */
const GOOGLETEST = { head: /^\[ RUN {6}\] (.+)$/gm, end: /^\[ /m };
const NOT_FAILED = /^\[(?: {7}OK| {2}SKIPPED) \]/;
const GOOGLETEST_PROGRESS = /^(?:\[[ =-]|Running main\(\)|Note: Google Test)/;

/** The name in each match of `head`, the text from there to `end`, and what follows. */
function reports_in(log, { head, end }) {
  return [...log.matchAll(head)].map((match) => {
    const rest = log.slice(match.index + match[0].length + 1);
    const length = end.exec(rest)?.index ?? rest.length;
    const name = match[1].replace('\n✖', ' ›');
    return { name, text: rest.slice(0, length), after: rest.slice(length) };
  });
}

/** The failed tests in a log, runner by runner: {name, lines: what was reported, without empty lines}. */
export function failed_tests(log) {
  // Colour codes would come between the words.
  const plain = log.replaceAll(/\x1b\[[0-9;]*m/g, '');
  const found = RUNNERS.flatMap((runner) => reports_in(plain, runner));
  for (const program of reports_in(plain, CTEST)) {
    const inside = reports_in(program.text, GOOGLETEST).filter(
      ({ after }) => !NOT_FAILED.test(after),
    );
    // The program has no tests, or it failed but none of them did: a leak, for example.
    if (inside.length === 0) found.push(program);
    for (const test of inside) found.push({ ...test, name: `${program.name} › ${test.name}` });
  }
  const said = (line) => line.trim() !== '' && !GOOGLETEST_PROGRESS.test(line);
  return found.map(({ name, text }) => ({ name, lines: text.split('\n').filter(said) }));
}

/** The lines to print for a failed step: its failed tests, each with the first lines of its report; then the log's end. */
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

/** One line for each failed test of a step, or one for the step if no test is named. */
export function name_failures(step, log) {
  const names = failed_tests(log).map(({ name }) => `FAILED ${step}: ${name}`);
  return names.length > 0 ? names : [`FAILED ${step}`];
}
