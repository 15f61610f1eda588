// The models that the tests load: the bundled one, and tiny ones with random weights, which the native
// build writes.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './servers';

const RELEASE = path.join(ROOT, 'build/release');
const MADE = path.join(ROOT, 'build/e2e-models');

export const BUNDLED = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');
export const SLUICE = path.join(RELEASE, 'sluice');

function findMaker(): string | undefined {
  return [path.join(RELEASE, 'make_models'), path.join(RELEASE, 'tests/make_models')].find((file) =>
    fs.existsSync(file),
  );
}

/** Whether the native build is there to compare with; without it such tests are skipped. */
export const nativeBuilt = fs.existsSync(SLUICE) && findMaker() !== undefined;
export const NO_NATIVE = 'the native build is not there (npm run build, or ninja -C build/release)';

/**
 * Writes the tiny models; does nothing without the native build. Several workers may do so at once: each file comes to
 * its place whole, and only when all are there does the stamp say so.
 */
export function makeModels(): void {
  const maker = findMaker();
  if (maker === undefined) return;
  const stamp = path.join(MADE, 'made');
  if (fs.existsSync(stamp) && fs.statSync(stamp).mtimeMs > fs.statSync(maker).mtimeMs) return;
  fs.mkdirSync(MADE, { recursive: true });
  const fresh = fs.mkdtempSync(`${MADE}-`);
  execFileSync(maker, [fresh]);
  for (const name of fs.readdirSync(fresh)) {
    fs.renameSync(path.join(fresh, name), path.join(MADE, name));
  }
  fs.rmdirSync(fresh);
  fs.writeFileSync(stamp, '');
}

/** A model of random weights in the shape of a real one, 80 MB; it stays for the next run. */
export function makeBigModel(): { file: string; path: string } {
  const maker = findMaker();
  if (maker === undefined) throw new Error(NO_NATIVE);
  const dir = path.join(MADE, 'big');
  const file = 'smollm2-135m-q4_0.gguf';
  if (!fs.existsSync(path.join(dir, file))) {
    fs.mkdirSync(dir, { recursive: true });
    execFileSync(maker, [dir, '--big', 'smollm2-135m', '--type', 'Q4_0']);
  }
  return { file, path: path.join(dir, file) };
}

/** All models by the names that the model server gives them. */
export function modelFiles(): Map<string, string> {
  const files = new Map([['stories.gguf', BUNDLED]]);
  if (fs.existsSync(MADE)) {
    for (const name of fs.readdirSync(MADE)) {
      if (name.endsWith('.gguf')) files.set(name, path.join(MADE, name));
    }
  }
  return files;
}

/** A model of another architecture, type and vocabulary than the bundled one. */
export const OTHER = 'qwen2-q4_0.gguf';

/** Calls the program; gives what it printed. */
export function sluice(...args: string[]): string {
  return execFileSync(SLUICE, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** One of each kind of kernel: integer dots over 8 and 4 bits, floats, and unpacking with scales of 16. */
export const KERNEL_MODELS = [
  'llama-q8_0.gguf',
  'llama-q4_0.gguf',
  'llama-f16.gguf',
  'llama-q6_k.gguf',
];
/** Longer than a strip of the GEMM, not a multiple of anything. */
export const IDS = Array.from({ length: 37 }, (_, i) => 3 + ((i * 29) % 200));

/** The program's hash of a model's logits behind IDS. */
export function programHash(name: string): string {
  const file = modelFiles().get(name);
  if (file === undefined) throw new Error(`make_models wrote no ${name}`);
  const printed = sluice('logits', file, '--tokens', IDS.join(','), '--hash', '--json');
  return (JSON.parse(printed) as { hash: string }).hash;
}
