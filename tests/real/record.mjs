// Writes tests/data/gemma-3-270m.json, the answers for the real model: of 14 texts the SHA-256 and the ids (the texts
// themselves follow from these), 16 tokens to follow each, and for each of these the ten best log-probabilities by exact
// arithmetic (float32, with the weights that the file's numbers stand for). They are copied from ../shared. The hashes of
// the logits after two of the texts are computed here. Run this again only if the arithmetic is meant to change:
//   node tests/real/record.mjs [BUILD_DIR]      (default build/release)
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Failure, ROOT, capture, main, read_json, write_atomically } from '../../scripts/lib.mjs';
import { real_model } from '../../scripts/real-model.mjs';

const SOURCE = path.join(ROOT, '../shared/models/real/gemma-3-270m.json');
const RESULT = path.join(ROOT, 'tests/data/gemma-3-270m.json');
const BEST = 10;
/** The hashed texts: a short one, and the longest, which is more than two of the model's windows of 512 tokens. */
const HASHED = [2, 13];

main(async () => {
  const program = path.join(
    path.resolve(process.argv[2] ?? path.join(ROOT, 'build/release')),
    'sluice',
  );
  const source = read_json(SOURCE);
  if (source === null) throw new Failure(`${SOURCE} is missing`);
  const texts = Object.values(source)[0].map(({ text, prompt, tokens, exact }) => ({
    sha256: createHash('sha256').update(text).digest('hex'),
    prompt,
    tokens,
    // Each step is [number, best first].
    exact: exact.map(([, best]) => best.slice(0, BEST)),
  }));
  const { file } = await real_model();
  const env = { ...process.env, SLUICE_KERNELS: 'generic' };
  const hashes = HASHED.map((text) => {
    const ids = [...texts[text].prompt, ...texts[text].tokens].join(',');
    const args = ['logits', file, '--tokens', ids, '--kv-type', 'f32', '--hash', '--json'];
    const { status, stdout, stderr } = capture(program, args, { env });
    if (status !== 0) throw new Failure(`sluice logits: ${stderr}`);
    return { text, hash: JSON.parse(stdout).hash };
  });
  const rows = (list) => list.map((one) => `  ${JSON.stringify(one)}`).join(',\n');
  write_atomically(
    RESULT,
    `{\n "hashes": [\n${rows(hashes)}\n ],\n "texts": [\n${rows(texts)}\n ]\n}\n`,
  );
});
