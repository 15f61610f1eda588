// Writes tests/data/hashes.json: hashes of the last position's logits for some ids, which every machine, wasm flavour and
// number of threads must give; of encoders, hashes of the vector that the ids have, and of masked words' logits. Run this
// again only if the arithmetic is meant to change:
//   ninja -C build/release encoder_hashes && node tests/record/record_hashes.mjs [BUILD_DIR]      (default build/release)
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, capture, main, must, write_atomically } from '../../scripts/lib.mjs';

const MODELS = path.join(ROOT, 'build', 'hashes');
const BUNDLED = path.join(ROOT, 'web', 'app', 'public', 'models', 'stories-q8_0.gguf');
const TINY = [
  ...['llama-f32', 'llama-f16', 'llama-q4_0', 'llama-q8_0', 'llama-q6_k', 'llama-q4_k_m'],
  ...['llama-freqs-q8_0', 'llama-odd-q4_0', 'qwen2-q4_0', 'qwen2-bf16', 'qwen2-odd-q8_0'],
  ...['qwen3-q8_0', 'qwen3-f16', 'qwen3-q6_k', 'qwen3-q4_k_m', 'qwen3-odd-bf16'],
  ...['llama-q2_k', 'llama-q3_k', 'llama-iq4_nl', 'llama-iq4_xs'],
  ...['gpt2-f32', 'gpt2-q4_0', 'gpt2-odd-f32', 'gemma3-f32', 'gemma3-q4_0', 'gemma3-wide-f32'],
  ...['gemma4-f32', 'gemma4-q4_0', 'gemma4-odd-f32', 'gemma4-plain-f32'],
  ...['lfm2-f32', 'lfm2-q4_0', 'lfm2-odd-f32', 'qwen35-f32', 'qwen35-q4_0', 'qwen35-odd-f32'],
  ...['llama-folded-q8_0', 'qwen3-folded-f32', 'gemma3-folded-q8_0', 'qwen3moe-folded-f32'],
  ...['qwen3moe-f32', 'qwen3moe-q4_0', 'qwen3moe-q4_k_m', 'qwen3moe-odd-bf16'],
];
const ENCODERS = [
  ...[
    'bert-f32',
    'bert-q8_0',
    'nomic-bert-f32',
    'nomic-bert-q8_0',
    'modern-bert-f32',
    'modern-bert-q8_0',
  ],
  ...['gemma-embedding-f32', 'gemma-embedding-q8_0', 'lfm2-embed-f32', 'lfm2-embed-q8_0'],
  ...['bert-masks-f32', 'bert-masks-q8_0', 'bert-odd-f32', 'gemma-embedding-wide-f32'],
  'lfm2-embed-odd-f32',
];
const IDS = Array.from({ length: 40 }, (_, i) => (i * i * 7 + i * 31 + 3) % 509);

main(async () => {
  const build = path.resolve(process.argv[2] ?? path.join(ROOT, 'build', 'release'));
  const sluice = path.join(build, 'sluice');
  fs.rmSync(MODELS, { recursive: true, force: true });
  await must(path.join(build, 'tests', 'make_models'), [MODELS], { stdio: 'ignore' });
  const env = { ...process.env, SLUICE_KERNELS: 'generic' };
  const hash = (file, kv) => {
    const args = ['logits', file, '--tokens', IDS.join(','), '--kv-type', kv, '--json'];
    const { status, stdout, stderr } = capture(sluice, args, { env });
    if (status !== 0) throw new Failure(`sluice ${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout).hash;
  };
  const hashes = {};
  for (const name of ['stories-q8_0', ...TINY]) {
    const file = name === 'stories-q8_0' ? BUNDLED : path.join(MODELS, `${name}.gguf`);
    hashes[name] = { f32: hash(file, 'f32'), f16: hash(file, 'f16'), q8_0: hash(file, 'q8_0') };
  }
  const rows = Object.entries(hashes).map(
    ([name, row]) => `  ${JSON.stringify(name)}: ${JSON.stringify(row)}`,
  );
  const files = ENCODERS.map((name) => path.join(MODELS, `${name}.gguf`));
  const made = capture(path.join(build, 'tests', 'encoder_hashes'), [IDS.join(','), ...files]);
  if (made.status !== 0) throw new Failure(`encoder_hashes: ${made.stderr}`);
  const pairs = made.stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  const lines = (column) =>
    ENCODERS.flatMap((name, i) =>
      pairs[i][column] === undefined ? [] : `  "${name}": "${pairs[i][column]}"`,
    ).join(',\n');
  const text =
    `{\n "ids": ${JSON.stringify(IDS)},\n "hashes": {\n${rows.join(',\n')}\n },\n` +
    ` "vectors": {\n${lines(0)}\n },\n "masks": {\n${lines(1)}\n }\n}\n`;
  write_atomically(path.join(ROOT, 'tests', 'data', 'hashes.json'), text);
});
