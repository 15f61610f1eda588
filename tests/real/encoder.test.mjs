// A real encoder, all-MiniLM-L6-v2, converted and run natively, against tests/data/all-minilm-l6-v2.json. real-model.mjs
// runs this.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { read_json } from '../../scripts/lib.mjs';
import { ANSWERS, hash_of, ids_of, vectors_of } from './encoder_vectors.mjs';

/** The folder of the converted files. */
const DIR = process.env.SLUICE_REAL_VECTORS;
const skip = DIR ? false : 'node tests/real/real-model.mjs runs this';
const { texts, hashes } = read_json(ANSWERS);
const plain = texts.map(({ text }) => text);
/** How far a number may be from that of float32 arithmetic in PyTorch. */
const LIMITS = { F32: 1e-5, Q8_0: 0.02 };
const file_of = (type) => path.join(DIR, `all-minilm-l6-v2-${type.toLowerCase()}.gguf`);

test('the ids of every text', { skip }, () => {
  for (const { text, ids } of texts) assert.deepEqual(ids_of(file_of('F32'), text), ids, text);
});

for (const [type, limit] of Object.entries(LIMITS)) {
  test(`${type}: vectors are those of float32 arithmetic, about`, { skip }, (t) => {
    const vectors = vectors_of(file_of(type), plain, DIR);
    const width = vectors.length / texts.length;
    const distances = texts.map(({ embedding }, i) =>
      Math.max(...embedding.map((x, k) => Math.abs(x - vectors[i * width + k]))),
    );
    const farthest = Math.max(...distances);
    t.diagnostic(`real-encoder: ${type} is at most ${farthest.toExponential(1)} away`);
    assert.ok(farthest <= limit, `${farthest}`);
    assert.equal(hash_of(vectors), hashes[type]);
  });

  test(`${type}: one hash, one thread and the plain kernels`, { skip }, () => {
    const how = { how: ['-t', '1'], env: { SLUICE_KERNELS: 'generic' } };
    assert.equal(hash_of(vectors_of(file_of(type), plain, DIR, how)), hashes[type]);
  });
}
