// Lighthouse on the built page: accessibility and best practices have to be 100, performance at least 95.
//   npm run lighthouse [-- DIR]   keeps the reports in DIR
// Lighthouse is large, so it is no dependency: npx fetches this version of it. It's the last one for Node 20.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { main, run } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { find_chromium } from './chromium.mjs';

const VERSION = '12.8.2';
const LEAST = { accessibility: 100, 'best-practices': 100, performance: 95 };
/** The views, on a phone and on a desktop. */
const PAGES = { write: '#view=write', talk: '#view=talk' };
const KINDS = { phone: [], desktop: ['--preset=desktop'] };

/** The scores by category, and the audits that cost some. */
function read_report(file) {
  const { categories, audits } = JSON.parse(fs.readFileSync(file, 'utf8'));
  const scores = Object.entries(categories).map(([id, { score, auditRefs }]) => {
    const missed = auditRefs
      .filter(({ weight, id: audit }) => weight > 0 && (audits[audit].score ?? 1) < 0.9)
      .map(({ id: audit }) => `${audit} ${audits[audit].displayValue ?? ''}`.trim());
    return { id, score: Math.round(100 * score), missed };
  });
  return scores;
}

main(async () => {
  const dir = process.argv[2] ?? fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-lighthouse-'));
  fs.mkdirSync(dir, { recursive: true });
  const site = await serve({ port: 0 });
  let good = true;
  try {
    for (const [page, fragment] of Object.entries(PAGES)) {
      for (const [kind, preset] of Object.entries(KINDS)) {
        const file = path.join(dir, `${page}-${kind}.json`);
        const flags = [
          '--quiet',
          '--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage',
          `--only-categories=${Object.keys(LEAST).join(',')}`,
          ...['--output=json', `--output-path=${file}`, ...preset],
        ];
        const args = ['--yes', `lighthouse@${VERSION}`, `${site.url}${fragment}`, ...flags];
        const code = await run('npx', args, {
          env: { ...process.env, CHROME_PATH: find_chromium() ?? '' },
        });
        if (code !== 0) return code;
        for (const { id, score, missed } of read_report(file)) {
          good &&= score >= LEAST[id];
          console.log(`${page}, ${kind}: ${id} ${score}  ${missed.join('; ')}`);
        }
      }
    }
  } finally {
    await site.close();
  }
  return good ? 0 : 1;
});
