// Models under a memory budget: of 700 MB under 300 MB, natively and in Chromium (--budget), and of 4.7 GB under 1.5 GB
// (--beyond).
import path from 'node:path';
import { Failure } from '../../scripts/lib.mjs';
import { hashes_of, measure_native_budget, plan_of } from './budget_native.mjs';
import { BudgetPages, measure_page_budget } from './budget_page.mjs';
import { chromium_lacks } from './chromium.mjs';
import { made_model } from './models.mjs';

/** What a row's figures mean: shares of what the rate of reading allows, and what goes beyond the budget. */
function judge(row, { budget, prompt, n, reread }) {
  if (row.error !== undefined) return row;
  const read_rate = Math.max(...Object.values(row.reads));
  const decode_limit = read_rate / reread;
  const reading_once = (prompt * read_rate) / row.prompt_bytes;
  const prompt_limit = Math.min(row.resident.prompt_tps, reading_once);
  const { hashes, right } = row;
  return {
    ...row,
    read_rate,
    decode_limit,
    prompt_limit,
    read_per_token: row.reread_bytes / n,
    decode_share: row.decode_tps / decode_limit,
    // Of the lower of that limit and the rate on resident weights.
    decode_of_both: row.decode_tps / Math.min(decode_limit, row.resident.decode_tps),
    prompt_share: row.prompt_tps / prompt_limit,
    peak_beyond: row.peak - budget,
    ...(row.heap === null ? {} : { heap_beyond: row.heap - budget }),
    same_hashes: hashes.prompt === right.prompt && hashes.decode === right.decode,
  };
}

/** --budget. Returns {model, budget, rows}. */
export async function measure_budget({ program, threads, quick, sides }) {
  if (chromium_lacks() !== '') throw new Failure(`Chromium is not there: ${chromium_lacks()}`);
  const model = await made_model(quick ? 'smollm2-135m' : 'llama-3.2-1b', 'Q4_0');
  const [prompt, n] = quick ? [32, 4] : [256, 32];
  const contextSize = prompt + n + 8;
  const budget = quick ? 60_000_000 : 300_000_000;
  const how = { budget, threads, prompt, n, contextSize };
  const plan = plan_of(program, model, { budget, contextSize });
  const right = await hashes_of(program, model, { ...how, budget: null, threads: 1 });
  const rows = [];
  if (sides.includes('native')) rows.push(...(await measure_native_budget(program, model, how)));
  if (sides.includes('chromium'))
    rows.push(...(await measure_page_budget(model, { ...how, right })));
  const judged = rows.map((row) => {
    const reread = row.memory?.rereadBytes ?? plan.rereadBytes ?? NaN;
    return judge(row, { budget, prompt, n, reread });
  });
  return { model: path.basename(model), ...how, plan, rows: judged };
}

/** --beyond. The right hashes are those of the program under the same budget. */
export async function measure_beyond({ program, quick }) {
  if (chromium_lacks() !== '') throw new Failure(`Chromium is not there: ${chromium_lacks()}`);
  const model = await made_model(quick ? 'smollm2-135m' : 'llama-3.1-8b', 'Q4_0');
  const [prompt, n, contextSize] = [16, 4, 256];
  const budget = quick ? 60_000_000 : 1_500_000_000;
  console.error('the program');
  const native = { budget, threads: 2, prompt, contextSize };
  const right = await hashes_of(program, model, native);
  const options = { contextSize, memoryBudget: budget };
  const pages = await BudgetPages.open(model, options);
  const rows = [];
  try {
    for (const source of ['file', 'opfs']) {
      console.error(`Chromium: ${source}`);
      try {
        if (source === 'opfs') await pages.keep();
        const found = await pages.measure(source, { options, prompt, n, reading: true });
        const { hashes } = found;
        const same_hashes = hashes.prompt === right.prompt && hashes.decode === right.decode;
        const read_rate = Math.max(...Object.values(found.reads));
        rows.push({ side: source, ...found, peak: found.grown, read_rate, right, same_hashes });
      } catch (error) {
        rows.push({ side: source, error: error.message.split('\n')[0] });
      }
    }
  } finally {
    await pages.close();
  }
  return { model: path.basename(model), ...native, n, rows };
}
