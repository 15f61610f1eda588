// @ts-check
// Loads small models from a server that misbehaves at random, in Chromium and in the program, and kills downloads.
//   npm run faults [-- --seed S] [--runs N] [--kills N] [--side page|program|both]
// Each run follows from its seed; those of a round are S, S + 1, .. A run that ends as it must not is printed with its seed:
// --seed S --runs 1 --kills 0 repeats a run of faults, --seed S --runs 0 --kills 1 one with a kill. The exit status is 1 if a
// run fails, or if fewer than 95% of the loads whose server recovers get through.
import { Failure, main } from '../../scripts/lib.mjs';
import { count, write_report } from '../../scripts/reports.mjs';
import { Hub } from '../hub/server.mjs';
import { run_in_page, run_program } from './fault-run.mjs';
import { Tally, is_good } from './judge.mjs';
import { kill_in_page, kill_program, make_kill, words_of } from './kill-run.mjs';
import { prepare } from './models.mjs';
import { Browser, HANGING, Sites, within } from './page.mjs';
import { make_plan } from './plans.mjs';

/** Runs of faults that go on at the same time. Most of their time is waiting. */
const LANES = 4;

/** @param {string[]} args */
function read_args(args) {
  const given = { seed: Date.now() % 1_000_000, runs: 500, kills: 200 };
  let side = 'both';
  for (let i = 0; i < args.length; i += 2) {
    const name = (args[i] ?? '').slice(2);
    const value = args[i + 1] ?? '';
    if (name === 'side' && ['page', 'program', 'both'].includes(value)) side = value;
    else if ((name === 'seed' || name === 'runs' || name === 'kills') && /^\d{1,9}$/.test(value)) {
      given[name] = Number(value);
    } else {
      throw new Failure(
        'usage: npm run faults [-- --seed S] [--runs N] [--kills N] [--side page|program|both]',
      );
    }
  }
  return { ...given, side };
}

/** Calls `body` for each number below `n`, some at the same time. @param {number} n @param {number} lanes @param {(i: number) => Promise<void>} body */
async function in_lanes(n, lanes, body) {
  let next = 0;
  const lane = async () => {
    while (next < n) await body(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The runs, for the ladder. @type {{name: string, state: string, said: string}[]} */
const reported = [];

/** Notes a run, and names one that failed. @param {import('./judge.mjs').Verdict} verdict @param {string} what */
function note(verdict, what) {
  const { kind, why } = verdict;
  const good = is_good(verdict);
  reported.push({
    name: `${kind}: ${what}`,
    state: good ? 'passed' : 'failed',
    said: good ? '' : why,
  });
  if (!good) console.log(`  ${why}\nnot ok  ${kind}: ${what}`);
}

/**
 * @typedef {'page' | 'program'} Side
 * @typedef {{seed: number, runs: number, kills: number}} Counts
 * @typedef {{verdict: import('./judge.mjs').Verdict, again: number}} Result `again`: bytes that were fetched again
 */

/**
 * A run that throws counts as hanging, and so does one whose parts take too long together.
 * @param {Promise<Result>} run
 * @returns {Promise<Result>}
 */
function guarded(run) {
  const hangs = (/** @type {string} */ why) => ({
    verdict: /** @type {const} */ ({ kind: 'hanging', why }),
    again: 0,
  });
  const work = run.catch((/** @type {Error} */ error) => hangs(error.stack ?? error.message));
  return within(work, hangs('the run has no end'), 3 * HANGING);
}

/** @param {Side} side @param {Counts} counts @param {Tally} tally */
async function fault_runs(side, { seed, runs }, tally) {
  if (runs === 0) return;
  const hub = await Hub.start();
  const sites = await Sites.open();
  let browser = null;
  try {
    if (side === 'page') browser = await Browser.start();
    const own = browser;
    await in_lanes(runs, LANES, async (i) => {
      const plan = make_plan(seed + i);
      const { verdict } = await guarded(
        own === null ? run_program(plan, { hub }) : run_in_page(plan, { hub, browser: own, sites }),
      );
      tally.add(verdict, plan.recovers);
      const { model, way, cache } = plan;
      const where = side === 'page' ? `${side}, cache ${cache}` : side;
      const what = `seed ${plan.seed}, ${where}, ${model} by ${way}: ${plan.words}`;
      note(verdict, what);
      if (plan.recovers && verdict.kind === 'right error') {
        console.log(`not recovered: ${what}\n  ${verdict.why}`);
      }
    });
  } finally {
    await browser?.close();
    await Promise.all([sites.close(), hub.close()]);
  }
}

/** One after another, because they may kill the browser. @param {Side} side @param {Counts} counts @param {Tally} tally */
async function kill_runs(side, { seed, kills }, tally) {
  if (kills === 0) return;
  const hub = await Hub.start();
  const sites = await Sites.open();
  let browser = null;
  try {
    if (side === 'page') browser = await Browser.start();
    for (let i = 0; i < kills; ++i) {
      const plan = make_kill(seed + i, side);
      const { verdict, again } = await guarded(
        browser === null
          ? kill_program(plan, { hub })
          : kill_in_page(plan, { hub, browser, sites }),
      );
      tally.add(verdict, false);
      if (plan.ranges) tally.fetched_again(again);
      note(verdict, `seed ${plan.seed}, ${side}, ${words_of(plan)}`);
      if (is_good(verdict)) continue;
      // The next run has nothing to do with what is left of this one.
      await browser?.kill();
    }
  } finally {
    await browser?.close();
    await Promise.all([sites.close(), hub.close()]);
  }
}

/** @param {Side} side @param {Tally} faults @param {Tally} kills */
function summarize(side, faults, kills) {
  if (faults.runs > 0) {
    const share = Math.round((1000 * faults.recovered) / Math.max(1, faults.recovering)) / 10;
    console.log(
      `${side}: ${faults.runs} runs of faults: ${faults.of('right hash')} right hash, ` +
        `${faults.of('right error')} right error, ${faults.of('wrong text')} wrong text, ` +
        `${faults.of('hanging')} hanging, ${faults.of('wrong error')} wrong error, ` +
        `${faults.of('wrong state')} wrong state; of ${faults.recovering} whose server recovered ` +
        `${faults.recovered} got through (${share}%, 95% are asked for)`,
    );
  }
  if (kills.runs > 0) {
    console.log(
      `${side}: ${kills.runs} kills: ${kills.good} went on and verified; fetched again: ` +
        `${kills.again} bytes in all, ${kills.most_again} at most`,
    );
  }
}

// Playwright would close the browser and let the runs go on without one; when the process exits it closes it, too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));

main(async () => {
  const { side, ...counts } = read_args(process.argv.slice(2));
  prepare();
  const { seed, runs, kills } = counts;
  console.log(
    `seeds of faults ${seed} to ${seed + runs - 1}, of kills ${seed} to ${seed + kills - 1}`,
  );
  for (const one of /** @type {const} */ (['page', 'program'])) {
    if (side !== 'both' && side !== one) continue;
    const [faults, killed] = [new Tally(), new Tally()];
    await Promise.all([fault_runs(one, counts, faults), kill_runs(one, counts, killed)]);
    summarize(one, faults, killed);
    if (!faults.enough_recovered) {
      reported.push({ name: `${one}: too few got through`, state: 'failed', said: '' });
      console.log(`not ok  ${one}: too few got through`);
    }
  }
  write_report(reported);
  const { passed, failed } = count(reported);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});
