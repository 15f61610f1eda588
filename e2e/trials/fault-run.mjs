// @ts-check
// One run of faults: a server that misbehaves by a plan, a load, and whether it ended as it may.
import { judge } from './judge.mjs';
import { path_of, right_hash } from './models.mjs';
import { STALL } from './plans.mjs';
import { Program } from './program.mjs';

/**
 * @typedef {import('../hub/served.mjs').Served} Served
 * @typedef {import('../hub/server.mjs').Hub} Hub
 * @typedef {import('./judge.mjs').Outcome} Outcome
 * @typedef {import('./judge.mjs').Verdict} Verdict
 * @typedef {import('./page.mjs').Browser} Browser
 * @typedef {import('./page.mjs').Sites} Sites
 * @typedef {import('./page.mjs').Tab} Tab
 * @typedef {import('./plans.mjs').FaultPlan} FaultPlan
 */

/** @typedef {{verdict: Verdict, again: number}} Result */

/** Serves the plan's model. Returns it, and the address to load. @param {Hub} hub @param {FaultPlan} plan */
function serve(hub, plan) {
  const served = hub.add(plan.model, path_of(plan.model), {
    plan: plan.serve,
    seed: plan.seed,
    versions: plan.other === '' ? [] : [path_of(plan.other)],
  });
  if (plan.way !== 'hub')
    return { served, address: plan.way === 'file' ? served.url : served.moved };
  // A name of its own for each run.
  const name = `trials/run-${served.id}`;
  hub.api.repository(name, { [plan.model]: served }, { plan: plan.list });
  return { served, address: `hf:${name}:${plan.model}` };
}

/** @param {FaultPlan} plan @param {Served} served */
function sha256_of(plan, served) {
  if (plan.sha256 === '') return undefined;
  return plan.sha256 === 'right' ? served.content.sha256 : 'b'.repeat(64);
}

/** @param {FaultPlan} plan */
function right_of({ codes, model, other, become }) {
  return { codes, hashes: [right_hash(model), ...(become ? [right_hash(other)] : [])] };
}

/** @param {string} why @returns {Verdict} */
const wrong = (why) => ({ kind: 'wrong state', why });

/** Milliseconds within which what was loaded must be kept. */
const WRITTEN_MS = 30_000;

/**
 * What must hold after a load with the cache; null if it does.
 * @param {Tab} tab
 * @param {Hub} hub
 * @param {FaultPlan} plan
 * @param {{served: Served, address: string, outcome: Outcome, options: object}} about
 * @returns {Promise<Verdict | null>}
 */
async function check_cache(tab, hub, plan, { served, address, outcome, options }) {
  const where = { hubUrl: hub.url };
  let has = await tab.cache('has', address, where);
  // On a busy machine the last bytes are still being written.
  const end = Date.now() + WRITTEN_MS;
  while (has === false && outcome.hash !== undefined && !plan.lies && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    has = await tab.cache('has', address, where);
  }
  if (typeof has !== 'boolean') return wrong(`cache.has: ${has.error}`);
  if (outcome.code !== undefined && has) return wrong(`after ${outcome.code} the cache has it`);
  if (outcome.hash !== undefined && (has || !plan.lies)) {
    if (!has) return wrong('after the right hash the cache does not have it');
    const verified = await tab.cache('verify', address, where);
    if (verified.ok !== true) return wrong(`cache.verify: ${JSON.stringify(verified)}`);
    if (plan.visit) {
      const { requests } = served.counts;
      served.plan = () => ({ close: true });
      const again = await tab.load(address, options, plan.early);
      if (again.hash !== outcome.hash) {
        return wrong(`without the server: ${again.hash ?? `${again.code}: ${again.message}`}`);
      }
      if (served.counts.requests !== requests) return wrong('the server was asked a second time');
    }
  }
  const gone = await tab.cache('delete', address, where);
  // It fails with busy if something of the load has stayed.
  if (typeof gone !== 'boolean') return wrong(`cache.delete: ${gone.error}`);
  if (outcome.code === 'download_corrupt' && gone) return wrong('corrupt bytes were kept');
  return null;
}

/**
 * A run in a tab.
 * @param {FaultPlan} plan
 * @param {{hub: Hub, browser: Browser, sites: Sites}} place
 * @returns {Promise<Result>}
 */
export async function run_in_page(plan, { hub, browser, sites }) {
  const { served, address } = serve(hub, plan);
  const sha256 = sha256_of(plan, served);
  const options = {
    cache: plan.cache,
    hubUrl: hub.url,
    retryTimeout: plan.patience,
    stallTimeout: STALL,
    threads: 2,
    ...(sha256 === undefined ? {} : { sha256 }),
  };
  const tab = await browser.open(sites.url(plan.isolation));
  try {
    const outcome = await tab.load(address, options, plan.early);
    let verdict = judge(outcome, right_of(plan));
    if (
      (verdict.kind === 'right hash' || verdict.kind === 'right error') &&
      plan.cache === 'opfs'
    ) {
      verdict =
        (await check_cache(tab, hub, plan, { served, address, outcome, options })) ?? verdict;
    }
    return { verdict, again: served.counts.again };
  } finally {
    await tab.close();
  }
}

/**
 * A run of the program. It knows no CORS: what is forbidden to other sites, it reads.
 * @param {FaultPlan} plan
 * @param {{hub: Hub}} place
 * @returns {Promise<Result>}
 */
export async function run_program(plan, { hub }) {
  const { served, address } = serve(hub, plan);
  const sha256 = sha256_of(plan, served);
  const program = new Program();
  const more = [
    ...['--retry-timeout', String(Math.ceil(plan.patience / 1000))],
    ...['--stall-timeout', String(Math.ceil(STALL / 1000))],
    ...(sha256 === undefined ? [] : ['--sha256', sha256]),
  ];
  const env = { HF_ENDPOINT: hub.url };
  try {
    const outcome = await program.load(address, more, env);
    let verdict = judge(outcome, right_of(plan));
    if (verdict.kind === 'right hash' && plan.visit) {
      served.plan = () => ({ close: true });
      const { requests } = served.counts;
      const again = await program.load(address, more, env);
      if (again.hash !== outcome.hash) {
        verdict = wrong(`without the server: ${again.hash ?? `${again.code}: ${again.message}`}`);
      } else if (served.counts.requests !== requests) {
        verdict = wrong('the server was asked a second time');
      }
    }
    const bytes = program.kept().filter((name) => name.endsWith('.gguf'));
    if (outcome.code === 'download_corrupt' && bytes.length > 0) {
      verdict = wrong('corrupt bytes were kept');
    }
    return { verdict, again: served.counts.again };
  } finally {
    program.close();
  }
}
