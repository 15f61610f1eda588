// Every kernel of the wasm tables against the scalar definitions (tests/kernels/parity.h), in Chromium, which runs the
// relaxed instructions that Node 20 doesn't know.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './servers';
import { expect, test } from './fixtures';

interface Checks {
  _run_parity(): number;
}
type Create = (options: { print: (line: string) => void }) => Promise<Checks>;

for (const name of ['parity-simd', 'parity-relaxed', 'sanitized-relaxed']) {
  test(`the kernels of ${name} give the bits of their definition`, async ({ page, site }) => {
    const file = `sluice-${name}.mjs`;
    test.skip(
      !fs.existsSync(path.join(ROOT, 'build/wasm', file)),
      'node scripts/build-wasm.mjs --build makes the checks',
    );
    await page.goto(`${site.url}harness/`);
    const { failures, lines } = await page.evaluate(async (address) => {
      const { default: create } = (await import(address)) as { default: Create };
      const lines: string[] = [];
      const checks = await create({ print: (line) => lines.push(line) });
      return { failures: checks._run_parity(), lines };
    }, `/checks/${file}`);
    expect(failures, lines.join('\n')).toBe(0);
    expect(lines.at(-1)).toMatch(/: \d{4,} comparisons, 0 failed$/);
  });
}
