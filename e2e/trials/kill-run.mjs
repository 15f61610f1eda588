// @ts-check
// One run with a kill: while a model is downloaded into the cache, the tab, one of its workers, or the whole browser (or the
// program) is killed. Then it is loaded again.
import { Random } from '../hub/random.mjs';
import { block_bytes, judge } from './judge.mjs';
import { path_of, right_hash, size_of } from './models.mjs';
import { STALL } from './plans.mjs';
import { Program, bytes_in_sockets } from './program.mjs';

/**
 * @typedef {import('../hub/served.mjs').Served} Served
 * @typedef {import('../hub/server.mjs').Hub} Hub
 * @typedef {import('./judge.mjs').Verdict} Verdict
 * @typedef {import('./page.mjs').Browser} Browser
 * @typedef {import('./page.mjs').Sites} Sites
 */

/** @typedef {{verdict: Verdict, again: number}} Result */

/**
 * @typedef {object} KillPlan
 * @property {number} seed
 * @property {string} model
 * @property {'tab' | 'crash' | 'worker' | 'browser' | 'program'} victim `crash`: of the tab's process
 * @property {boolean} isolation
 * @property {boolean} ranges whether the server has them
 * @property {boolean} still the server stops at that place, so that nothing is on its way when the kill comes
 * @property {number} place bytes that were sent when the kill comes
 * @property {number} seconds that the download takes in all
 * @property {number} choice which worker, from 0 to 1
 */

/** The last one is fetched by several connections. */
const MODELS = [
  ...['stories-q8_0.gguf', 'stories-q8_0.gguf', 'gemma3-wide-f32.gguf', 'llama-q6_k.gguf'],
  'smollm2-135m-q4_0.gguf',
];

/** Bytes that the program reads from a connection at once, at most (kBufferBytes in native/pull/http.cc). */
const CURL_BUFFER = 256 << 10;

/** @param {number} seed @param {'page' | 'program'} side @returns {KillPlan} */
export function make_kill(seed, side) {
  const random = new Random(seed, 2);
  const model = random.pick(MODELS);
  const victims = /** @type {const} */ (['tab', 'crash', 'worker', 'worker', 'browser']);
  return {
    seed,
    model,
    victim: side === 'program' ? 'program' : random.pick(victims),
    isolation: random.chance(0.5),
    ranges: random.chance(0.8),
    still: random.chance(0.5),
    place: random.whole(1, size_of(model) - 1),
    seconds: random.whole(5, 20) / 10,
    choice: random.next(),
  };
}

/** @param {KillPlan} plan */
export function words_of({ victim, model, place, ranges, still }) {
  const how = `${ranges ? '' : ', no ranges'}${still ? ', with nothing on its way' : ''}`;
  return `${model}: ${victim} killed at ${place}${how}`;
}

/** Resolves when it is true; at once if the load has ended. @param {() => boolean} ready @param {{done: boolean}} load */
async function until(ready, load) {
  while (!ready() && !load.done) await new Promise((turn) => setTimeout(turn, 2));
}

/** @param {Hub} hub @param {KillPlan} plan */
function serve(hub, { model, ranges, place, seconds, still }) {
  let killed = false;
  const rate = size_of(model) / seconds;
  const served = hub.add(model, path_of(model), {
    plan: ({ sent }) => ({
      ignoreRange: !ranges,
      rate: killed ? Infinity : rate,
      ...(still && !killed ? { stall: place - sent } : {}),
    }),
  });
  const get_well = () => {
    killed = true;
  };
  return { served, get_well };
}

/**
 * The most bytes that may be fetched again: a block for each connection, and what was on its way when the kill came. A
 * server without ranges sends all again.
 * @param {KillPlan} plan
 * @param {Served} served
 * @param {number} on_its_way
 */
function allowed({ model, ranges }, { counts }, on_its_way) {
  const size = size_of(model);
  return ranges ? counts.most * block_bytes(size) + on_its_way : size + on_its_way;
}

