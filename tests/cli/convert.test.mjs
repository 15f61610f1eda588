// Tests of `sluice convert`: a folder that the test makes becomes a file that runs.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bert_folder } from './bert-folder.mjs';
import { events, optional, shell, sluice, temporaryDirectory } from './helpers.mjs';

const width = 32;
const layers = 1;
const vocabulary = 258;

/** The character that stands for a byte in vocabularies of bytes (GPT-2's alphabet). */
function byteCharacters() {
  const shown = (b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(shown(b) ? b : next++));
}

function tokenizer() {
  const vocab = Object.fromEntries(byteCharacters().map((text, id) => [text, id]));
  vocab.th = 256;
  return {
    added_tokens: [{ id: 257, content: '<|end|>', special: true }],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: { type: 'ByteLevel', add_prefix_space: true },
    model: { type: 'BPE', byte_fallback: false, vocab, merges: ['t h'] },
  };
}

const config = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: width,
  intermediate_size: width,
  num_hidden_layers: layers,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
  hidden_act: 'silu',
  vocab_size: vocabulary,
  tie_word_embeddings: true,
};

function safetensors(shapes) {
  const header = {};
  let at = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    const bytes = 4 * shape.reduce((a, b) => a * b, 1);
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const values = Float32Array.from({ length: at / 4 }, (_, i) => ((i * 37) % 101) / 101 - 0.5);
  return Buffer.concat([length, text, Buffer.from(values.buffer)]);
}

function folder(changes = {}, name = 'small-model') {
  const path = join(temporaryDirectory(), name);
  mkdirSync(path, { recursive: true });
  const shapes = { 'model.embed_tokens.weight': [vocabulary, width], 'model.norm.weight': [width] };
  const at = 'model.layers.0.';
  for (const name of ['input_layernorm', 'post_attention_layernorm'])
    shapes[`${at}${name}.weight`] = [width];
  for (const name of ['self_attn.q', 'self_attn.k', 'self_attn.v', 'self_attn.o'])
    shapes[`${at}${name}_proj.weight`] = [width, width];
  for (const name of ['mlp.gate', 'mlp.up', 'mlp.down'])
    shapes[`${at}${name}_proj.weight`] = [width, width];
  writeFileSync(join(path, 'config.json'), JSON.stringify({ ...config, ...changes }));
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(tokenizer()));
  writeFileSync(join(path, 'model.safetensors'), safetensors(shapes));
  return path;
}

/** A folder of DistilBERT, which fills in masked words and goes on from no prompt. */
function maskedFolder() {
  const path = join(temporaryDirectory(), 'small-masked');
  mkdirSync(path);
  const vocab = Object.fromEntries(
    ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'a', '##b'].map((text, id) => [text, id]),
  );
  const rows = Object.keys(vocab).length;
  const at = 'distilbert.transformer.layer.0.';
  const shapes = {
    'distilbert.embeddings.word_embeddings.weight': [rows, width],
    'distilbert.embeddings.position_embeddings.weight': [16, width],
    'vocab_projector.bias': [rows],
  };
  const linear = ['attention.q_lin', 'attention.k_lin', 'attention.v_lin', 'attention.out_lin'];
  for (const name of [...linear, 'ffn.lin1', 'ffn.lin2']) {
    shapes[`${at}${name}.weight`] = [width, width];
    shapes[`${at}${name}.bias`] = [width];
  }
  shapes['vocab_transform.weight'] = [width, width];
  shapes['vocab_transform.bias'] = [width];
  for (const name of [
    'distilbert.embeddings.LayerNorm',
    `${at}sa_layer_norm`,
    `${at}output_layer_norm`,
    'vocab_layer_norm',
  ]) {
    shapes[`${name}.weight`] = [width];
    shapes[`${name}.bias`] = [width];
  }
  const config = {
    architectures: ['DistilBertForMaskedLM'],
    activation: 'gelu',
    dim: width,
    hidden_dim: width,
    n_heads: 2,
    n_layers: 1,
    max_position_embeddings: 16,
    vocab_size: rows,
  };
  const words = {
    added_tokens: [],
    normalizer: { type: 'BertNormalizer', lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
    model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', vocab },
  };
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(words));
  writeFileSync(join(path, 'model.safetensors'), safetensors(shapes));
  return path;
}

