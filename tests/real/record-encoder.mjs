// Writes tests/data/all-minilm-l6-v2.json, the answers for the real encoder: of 13 texts the ids and the first numbers of
// the vector by PyTorch in float32, copied from ../shared; and the hashes of all vectors, which are computed here. Run this
// again only if the arithmetic is meant to change:
//   node tests/real/record-encoder.mjs
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, ROOT, main, read_json, write_atomically } from '../../scripts/lib.mjs';
import { converted_encoder, real_encoder } from '../../scripts/real-encoder.mjs';
import { ANSWERS, TYPES, hash_of, vectors_of } from './encoder_vectors.mjs';

const SOURCE = path.join(ROOT, '../shared/models/real/all-minilm-l6-v2.json');
const NUMBERS = 32;

main(async () => {
  const source = read_json(SOURCE);
  if (source === null) throw new Failure(`${SOURCE} is missing`);
  const texts = source.cases.map(({ text, ids, embedding }) => ({
    text,
    ids,
    embedding: embedding.slice(0, NUMBERS),
  }));
  const { folder } = await real_encoder();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-encoder-'));
  try {
    const plain = texts.map(({ text }) => text);
    const env = { SLUICE_KERNELS: 'generic' };
    const hashes = TYPES.map((type) => {
      const file = converted_encoder(path.join(ROOT, 'build/release/sluice'), folder, type, dir);
      return [type, hash_of(vectors_of(file, plain, dir, { env }))];
    });
    const rows = texts.map((one) => `  ${JSON.stringify(one)}`).join(',\n');
    const record = JSON.stringify(Object.fromEntries(hashes));
    write_atomically(ANSWERS, `{"texts": [\n${rows}\n],\n"hashes": ${record}}\n`);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
});
