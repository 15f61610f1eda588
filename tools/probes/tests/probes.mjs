// Tests tools/probes with a Python that has its packages: Debian's, which the set-up installs, or the one on the PATH. If
// they can't be had, that counts as one skipped test.
//   node tools/probes/tests/probes.mjs
import path from 'node:path';
import { Failure, ROOT, capture, main, run, which } from '../../../scripts/lib.mjs';
import { say, write_report } from '../../../scripts/reports.mjs';
import { setup } from '../../../scripts/setup.mjs';

/** A Python that has the packages, or null. */
function find_python() {
  const pythons = ['/usr/bin/python3', which('python3')].filter((python) => python !== null);
  const has_all = (python) =>
    capture(python, ['-c', 'import matplotlib, numpy, scipy, sklearn']).status === 0;
  return pythons.find(has_all) ?? null;
}

/** The same after the set-up, which installs what is missing; null, with a message, if it can't. */
async function python_with_packages() {
  const there = find_python();
  if (there !== null) return there;
  let reason = 'no Python has matplotlib, numpy, scipy and scikit-learn';
  try {
    await setup(['probes']);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    reason = error.message;
  }
  const python = find_python();
  if (python === null) {
    say(`skipped: not to be had: ${reason}`);
    write_report([{ name: reason, state: 'skipped', said: '' }]);
  }
  return python;
}

main(async () => {
  const python = await python_with_packages();
  if (python === null) return 0;
  return run(python, [path.join(ROOT, 'tools/probes/tests/run_tests.py')]);
});
