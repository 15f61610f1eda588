// Measures how well the page foretells speeds: what Engine.measure promises for a model, and what a text then reaches; and
// what that text promises for the next one. Quiet, and with one core kept busy by another program.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { median } from './figures.mjs';

/** Runs in the page. `eight`: the model's weights have eight bits. */
async function promise_in_page({ address, n, eight }) {
  const { Engine } = await import('/engine/index.js');
  const { bytesPerSecond, bytesPerSecond8 } = await Engine.measure();
  const engine = await Engine.load(new URL(address, location.href), { contextSize: n + 8 });
  await engine.ready;
  const write = async (tokens) => {
    const options = { maxTokens: tokens + 1, temperature: 0, ignoreEos: true };
    for await (const token of engine.generate([3, 4, 5], options)) void token;
    return engine.stats.tokensPerSecond;
  };
  const promised = (eight ? bytesPerSecond8 : bytesPerSecond) / engine.stats.bytesPerToken;
  const [reached, next] = [await write(n), await write(n)];
  await engine.close();
  return { promised, reached, next };
}

/** Keeps one core busy while `work` runs. */
async function with_busy_core(work) {
  const other = spawn(process.execPath, ['-e', 'for (;;);']);
  try {
    return await work();
  } finally {
    other.kill('SIGKILL');
  }
}

/** `rows`: the medians of r rounds, each of all of it. */
export async function measure_promises(browser, model, { n, r }) {
  const eight = /q8_0|f16|f32/i.test(path.basename(model));
  const once = () => browser.run(model, promise_in_page, { n, eight });
  const samples = { quiet: [], 'one core busy': [] };
  for (let round = 0; round < r; ++round) {
    samples.quiet.push(await once());
    samples['one core busy'].push(await with_busy_core(once));
  }
  const rows = Object.entries(samples).map(([load, all]) => {
    const of = (value) => median(all.map(value));
    return {
      load,
      promised: of((one) => one.promised),
      reached: of((one) => one.reached),
      ratio: of((one) => one.reached / one.promised),
      next: of((one) => one.next),
      next_ratio: of((one) => one.next / one.reached),
    };
  });
  return { model: path.basename(model), tokens: n, rounds: r, rows, samples };
}
