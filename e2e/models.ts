// The models that the tests load: the bundled one, and tiny ones with random weights, which the native
// build writes.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './servers';

const RELEASE = path.join(ROOT, 'build/release');
const MADE = path.join(ROOT, 'build/e2e-models');

export const BUNDLED = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');
/**
 * What the page shows when 1,400,000 bytes of it have come: five whole blocks, and as much of the sixth as the engine had
 * asked for when it came. The rest of a block is read from the cache once the block is whole.
 */
export const COME = /1\.(3\d|40) MB of 2\.58 MB/;
export const SLUICE = path.join(RELEASE, 'sluice');

function findMaker(): string | undefined {
  return [path.join(RELEASE, 'make_models'), path.join(RELEASE, 'tests/make_models')].find((file) =>
    fs.existsSync(file),
  );
}

/** Whether there is a native build to compare with; without it such tests are skipped. */
export const nativeBuilt = fs.existsSync(SLUICE) && findMaker() !== undefined;
export const NO_NATIVE = 'the native build is not there (npm run build, or ninja -C build/release)';

/**
 * Writes the tiny models; does nothing without the native build. Several workers may do this at once: each file is
 * renamed into place when it is complete, and the stamp is written when all of them are.
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

/** A model with random weights in one of the maker's shapes. It is kept for the next run, until there is a newer maker. */
function makeShape(shape: string, type: string): { file: string; path: string } {
  const maker = findMaker();
  if (maker === undefined) throw new Error(NO_NATIVE);
  const dir = path.join(MADE, 'big');
  const file = `${shape}-${type.toLowerCase()}.gguf`;
  const made = fs.statSync(path.join(dir, file), { throwIfNoEntry: false });
  if (made === undefined || made.mtimeMs < fs.statSync(maker).mtimeMs) {
    fs.mkdirSync(dir, { recursive: true });
    const fresh = fs.mkdtempSync(path.join(dir, 'fresh-'));
    execFileSync(maker, [fresh, '--big', shape, '--type', type]);
    fs.renameSync(path.join(fresh, file), path.join(dir, file));
    fs.rmdirSync(fresh);
  }
  return { file, path: path.join(dir, file) };
}

/** The shape of a real one, 80 MB. */
export function makeBigModel(): { file: string; path: string } {
  return makeShape('smollm2-135m', 'Q4_0');
}

/** One whose table of the layers' inputs, of which only rows are read, is nearly all of its 8.5 MB. */
export function makeRowsModel(): { file: string; path: string } {
  return makeShape('gemma4-inputs', 'Q8_0');
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

/** A model whose architecture, type and vocabulary differ from the bundled one's. */
export const OTHER = 'qwen2-q4_0.gguf';

/** Runs the program; returns its output. */
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
/** Layers that get inputs of their own and read the keys of others; recurrent ones; weights that are folded. */
export const FAMILY_MODELS = ['gemma4-q8_0.gguf', 'qwen35-q8_0.gguf', 'gemma3-folded-q8_0.gguf'];
/** More ids than a tile of the GEMM, and not a multiple of one. */
export const IDS = Array.from({ length: 37 }, (_, i) => 3 + ((i * 29) % 200));

/** The program's hash of a model's logits after IDS. */
export function programHash(name: string): string {
  const file = modelFiles().get(name);
  if (file === undefined) throw new Error(`make_models wrote no ${name}`);
  return hashOf(file);
}

/** The same for a file. Of a model that writes no text: the numbers of its vector. */
export function hashOf(file: string): string {
  const { makes } = JSON.parse(sluice('inspect', file, '--json')) as { makes: string[] };
  if (!makes.includes('text')) {
    const made = sluice('embed', file, '--tokens', IDS.join(','), '--no-normalize', '--json');
    const { embedding } = JSON.parse(made) as { embedding: number[] };
    return Float32Array.from(embedding).join();
  }
  const printed = sluice('logits', file, '--tokens', IDS.join(','), '--hash', '--json');
  return (JSON.parse(printed) as { hash: string }).hash;
}
