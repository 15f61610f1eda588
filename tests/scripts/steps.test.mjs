// Tests of which steps a run has.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { all_steps, choose } from '../../scripts/steps.mjs';

const usual = { all: false, only: null };
const names = ({ steps }) => steps.map(({ name }) => name);

describe('steps', () => {
  for (const all of [false, true]) {
    for (const committed of [false, true]) {
      it(`every step's needs come with it (all: ${all}, committed: ${committed})`, () => {
        const known = all_steps({ all, committed });
        const { steps } = choose(known, { all, committed, only: null });
        const there = new Set(steps.map(({ name }) => name));
        assert.equal(there.size, steps.length);
        for (const step of steps) {
          for (const need of step.needs) assert.ok(there.has(need), `${step.name} needs ${need}`);
        }
      });
    }
  }

  it('npm test builds no wasm, and runs the committed files', () => {
    const run = choose(all_steps({ all: false, committed: true }), { ...usual, committed: true });
    assert.equal(run.stale, null);
    assert.ok(names(run).includes('e2e') && names(run).includes('wasm'));
    assert.ok(!names(run).some((name) => /build-wasm|asan|tsan|fuzz|aarch64|firefox/.test(name)));
  });

  it('where the committed wasm does not fit, npm test leaves out what runs it, and says so', () => {
    const run = choose(all_steps({ all: false, committed: false }), { ...usual, committed: false });
    assert.match(run.stale, /so these did not run: e2e, wasm, node\./);
    for (const name of ['e2e', 'wasm', 'node']) assert.ok(!names(run).includes(name));
    assert.ok(names(run).includes('engine') && names(run).includes('unit'));
  });

  it('all waits for the fresh wasm only where the committed does not fit', () => {
    const web = (committed) =>
      all_steps({ all: true, committed }).find(({ name }) => name === 'web').needs;
    assert.ok(web(false).includes('build-wasm'));
    assert.ok(!web(true).includes('build-wasm'));
  });

  it('the scripts that a step runs are among what it depends on', () => {
    const known = all_steps({ all: true, committed: true });
    const inputs_of = (step) => [
      ...(step.inputs ?? []),
      ...step.needs.flatMap((name) => inputs_of(known.find((other) => other.name === name))),
    ];
    for (const step of known.filter(({ inputs }) => inputs !== null)) {
      const scripts = step.commands.flat().filter((word) => /^[\w/.-]+\.mjs$/.test(word));
      const inputs = inputs_of(step);
      for (const script of scripts) {
        const there = inputs.some((input) => script === input || script.startsWith(`${input}/`));
        assert.ok(there, `${step.name} runs ${script}`);
      }
    }
  });

  it('what steps depend on is there', () => {
    for (const { name, inputs } of all_steps({ all: true, committed: true }))
      for (const input of inputs ?? [])
        assert.ok(fs.existsSync(path.join(ROOT, input)), `${name}: ${input}`);
  });

  it('refuses a step that is not there', () => {
    const known = all_steps({ all: true, committed: true });
    assert.throws(() => choose(known, { all: false, committed: true, only: ['unti'] }), /unti/);
  });
});