/** @param {string} why @returns {Verdict} */
const wrong = (why) => ({ kind: 'wrong state', why });

/**
 * @param {KillPlan} plan
 * @param {{hub: Hub, browser: Browser, sites: Sites}} place
 * @returns {Promise<Result>}
 */
export async function kill_in_page(plan, { hub, browser, sites }) {
  const { served, get_well } = serve(hub, plan);
  const options = { cache: 'opfs', retryTimeout: 20_000, stallTimeout: 60_000, threads: 2 };
  const url = sites.url(plan.isolation);
  const tab = await browser.open(url);
  const load = { done: false };
  void tab.load(served.url, options, false).then(() => (load.done = true));
  await until(() => served.counts.bytes >= plan.place, load);
  let came = await tab.loaded();
  // Progress is told now and then, and perhaps not of the last bytes; those count as on their way.
  for (let i = 0; i < 100 && plan.still && came < plan.place && !load.done; ++i) {
    await new Promise((turn) => setTimeout(turn, 20));
    came = await tab.loaded();
  }
  if (plan.victim === 'worker') await tab.kill_worker(plan.choice);
  if (plan.victim === 'tab') await tab.close();
  if (plan.victim === 'crash') await tab.crash();
  if (plan.victim === 'browser') await browser.kill();
  const on_its_way = Math.max(0, served.counts.bytes - came);
  get_well();
  // A tab without one of its workers may go on by itself, or tell that it can't.
  if (plan.victim === 'worker' || plan.victim === 'crash') await tab.close();
  hub.drop_connections();
  const next = await browser.open(url);
  try {
    const outcome = await next.load(served.url, { ...options, stallTimeout: STALL }, false);
    let verdict = judge(outcome, { codes: [], hashes: [right_hash(plan.model)] });
    const limit = allowed(plan, served, on_its_way);
    if (verdict.kind === 'right hash') {
      const checked = await next.cache('verify', served.url);
      if (checked.ok !== true) verdict = wrong(`cache.verify: ${JSON.stringify(checked)}`);
      else if (served.counts.again > limit) {
        verdict = wrong(`${served.counts.again} bytes were fetched again, more than ${limit}`);
      }
    }
    const gone = await next.cache('delete', served.url);
    if (gone !== true && verdict.kind === 'right hash') {
      verdict = wrong(`cache.delete: ${JSON.stringify(gone)}`);
    }
    return { verdict, again: served.counts.again };
  } finally {
    await next.close();
  }
}

/**
 * @param {KillPlan} plan
 * @param {{hub: Hub}} place
 * @returns {Promise<Result>}
 */
export async function kill_program(plan, { hub }) {
  const { served, get_well } = serve(hub, plan);
  const program = new Program();
  const load = { done: false };
  try {
    const { kill, ended } = program.start(Program.logits(served.url, []));
    void ended.then(() => (load.done = true));
    await until(() => served.counts.bytes >= plan.place, load);
    const sent = served.counts.bytes;
    const held = bytes_in_sockets([hub.url, hub.cdn].map((url) => new URL(url).port));
    kill();
    await ended;
    // What the system held, what was sent after that, and what libcurl had read but not handed on.
    const buffers = served.counts.most * CURL_BUFFER;
    const on_its_way = held + (served.counts.bytes - sent) + buffers;
    get_well();
    const outcome = await program.load(served.url, [], {});
    let verdict = judge(outcome, { codes: [], hashes: [right_hash(plan.model)] });
    const limit = allowed(plan, served, on_its_way);
    if (verdict.kind === 'right hash') {
      const checked = await program.run(['cache', 'verify', served.url]);
      if (checked.status !== 0) verdict = wrong(`sluice cache verify: ${checked.err.trim()}`);
      else if (served.counts.again > limit) {
        verdict = wrong(`${served.counts.again} bytes were fetched again, more than ${limit}`);
      }
    }
    return { verdict, again: served.counts.again };
  } finally {
    program.close();
  }
}