describe('sluice convert', () => {
  it('makes a file that runs', () => {
    const from = folder();
    const to = join(temporaryDirectory(), 'small.gguf');
    const { status, out, err } = sluice(['convert', from, to, '--type', 'q8_0']);
    assert.equal(status, 0, err);
    assert.match(err, /^sluice: no chat template: sluice chat guesses.*\n$/);
    assert.match(
      out,
      /^wrote .*small\.gguf: .* kB, Q8_0, 11 tensors; try: sluice run .*small\.gguf\n$/,
    );
    assert.equal(sluice(['run', to, '-p', 'the', '-n', '2', '--temp', '0']).status, 0);
    assert.match(sluice(['inspect', to]).out, /Small Model/);
  });

  it('names a command that the model fits', () => {
    const to = join(temporaryDirectory(), 'masked.gguf');
    const { status, out, err } = sluice(['convert', maskedFolder(), to]);
    assert.equal(status, 0, err);
    assert.match(out, /; try: sluice fill-mask .*masked\.gguf -p TEXT\n$/);
    assert.match(err, /other programs refuse the file/);
  });

  it('puts names in quotes where it shows a command to type', () => {
    const to = join(temporaryDirectory(), "it's my model.gguf");
    const { out } = sluice(['convert', folder(), to]);
    const [, command] = /; try: (.*)\n$/.exec(out);
    const typed = shell(`${command.replace('sluice ', '"$SLUICE" ')} -p the -n 1 --temp 0`);
    assert.equal(typed.status, 0, typed.err);
    const spaced = join(temporaryDirectory(), 'a folder');
    renameSync(folder(), spaced);
    const hint = `; sluice convert '${spaced}' OUT.gguf makes a GGUF file of it`;
    assert.ok(sluice(['run', spaced, '-p', 'the']).err.includes(hint));
  });

  it('tells of it in JSON, and gives the file a name', () => {
    const to = join(temporaryDirectory(), 'small.gguf');
    const { status, out } = sluice([
      'convert',
      folder(),
      to,
      '--name',
      'Mine',
      '-t',
      '1',
      '--json',
    ]);
    assert.equal(status, 0);
    const [told] = events(out);
    assert.deepEqual(told, {
      file: to,
      bytes: readFileSync(to).length,
      type: 'F16',
      class: 'LlamaForCausalLM',
      architecture: 'llama',
      tensors: 11,
      remarks: [
        'no chat template: sluice chat guesses one by the family; sluice edit --template FILE sets one',
      ],
    });
    assert.match(sluice(['inspect', to]).out, /Mine/);
  });

  it('refuses by name, and leaves no file', () => {
    const directory = temporaryDirectory();
    const to = join(directory, 'small.gguf');
    const refused = (from, code, status, reason, ...more) => {
      const done = sluice(['convert', from, to, '--json', ...more]);
      assert.equal(done.status, status, done.err);
      const [event] = events(done.out);
      assert.equal(event.code, code);
      assert.match(event.message, reason);
      assert.match(done.err, /^sluice: error: /);
    };
    refused(folder({ hidden_act: 'relu' }), 'unsupported_model', 3, /hidden_act relu/);
    refused(folder({ hidden_size: 64 }), 'bad_file', 3, /has the shape \[258, 32\]/);
    refused(join(directory, 'missing'), 'bad_file', 3, /No such file/);
    refused(directory, 'bad_file', 3, /no config\.json/);
    refused(to, 'bad_file', 3, /No such file/);
    refused(folder(), 'invalid_argument', 2, /expected auto, F32/, '--type', 'Q9');
    assert.equal(existsSync(to), false);
    assert.deepEqual(readdirSync(directory), []);
  });

  it('says which file of the folder is none', () => {
    const to = join(temporaryDirectory(), 'small.gguf');
    const refused = (from, reason) => {
      const { status, err } = sluice(['convert', from, to]);
      assert.equal(status, 3);
      assert.match(err, reason);
    };
    const empty = folder();
    writeFileSync(join(empty, 'tokenizer.json'), '');
    refused(empty, /tokenizer\.json: it is empty; a file of a Hugging Face model is expected/);
    // A cache has links to what it doesn't hold.
    const dangling = folder();
    symlinkSync('missing', join(dangling, 'tokenizer_config.json'));
    refused(dangling, /can't open .*tokenizer_config\.json: No such file/);
  });

  it('writes over no file of the folder that it converts', () => {
    const from = folder();
    const model = join(from, 'model.safetensors');
    const before = readFileSync(model);
    const link = join(temporaryDirectory(), 'link.gguf');
    symlinkSync(model, link);
    for (const to of [model, link]) {
      const { status, err } = sluice(['convert', from, to]);
      assert.equal(status, 2);
      assert.match(err, /it is model\.safetensors of the folder that is converted; give/);
    }
    assert.deepEqual(readFileSync(model), before);
    const inside = join(from, 'small.gguf');
    for (const time of ['first', 'second'])
      assert.equal(sluice(['convert', from, inside]).status, 0, time);
  });

  it('takes the name of the folder above where its own says nothing', () => {
    const to = join(temporaryDirectory(), 'named.gguf');
    const hash = '0123456789abcdef0123456789abcdef01234567';
    for (const [name, told] of [
      ['big-dog/model', 'Big Dog'],
      [`models--owner--red-door/snapshots/${hash}`, 'Red Door'],
    ]) {
      assert.equal(sluice(['convert', folder({}, name), to]).status, 0);
      assert.equal(
        JSON.parse(sluice(['inspect', to, '--json']).out).metadata['general.name'],
        told,
      );
    }
  });

  const bert = optional('models/hf/bert');
  it('says how an encoder is used', { skip: bert.skip }, () => {
    const to = join(temporaryDirectory(), 'bert.gguf');
    const told = (from, command) => {
      const { status, out, err } = sluice(['convert', from, to]);
      assert.equal(status, 0, err);
      assert.ok(out.endsWith(`; try: sluice ${command} ${to} -p TEXT\n`), out);
      assert.doesNotMatch(err, /chat template|run it yet|llama-embedding/);
    };
    told(bert.path, 'fill-mask');
    told(bert_folder({ head: false }), 'embed');
    const json = sluice(['convert', bert.path, to, '--json']);
    assert.doesNotMatch(json.out, /run it yet/);
  });

  it('says what to write instead', () => {
    const from = folder();
    const to = join(temporaryDirectory(), 'out.gguf');
    const told = (args, reason) => {
      const { status, err } = sluice(args);
      assert.notEqual(status, 0);
      assert.match(err, reason);
      assert.equal(existsSync(to), false);
    };
    told(['convert', to, from], /the folder comes first: sluice convert /);
    told(['convert', 'qwen3-0.6b', to], /is a GGUF file already.*hf:OWNER\/REPO/);
    told(['convert', from, '-o', to], /stands behind the folder/);
    told(['convert', from, '--outfile', to], /stands behind the folder/);
    const hint = /sluice convert \S*small-model OUT\.gguf makes a GGUF file of it/;
    for (const given of [from, join(from, 'model.safetensors')]) {
      told(['run', given, '-p', 'the'], hint);
      told(['inspect', given], hint);
      told(['quantize', given, to, '--type', 'Q8_0'], hint);
      told(['imatrix', given, to, '-f', join(from, 'config.json')], hint);
    }
    const done = sluice(['convert', from, to, '--outtype', 'f32', '--json']);
    assert.equal(events(done.out)[0].type, 'F32', done.err);
  });

  it('keeps an older file of the name when it fails', () => {
    const to = join(temporaryDirectory(), 'small.gguf');
    writeFileSync(to, 'GGUF old');
    assert.equal(sluice(['convert', folder({ hidden_act: 'relu' }), to]).status, 3);
    assert.equal(readFileSync(to, 'utf8'), 'GGUF old');
    assert.equal(sluice(['convert', folder(), to]).status, 0);
    assert.ok(readFileSync(to).length > 1000);
  });
});
