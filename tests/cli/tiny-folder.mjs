// A tiny model as a folder of a hub has it: config.json, tokenizer.json and weights in safetensors.

/** The bytes of a file of float32 tensors: {name: [shape, numbers]}. */
export function bytes_of_safetensors(tensors) {
  const header = {};
  let end = 0;
  for (const [name, [shape, numbers]] of Object.entries(tensors)) {
    header[name] = { dtype: 'F32', shape, data_offsets: [end, (end += 4 * numbers.length)] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  const data = Object.values(tensors).map(([, numbers]) => Buffer.from(numbers.buffer));
  return Buffer.concat([size, text, ...data]);
}

/** GPT-2's characters of the 256 bytes. */
function byte_alphabet() {
  const plain = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(plain(byte) ? byte : next++),
  );
}

/**
 * A Llama of one layer: {file: bytes}. `width`: of its states, a multiple of 32. `seed`: of its weights. `shards`: 0 for
 * one file without an index.
 */
export function tiny_folder({ shards = 0, width = 64, seed = 1 } = {}) {
  const tokens = ['<s>', '</s>', ...byte_alphabet()];
  const added_tokens = tokens.slice(0, 2).map((content, id) => ({ id, content, special: true }));
  const json = (value) => Buffer.from(JSON.stringify(value));
  const files = {
    'config.json': json({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      vocab_size: tokens.length,
      hidden_size: width,
      intermediate_size: width,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 2,
      max_position_embeddings: 128,
      rms_norm_eps: 1e-5,
      rope_theta: 10000,
      bos_token_id: 0,
      eos_token_id: 1,
      torch_dtype: 'float32',
      tie_word_embeddings: true,
    }),
    'tokenizer.json': json({
      version: '1.0',
      added_tokens,
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      decoder: { type: 'ByteLevel' },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: [],
      },
    }),
  };
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  const matrix = (rows) => [[rows, width], Float32Array.from({ length: rows * width }, random)];
  const ones = () => [[width], new Float32Array(width).fill(1)];
  const layer = 'model.layers.0.';
  const tensors = {
    'model.embed_tokens.weight': matrix(tokens.length),
    'model.norm.weight': ones(),
    [`${layer}input_layernorm.weight`]: ones(),
    [`${layer}post_attention_layernorm.weight`]: ones(),
  };
  for (const name of ['q', 'k', 'v', 'o'])
    tensors[`${layer}self_attn.${name}_proj.weight`] = matrix(width);
  for (const name of ['gate', 'up', 'down'])
    tensors[`${layer}mlp.${name}_proj.weight`] = matrix(width);
  if (shards === 0) {
    files['model.safetensors'] = bytes_of_safetensors(tensors);
    return files;
  }
  const name_of = (shard) =>
    `model-${String(shard + 1).padStart(5, '0')}-of-${String(shards).padStart(5, '0')}.safetensors`;
  const all = Object.entries(tensors);
  const weight_map = {};
  for (let shard = 0; shard < shards; ++shard) {
    const some = all.filter((_, index) => Math.floor((index * shards) / all.length) === shard);
    files[name_of(shard)] = bytes_of_safetensors(Object.fromEntries(some));
    for (const [tensor] of some) weight_map[tensor] = name_of(shard);
  }
  files['model.safetensors.index.json'] = json({ metadata: {}, weight_map });
  return files;
}
