// Runs steps (scripts/steps.mjs) two at a time, and prints what each found.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, interrupted, run } from './lib.mjs';
import {
  fits_helpers,
  fits_record,
  hash_of,
  hash_of_helpers,
  record,
  record_helpers,
} from './passed.mjs';
import { REPORTS, count, read_said } from './reports.mjs';
import { LOGS } from './steps.mjs';
import { describe_failure, name_failures } from './test-failures.mjs';

/** How many steps run at a time. Each keeps about one core busy, and the machine may have only two: three gain nothing. */
const LANES = 2;
/** A step that writes nothing to its log for so long hangs, also on a slow machine. */
const SILENT_MS = 10 * 60_000;

const ENV = {
  ...process.env,
  NO_COLOR: '1',
  FORCE_COLOR: undefined,
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  ASAN_OPTIONS:
    process.env.ASAN_OPTIONS ?? 'strict_string_checks=1:detect_stack_use_after_return=1',
  UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? 'print_stacktrace=1',
  TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? 'second_deadlock_stack=1',
};

/** Runs one step; resolves with what it counted and the tests that it reported. */
async function run_step(step) {
  const log = path.join(LOGS, `${step.name}.log`);
  const folder = path.join(LOGS, step.name);
  const env = { ...ENV, [REPORTS]: folder };
  fs.writeFileSync(log, '');
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder);
  let status = 0;
  let tests = [];
  try {
    step.before?.();
    for (const [command, ...args] of step.commands) {
      fs.appendFileSync(log, `$ ${[command, ...args].join(' ')}\n`);
      status = await run(command, args, { env, log, silent_ms: SILENT_MS });
      if (status !== 0) break;
    }
    if (step.tests !== undefined) tests = await step.tests(folder);
    else if (status === 0) tests = [{ name: step.name, state: 'passed', said: '' }];
  } catch (error) {
    fs.appendFileSync(log, `${error instanceof Failure ? error.message : error.stack}\n`);
    status = 1;
  }
  const counts = count(tests);
  // A runner that failed without a failed test counts as one failure, and so does one that ran no test. One that a signal
  // ended may say that all is well with what it has run.
  if (counts.failed === 0 && (status !== 0 || tests.length === 0 || interrupted()))
    counts.failed = 1;
  return { counts, tests };
}

export function clock(ms) {
  const s = Math.round(ms / 1000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

const line = (mark, name, time, said) =>
  console.log(`${mark.padEnd(6)} ${name.padEnd(15)} ${time.padStart(12)}   ${said}`);

/** Prints a step's result. Returns the lines that name what failed. */
function report(step, { counts, tests }, ms) {
  const parts = [`${counts.passed} passed`];
  if (counts.failed > 0) parts.push(`${counts.failed} FAILED`);
  if (counts.skipped > 0) parts.push(`${counts.skipped} skipped`);
  line(counts.failed > 0 ? 'FAILED' : 'ok', step.name, clock(ms), parts.join(', '));
  const log = fs.readFileSync(path.join(LOGS, `${step.name}.log`), 'utf8');
  for (const text of read_said(path.join(LOGS, step.name))) console.log(`       | ${text}`);
  if (counts.failed === 0) return [];
  for (const text of describe_failure(tests, log)) console.log(`       | ${text}`);
  return name_failures(step.name, tests);
}

/** Why a step need not run, and how many tests that leaves out; null if it has to run. `hash`: of its inputs. */
function reason_to_skip(step, hash, { again, named }) {
  if (named) return null;
  const helpers = step.helpers === undefined ? null : fits_helpers(step, hash_of_helpers(step));
  if (helpers !== null)
    return { tests: helpers, why: 'the helpers are those with which it passed' };
  const before = again ? null : fits_record(step, hash);
  if (before === null) return null;
  return { tests: before.passed + before.skipped, why: 'nothing changed since it passed' };
}

/**
 * Runs steps in their order, each when the steps that it needs are done and a lane is free. `again`: also those
 * that have passed with the same inputs; `named`: and the tests of helpers that didn't change. Returns the counts of all, the
 * time of each step, and the lines that name what failed.
 */
export async function run_ladder(steps, { again, named = false }) {
  const times = [];
  const failed = [];
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const names = new Set(steps.map(({ name }) => name));
  // Of the inputs as they are when the set-up is done and the first step that has any begins.
  const hashes = new Map();
  const hash_at_start = (step) => {
    if (hashes.size === 0 && step.inputs !== null) {
      const contents = new Map();
      for (const each of steps) hashes.set(each.name, hash_of(each, steps, contents));
    }
    return hashes.get(step.name) ?? null;
  };
  const state = new Map();
  const running = new Set();
  const waiting = [...steps];
  const add = (step, counts) => {
    state.set(step.name, counts.failed === 0 ? 'good' : 'bad');
    for (const key of Object.keys(totals)) totals[key] += counts[key];
  };
  const start = (step, hash) => {
    const started = Date.now();
    const helpers = step.helpers === undefined ? null : hash_of_helpers(step);
    const job = run_step(step).then((outcome) => {
      const { counts } = outcome;
      running.delete(job);
      add(step, counts);
      times.push({ name: step.name, ms: Date.now() - started });
      failed.push(...report(step, outcome, times.at(-1).ms));
      record(step, hash, counts, hash_of(step, steps));
      if (helpers !== null && process.env.CI !== 'true') record_helpers(step, helpers, counts);
    });
    running.add(job);
  };
  while (waiting.length > 0 || running.size > 0) {
    if (interrupted()) waiting.length = 0;
    for (const step of [...waiting]) {
      const needs = step.needs
        .filter((name) => names.has(name))
        .map((name) => [name, state.get(name)]);
      const broken = needs.find(([, result]) => result === 'bad');
      if (broken !== undefined) {
        waiting.splice(waiting.indexOf(step), 1);
        line('FAILED', step.name, '', `not run, because ${broken[0]} failed`);
        failed.push(`FAILED ${step.name}: not run, because ${broken[0]} failed`);
        add(step, { passed: 0, failed: 1, skipped: 0 });
        continue;
      }
      if (running.size >= LANES || needs.some(([, result]) => result === undefined)) continue;
      waiting.splice(waiting.indexOf(step), 1);
      const hash = hash_at_start(step);
      const skip = reason_to_skip(step, hash, { again, named });
      if (skip === null) {
        start(step, hash);
        continue;
      }
      line('same', step.name, '', `${skip.why}: ${skip.tests} not run`);
      add(step, { passed: 0, failed: 0, skipped: skip.tests });
    }
    if (running.size > 0) await Promise.race(running);
  }
  if (interrupted()) throw new Failure('interrupted');
  return { totals, times, failed };
}
