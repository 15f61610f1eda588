// A tiny BERT as a folder of a hub has it, whose answers follow from its tables alone: its layers add nothing, and every
// row of the embedding has numbers of 1 and -1 with the mean 0, which LayerNorm leaves as they are.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { sluice, temporaryDirectory } from './helpers.mjs';
import { bytes_of_safetensors } from './tiny-folder.mjs';

export const WIDTH = 32;
export const TOKENS = [
  ...[
    '[PAD]',
    '[UNK]',
    '[CLS]',
    '[SEP]',
    '[MASK]',
    'the',
    'dog',
    'cat',
    'ran',
    'home',
    'paris',
    'is',
  ],
  ...['of', 'france', 'capital', 'city', 'query', ':', '.', '##s', '##ning'],
];
/** The id of a token, or of [UNK] for another word. */
export const id_of = (token) => (TOKENS.includes(token) ? TOKENS.indexOf(token) : 1);

/** The row of each token in the embedding. That of "cat" differs from that of "dog" in four numbers. */
export const ROWS = (() => {
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const rows = TOKENS.map(() => {
    const row = Array.from({ length: WIDTH }, (_, i) => (i < WIDTH / 2 ? 1 : -1));
    for (let i = WIDTH - 1; i > 0; --i) {
      const j = Math.floor(random() * (i + 1));
      [row[i], row[j]] = [row[j], row[i]];
    }
    return row;
  });
  const cat = [...rows[id_of('dog')]];
  for (const value of [1, -1])
    for (let n = 0; n < 2; ++n) cat[rows[id_of('dog')].indexOf(value, n === 0 ? 0 : 20)] *= -1;
  rows[id_of('cat')] = cat;
  return rows;
})();

/** The vector of a text: the mean of the rows of its tokens, [CLS] and [SEP] included. */
export function vector_of(tokens) {
  const ids = ['[CLS]', ...tokens, '[SEP]'].map(id_of);
  return ROWS[0].map((_, i) => ids.reduce((sum, id) => sum + ROWS[id][i], 0) / ids.length);
}
export const length_of = (vector) => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
export const unit = (vector) => vector.map((x) => x / length_of(vector));

/** The scores with which the model fills any mask. */
export const SCORES = { capital: 5, city: 4.5, '##s': 3, '##ning': 2, dog: 1 };
export function logprob_of(token) {
  const sum = TOKENS.reduce((all, each) => all + Math.exp(SCORES[each] ?? 0), 0);
  return (SCORES[token] ?? 0) - Math.log(sum);
}

const zeros = (...shape) => [shape, new Float32Array(shape.reduce((a, b) => a * b))];
const ones = (n) => [[n], new Float32Array(n).fill(1)];

/** {file: bytes} of the folder. `head`: with the head for masked words; `positions`: tokens of the longest text. */
function files_of(head, pooling, positions) {
  const model = head ? 'bert.' : '';
  const tensors = {
    [`${model}embeddings.word_embeddings.weight`]: [
      [TOKENS.length, WIDTH],
      Float32Array.from(ROWS.flat()),
    ],
    [`${model}embeddings.position_embeddings.weight`]: zeros(positions, WIDTH),
    [`${model}embeddings.token_type_embeddings.weight`]: zeros(2, WIDTH),
  };
  const linear = (name) => {
    tensors[`${name}.weight`] = zeros(WIDTH, WIDTH);
    tensors[`${name}.bias`] = zeros(WIDTH);
  };
  const norm = (name) => {
    tensors[`${name}.weight`] = ones(WIDTH);
    tensors[`${name}.bias`] = zeros(WIDTH);
  };
  norm(`${model}embeddings.LayerNorm`);
  const layer = `${model}encoder.layer.0.`;
  for (const part of ['query', 'key', 'value']) linear(`${layer}attention.self.${part}`);
  for (const part of ['attention.output', 'intermediate', 'output'])
    linear(`${layer}${part}.dense`);
  for (const part of ['attention.output', 'output']) norm(`${layer}${part}.LayerNorm`);
  if (head) {
    linear('cls.predictions.transform.dense');
    norm('cls.predictions.transform.LayerNorm');
    const bias = Float32Array.from(TOKENS, (token) => SCORES[token] ?? 0);
    tensors['cls.predictions.bias'] = [[TOKENS.length], bias];
  }
  const special = TOKENS.slice(0, 5);
  const json = (value) => Buffer.from(JSON.stringify(value));
  const files = {
    'config.json': json({
      architectures: [head ? 'BertForMaskedLM' : 'BertModel'],
      model_type: 'bert',
      vocab_size: TOKENS.length,
      hidden_size: WIDTH,
      intermediate_size: WIDTH,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      max_position_embeddings: positions,
      type_vocab_size: 2,
      hidden_act: 'gelu',
      layer_norm_eps: 1e-12,
      torch_dtype: 'float32',
    }),
    'tokenizer.json': json({
      version: '1.0',
      added_tokens: special.map((content, id) => ({ id, content, special: true })),
      normalizer: {
        type: 'BertNormalizer',
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: null,
        lowercase: true,
      },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: {
        type: 'TemplateProcessing',
        single: [
          { SpecialToken: { id: '[CLS]', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
          { SpecialToken: { id: '[SEP]', type_id: 0 } },
        ],
      },
      model: {
        type: 'WordPiece',
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(TOKENS.map((token, id) => [token, id])),
      },
    }),
    'tokenizer_config.json': json({
      cls_token: '[CLS]',
      sep_token: '[SEP]',
      mask_token: '[MASK]',
      pad_token: '[PAD]',
      unk_token: '[UNK]',
    }),
    'model.safetensors': bytes_of_safetensors(tensors),
  };
  if (pooling === undefined) return files;
  files['modules.json'] = json([
    { path: '', type: 'sentence_transformers.models.Transformer' },
    { path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  ]);
  files['1_Pooling/config.json'] = json({ [`pooling_mode_${pooling}`]: true });
  return files;
}

/** Makes such a folder; returns its path. `pooling`: cls_token, mean_tokens, ..; `more`: {file: text} besides. */
export function bert_folder({ head = true, pooling = undefined, positions = 24, more = {} } = {}) {
  const folder = join(temporaryDirectory(), 'tiny-bert');
  mkdirSync(join(folder, '1_Pooling'), { recursive: true });
  for (const [file, bytes] of Object.entries({ ...files_of(head, pooling, positions), ...more }))
    writeFileSync(join(folder, file), bytes);
  return folder;
}

/** Converts such a folder; returns the path of the GGUF file. `name` is the model's. */
export function bert({ name = 'Tiny', ...given } = {}) {
  const folder = bert_folder(given);
  const path = join(temporaryDirectory(), 'bert.gguf');
  const made = sluice(['convert', folder, path, '--type', 'F32', '--name', name]);
  if (made.status !== 0) throw new Error(made.err);
  return path;
}
