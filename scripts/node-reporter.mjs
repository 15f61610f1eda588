// A reporter for node --test that writes what reports.mjs reads. JUnit's, which Node has, doesn't say in which file a test stands.
import path from 'node:path';
import { ROOT } from './lib.mjs';

/** The error of a test, which its runner wraps. */
function said_of({ error }) {
  if (error === undefined) return '';
  const { cause = error } = error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  return cause?.message && !text.includes(cause.message) ? `${cause.message}\n${text}` : text;
}

/** Yields the tests as JSON when all have ended. A group, and a test with tests inside, is told of by these. */
export default async function* reporter(events) {
  const tests = [];
  /** The names of the groups that are under way, by nesting, and whether the test there has tests inside. */
  const around = [];
  const inside = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      around[data.nesting] = data.name;
      inside[data.nesting] = false;
      inside.fill(true, 0, data.nesting);
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, nesting, file, line, column, skip, todo, details } = data;
    const left_out = skip !== undefined || todo !== undefined;
    const failed = type === 'test:fail' && todo === undefined;
    // A group that fails because of a test inside.
    const by_others = details.error?.failureType === 'subtestsFailed';
    if ((inside[nesting] === true || details.type === 'suite') && (!failed || by_others)) continue;
    const place = file === undefined ? '' : `${path.relative(ROOT, file)}:${line}:${column}`;
    const names = [...around.slice(0, nesting), name].join(' › ');
    tests.push({
      name: place === '' ? names : `${place} › ${names}`,
      state: failed ? 'failed' : left_out ? 'skipped' : 'passed',
      said: failed ? said_of(details) : '',
    });
  }
  yield JSON.stringify(tests);
}
