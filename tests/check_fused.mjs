// Checks that the core has no instruction that multiplies and adds with one rounding: with those, the bits would depend
// on the compiler and the machine. Run by ctest:  node tests/check_fused.mjs OBJDUMP LIBRARY
import { spawnSync } from 'node:child_process';

const FUSED = /^(vfn?m(add|sub)|fmadd|fmsub|fnmadd|fnmsub|fmla|fmls|fcmla)/;
const PRODUCT = /^(v?mulps|fmul)$/;

const [objdump, library] = process.argv.slice(2);
const listing = spawnSync(objdump, ['-d', '--no-show-raw-insn', library], {
  encoding: 'utf8',
  maxBuffer: 1 << 30,
});
if (listing.status !== 0) {
  console.error(listing.error ?? listing.stderr);
  process.exit(1);
}
let where = '';
let products = 0;
const fused = [];
for (const line of listing.stdout.split('\n')) {
  const label = /^[0-9a-f]+ <(.*)>:$/.exec(line);
  if (label !== null) where = label[1];
  const instruction = /^ *[0-9a-f]+:\s+(?:\{\w+\} )?(\S+)/.exec(line)?.[1] ?? '';
  if (PRODUCT.test(instruction)) ++products;
  if (FUSED.test(instruction)) fused.push(`${where}: ${line.trim()}`);
}
// With so few products this can't be the library's code.
if (products < 100) fused.push(`only ${products} products of floats in ${library}`);
for (const line of fused.slice(0, 20)) console.error(line);
console.log(`fused: ${products} products of floats, ${fused.length} problems`);
process.exit(fused.length === 0 ? 0 : 1);
