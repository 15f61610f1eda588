// sluice inspect, tokenize, logits and bench with the bundled model.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { bert } from './bert-folder.mjs';
import {
  bundled,
  damaged,
  events,
  gguf,
  kv,
  optional,
  shell,
  sluice,
  temporary,
} from './helpers.mjs';

const json = (...args) => {
  const { status, out, err } = sluice([...args, '--json']);
  assert.equal(status, 0, err);
  return JSON.parse(out);
};

describe('inspect', () => {
  it('shows the whole header in 80 columns', () => {
    const { status, out, err } = sluice(['inspect', bundled]);
    assert.equal(status, 0);
    assert.equal(err, '');
    for (const part of [
      'architecture       llama',
      'Memory',
      'Types',
      'Metadata',
      'Tensors',
      'Q8_0',
      'layers 0 to 4',
      'token_embd.weight',
      'attn_q.weight',
      'tokenizer.ggml.model',
    ]) {
      assert.ok(out.includes(part), part);
    }
    for (const line of out.split('\n').slice(1)) assert.ok([...line].length <= 80, line);
  });
  it('--json has the documented shape', () => {
    const info = json('inspect', bundled);
    assert.equal(info.architecture, 'llama');
    assert.equal(info.files, 1);
    assert.equal(info.fileBytes, statSync(bundled).size);
    assert.equal(info.supported, true);
    assert.equal(info.tokenizer.model, 'gpt2');
    assert.equal(info.tokenizer.tokens, info.vocab);
    assert.equal(info.heads * info.headDim, info.embedding);
    assert.equal(
      Object.values(info.types).reduce((n, type) => n + type.tensors, 0),
      info.tensors.length,
    );
    assert.equal(
      Object.values(info.types).reduce((n, type) => n + type.bytes, 0),
      info.tensors.reduce((n, tensor) => n + tensor.bytes, 0),
    );
    assert.equal(
      info.parameters,
      info.tensors.reduce((n, tensor) => n + tensor.shape.reduce((a, b) => a * b, 1), 0),
    );
    const { weights, kv, activations, constant, total } = info.memory;
    assert.equal(weights + kv + activations + constant, total);
    for (const name of ['name', 'dataBytes', 'contextLength', 'layers', 'kvHeads', 'metadata'])
      assert.ok(name in info, name);
  });
  it('plans memory for the context that is asked for', () => {
    const kv = (...args) => json('inspect', bundled, ...args).memory.kv;
    assert.ok(kv('-c', '4096') > kv('-c', '512'));
    assert.ok(kv('--kv-type', 'f32') > kv('--kv-type', 'f16'));
    assert.match(sluice(['inspect', '-c', '2048']).out, /context of 2048/);
  });
  it('says what is held at the start, and what that grows to', () => {
    const { weights, constant, kv, start, total } = json('inspect', '-c', '4096').memory;
    assert.equal(start, weights + constant);
    const { out } = sluice(['inspect', '-c', '4096']);
    assert.match(out, /^ {2}at the start .* held with an empty context$/m);
    assert.match(out, /^ {2}KV cache .* grows to this, .* for each 256 tokens$/m);
    assert.match(out, /^ {2}at most .* with the context full$/m);
    // A run holds the memory at the start and one chunk of the cache.
    const done = sluice(['run', '--json', '-n', '1', '-c', '4096']).out.trim().split('\n').pop();
    const { residentBytes } = JSON.parse(done).stats;
    assert.ok(residentBytes >= weights && residentBytes <= start + kv / 16, String(residentBytes));
    assert.ok(total > start + kv);
  });
  const nets = optional('models/tiny/tiny-qwen35-f32.gguf');
  it('says apart what of the state does not grow with the text', { skip: nets.skip }, () => {
    const memory = (context) => json('inspect', nets.path, '-c', context).memory;
    const { kv, kvChunk } = memory('8192');
    assert.equal(memory('8448').kv - kv, kvChunk);
    const { out } = sluice(['inspect', nets.path, '-c', '8192']);
    assert.match(out, /^ {2}KV cache .* grows to this, .* for each 256 tokens$/m);
    assert.match(out, /^ {2}windows, states .* at most, however long the text is$/m);
    assert.ok(!sluice(['inspect']).out.includes('windows, states'));
    const linear = json('inspect', '-c', '4096').memory;
    assert.equal(linear.kv, 16 * linear.kvChunk);
  });
  it('speaks of no windows where an encoder with a short context has none', () => {
    for (const context of ['24', '8']) {
      const { out } = sluice(['inspect', bert(), '-c', context]);
      assert.match(out, /^ {2}keys and values .* grows to this, .* for each 256 tokens$/m);
      assert.ok(!out.includes('windows, states'), out);
    }
  });
  const rows = optional('models/tiny/tiny-gemma4-f32.gguf');
  it('says which bytes stay in the file', { skip: rows.skip }, () => {
    const info = json('inspect', rows.path);
    const table = info.tensors.find(({ name }) => name === 'per_layer_token_embd.weight');
    assert.equal(info.memory.leftOutBytes, table.bytes);
    const { out } = sluice(['inspect', rows.path]);
    assert.match(out, /^ {2}weights .* 393 kB more stay in the file, read row by row$/m);
    for (const line of out.split('\n').slice(1)) assert.ok([...line].length <= 80, line);
    assert.equal(json('inspect').memory.leftOutBytes, 0);
    assert.match(sluice(['inspect']).out, /^ {2}weights +[0-9.]+ MB$/m);
  });
  it('shows files of types and families that are not computed', () => {
    for (const name of ['tiny-llama-iq2_s.gguf', 'tiny-gemma2-q8_0.gguf']) {
      const model = optional(`models/tiny/${name}`);
      if (model.skip) continue;
      const info = json('inspect', model.path);
      assert.ok(info.tensors.length > 0);
      assert.equal(info.supported, false);
      assert.match(info.error.code, /^unsupported_/);
      assert.match(sluice(['inspect', model.path]).out, /can't be run here/);
      assert.equal(sluice(['run', model.path, '-n', '1']).status, 3);
    }
  });
});

describe('inspect --all', () => {
  it('shows arrays and texts whole, and each tensor with its place', () => {
    const { status, out } = sluice(['inspect', bundled, '--all']);
    assert.equal(status, 0);
    const info = json('inspect', bundled, '--all');
    const { first, count } = info.metadata['tokenizer.ggml.merges'];
    assert.equal(first.length, count);
    for (const merge of [first[0], first[count >> 1], first[count - 1]])
      assert.ok(out.includes(` ${JSON.stringify(merge)}`), merge);
    assert.ok(out.includes(`"${info.metadata['general.description']}"`));
    for (const { name, type, shape, offset } of info.tensors)
      assert.match(out, new RegExp(`^ {2}${name} +${type} +${shape.join(' x ')} +${offset}$`, 'm'));
    assert.ok(!out.includes('layers 0 to'));
    assert.equal(json('inspect', bundled).metadata['tokenizer.ggml.merges'].first.length, 8);
  });
  it('shows odd keys, names and values safely', () => {
    const file = temporary(
      'odd.gguf',
      gguf({ 'k\u001b[31m': kv.string('a\u001b[2J\nb'), list: kv.strings(['\u202ex', '']) }, [
        { name: 't\u0007\u001b[1m', type: 0, shape: [1], bytes: 4 },
      ]),
    );
    for (const args of [[], ['--all'], ['--tensor', '*'], ['--tensor', '*', '--json']]) {
      const { status, out } = sluice(['inspect', file, ...args]);
      assert.equal(status, 0);
      for (const sign of ['\u001b', '\u0007', '\u202e']) assert.ok(!out.includes(sign), out);
    }
    assert.match(sluice(['inspect', file, '--all']).out, /^ {2}k\?\[31m {2}"a\?\[2J\nb"$/m);
  });
  it('files without an architecture are shown, without rows that they lack', () => {
    const { status, out } = sluice([
      'inspect',
      temporary('plain.gguf', gguf({ 'general.type': kv.string('imatrix'), none: kv.strings([]) })),
    ]);
    assert.equal(status, 0);
    assert.match(out, /^ {2}header {13}2 fields, 0 tensors$/m);
    assert.match(out, /^ {2}none +0 string: none$/m);
    for (const row of ['layers', 'attention', 'vocabulary', 'Types', 'parameters'])
      assert.ok(!out.includes(row));
    assert.match(out, /^An importance matrix, not a model$/m);
    assert.doesNotMatch(out, /can't be run here/);
  });
  it('names the file type, shows line ends, and types by their bytes', () => {
    const tensor = (name, type, size, bytes) => ({ name, type, shape: [size], bytes });
    const { out } = sluice([
      'inspect',
      temporary(
        'kinds.gguf',
        gguf({ 'general.file_type': kv.u32(15), text: kv.string('a\nb') }, [
          tensor('a', 1, 2, 4),
          tensor('b', 0, 64, 256),
        ]),
      ),
    ]);
    assert.match(out, /^ {2}general\.file_type +15 \(Q4_K_M\)$/m);
    assert.match(out, /^ {2}text +"a\\nb"$/m);
    assert.match(out, /^ {2}F32 +256 B .*\n {2}F16 +4 B /m);
  });
});

describe('inspect --tensor', () => {
  const half = optional('models/quantize/edges-f32.gguf');
  it('shows what its numbers are like', () => {
    const [it, ...others] = json('inspect', bundled, '--tensor', 'output_norm.weight').tensors;
    assert.equal(others.length, 0);
    const { tensors, dataOffset } = json('inspect', bundled);
    const { offset } = tensors.find(({ name }) => name === 'output_norm.weight');
    const bytes = readFileSync(bundled).subarray(dataOffset + offset);
    const values = Array.from({ length: 192 }, (_, i) => bytes.readFloatLE(4 * i));
    const sorted = values.toSorted((a, b) => a - b);
    const mean = values.reduce((a, b) => a + b) / 192;
    assert.deepEqual(
      [it.name, it.type, it.shape, it.elements],
      ['output_norm.weight', 'F32', [192], 192],
    );
    assert.deepEqual([it.min, it.max], [sorted[0], sorted[191]]);
    assert.ok(Math.abs(it.mean - mean) < 1e-12);
    const median = it.percentiles.find(([percent]) => percent === 50)[1];
    assert.ok(Math.abs(median - (sorted[95] + sorted[96]) / 2) < 1e-12);
    const { bins, below, above, low, high } = it.histogram;
    assert.equal(bins.reduce((a, b) => a + b) + below + above, 192);
    assert.ok(low >= it.min && high <= it.max);

    const { out } = sluice(['inspect', bundled, '--tensor', 'output_norm.weight']);
    assert.ok(
      out.startsWith(`output_norm.weight: F32, 192, 768 bytes at byte ${dataOffset + offset} `),
    );
    for (const row of ['numbers', 'zero', 'min', 'max', 'mean', 'deviation', 'RMS'])
      assert.match(out, new RegExp(`^ {2}${row} `, 'm'));
    assert.match(out, /^ {2}largest \|x\| +[\d.]+$/m);
    assert.match(out, /^ +50\.0% /m);
    assert.match(out, /^ +[\d.]+ +\d+ #{50}$/m);
    for (const line of out.split('\n')) assert.ok(line.length <= 80, line);
    for (const threads of ['1', '3'])
      assert.equal(
        sluice(['inspect', bundled, '--tensor', 'output_norm.weight', '-t', threads]).out,
        out,
      );
  });
  it('shows several that a pattern names as a table', () => {
    const { out } = sluice(['inspect', bundled, '--tensor', 'blk.?.ffn_*.weight']);
    const [head, ...rows] = out.trimEnd().split('\n');
    assert.match(head, /^tensor +type +min +max +mean +RMS$/);
    assert.equal(rows.length, 20);
    for (const line of rows) assert.match(line, /^blk\.\d\.ffn_\w+\.weight +\w+( +-?[\d.e-]+){4}$/);
    assert.equal(json('inspect', bundled, '--tensor', 'blk.*').tensors.length, 45);
    // Each --tensor counts, and a tensor once.
    const both = [
      '--tensor',
      'output_norm.weight',
      '--tensor',
      '*norm*',
      '--tensor',
      'blk.?.attn_q*',
    ];
    assert.equal(json('inspect', bundled, ...both).tensors.length, 16);
    assert.equal(json('inspect', bundled, ...both).tensors[0].name, 'output_norm.weight');
  });
  it('counts what is no number', () => {
    const nan = damaged('nan-norm.gguf', 'output_norm.weight', 0, Buffer.from([0, 0, 0xc0, 0x7f]));
    const [{ nan: n, elements, min }] = json(
      'inspect',
      nan,
      '--tensor',
      'output_norm.weight',
    ).tensors;
    assert.deepEqual([n, elements], [1, 192]);
    assert.ok(Number.isFinite(min));
    assert.match(
      sluice(['inspect', nan, '--tensor', 'output_norm.weight']).out,
      /^ {2}NaN +1 \(0\.52%\)$/m,
    );
    assert.match(sluice(['inspect', nan, '--tensor', 'output*']).out, /^output_norm\.weight/);
    const none = gguf({}, [{ name: 'none', type: 0, shape: [8], bytes: 32 }]);
    none.fill(0xff, none.length - 32);
    const { out } = sluice(['inspect', temporary('none.gguf', none), '--tensor', 'n*e']);
    assert.match(out, /^ {2}NaN +8 \(100\.00%\)$/m);
    const two = gguf({}, [
      { name: 'none', type: 0, shape: [8], bytes: 32 },
      { name: 'some', type: 0, shape: [8], bytes: 32 },
    ]);
    two.fill(0xff, two.length - 64, two.length - 32);
    const table = sluice(['inspect', temporary('two.gguf', two), '--tensor', '*']).out;
    assert.match(
      table,
      /^none +F32( +-){4}\n {2}8 of them are NaN or infinite\nsome +F32( +0){4}$/m,
    );
  });
  it('names what is near an unknown one, and refuses types that are not computed', () => {
    const refused = (file, name) => {
      const { status, out, err } = sluice(['inspect', file, '--tensor', name, '--json']);
      return { status, code: events(out)[0].code, err };
    };
    const near = refused(bundled, 'blk.0.attn_k.wieght');
    assert.deepEqual([near.status, near.code], [2, 'not_found']);
    assert.match(near.err, /did you mean blk\.0\.attn_k\.weight\?/);
    assert.equal(refused(bundled, 'no.*').code, 'not_found');
    assert.match(refused(bundled, 'no.*').err, /no tensor fits the pattern 'no\.\*'/);
    assert.match(refused(bundled, 'attn_q').err, /no tensor 'attn_q'; '\*attn_q\*' fits 5 tensors/);
    assert.match(refused(bundled, 'attn_q*').err, /pattern 'attn_q\*'; '\*attn_q\*' fits 5/);
    const tensors = [
      { name: 'odd', type: 16, shape: [256], bytes: 66 },
      { name: 'plain', type: 0, shape: [2], bytes: 8 },
    ];
    const file = temporary('types.gguf', gguf({}, tensors));
    const odd = refused(file, 'odd');
    assert.deepEqual([odd.status, odd.code], [3, 'unsupported_type']);
    assert.match(odd.err, /odd has type IQ2_XXS/);
    assert.match(
      sluice(['inspect', file, '--tensor', '*']).out,
      /^odd +IQ2_XXS +not computed here$/m,
    );
    assert.deepEqual(
      json('inspect', file, '--tensor', '*').tensors.map(({ computed }) => computed),
      [false, true],
    );
  });
  it('reads every kind of row', { skip: half.skip }, () => {
    for (const { name, elements, nan, infinite } of json('inspect', half.path, '--tensor', '*')
      .tensors)
      assert.ok(elements > 0 && nan + infinite <= elements, name);
  });
  const has_script = shell('script --version').out.includes('util-linux');
  it(
    'draws as wide as the terminal is',
    { skip: !has_script && "needs util-linux's script" },
    () => {
      const longest = (columns) => {
        const { out } = shell(
          `script -qec 'stty cols ${columns}; "$SLUICE" inspect --tensor output_norm.weight' /dev/null`,
        );
        return Math.max(
          ...out.split('\n').map((line) => line.replace('\r', '').replace(/[^#]/g, '').length),
        );
      };
      assert.equal(longest(200), 170);
      assert.equal(longest(80), 50);
    },
  );
});

describe('tokenize', () => {
  const text = 'Once upon a time, a caf\u00e9 \u{1f600}';
  it('prints ids on one line, and ids with pieces as JSON', () => {
    const { ids, pieces } = json('tokenize', '-p', text);
    assert.equal(ids.length, pieces.length);
    assert.ok(ids.length > 4);
    assert.equal(sluice(['tokenize', '-p', text]).out, ids.join(' ') + '\n');
    assert.equal(json('tokenize', '-p', 'Once upon a time').pieces.join(''), 'Once upon a time');
  });
  it('takes a file byte for byte, and each of its lines with --lines', () => {
    const lines = ['Once upon', '', 'a time\r', 'the end'];
    const file = temporary('lines.txt', lines.join('\n') + '\n');
    assert.deepEqual(
      json('tokenize', '-f', file).ids,
      json('tokenize', '-p', lines.join('\n') + '\n').ids,
    );
    const each = sluice(['tokenize', '-f', file, '--lines', '--json'])
      .out.trimEnd()
      .split('\n')
      .map((l) => JSON.parse(l));
    assert.deepEqual(
      each,
      lines.map((line) => json('tokenize', '-p', line)),
    );
    assert.equal(
      sluice(['tokenize', '-f', file, '--lines']).out,
      each.map(({ ids }) => ids.join(' ') + '\n').join(''),
    );
  });
  it('adds BOS and reads special tokens only where asked', () => {
    const special = '<|endoftext|>Hi';
    const plain = json('tokenize', '-p', special).ids;
    const parsed = json('tokenize', '-p', special, '--special').ids;
    const { eos } = json('inspect').tokenizer;
    assert.ok(!plain.includes(eos));
    if (parsed[0] === eos) assert.ok(parsed.length < plain.length);
    const { bos } = json('inspect').tokenizer;
    assert.deepEqual(json('tokenize', '-p', 'Hi', '--bos').ids, [
      bos,
      ...json('tokenize', '-p', 'Hi').ids,
    ]);
  });
  it('takes bytes that are no text', () => {
    const file = temporary('bytes.bin', Buffer.from([0xff, 0x00, 0xc3, 0x28, 0xf0, 0x9f]));
    const { ids, pieces } = json('tokenize', '-f', file);
    assert.ok(ids.length > 0);
    assert.ok(pieces.includes('\ufffd'));
  });
  it('shows pieces beside ids with --pieces', () => {
    const text = 'Hi\n "a\\';
    const { ids, pieces } = json('tokenize', '-p', text);
    const lines = (...args) => sluice(['tokenize', '--pieces', ...args]).out.split('\n');
    const rows = ids.map((id, i) => `${String(id).padStart(8)}  ${JSON.stringify(pieces[i])}`);
    assert.deepEqual(lines('-p', text), [...rows, '']);
    assert.deepEqual(lines('-p', text + '\n' + text, '--lines').at(-2), '');
    const bytes = temporary('half.bin', Buffer.from([0xc3, 0x28, 0x7f]));
    assert.match(lines('-f', bytes).join('\n'), /^ +\d+ {2}"\\xc3"$/m);
    assert.match(lines('-f', bytes).join('\n'), /\\u007f"$/m);
    const { bos } = json('inspect').tokenizer;
    assert.match(lines('-p', 'Hi', '--bos')[0], new RegExp(`^ +${bos} {2}<`));
    assert.deepEqual(json('tokenize', '-p', text, '--pieces'), { ids, pieces });
  });
  it('takes the text behind the model and from a pipe', () => {
    const expected = sluice(['tokenize', '-p', 'Once upon']).out;
    assert.equal(sluice(['tokenize', bundled, 'Once upon']).out, expected);
    assert.equal(sluice(['tokenize', '-m', bundled, 'Once upon']).out, expected);
    assert.equal(shell('printf "Once upon" | "$SLUICE" tokenize').out, expected);
  });
  it('gives no ids for an empty text', () => {
    assert.deepEqual(json('tokenize', '-p', ''), { ids: [], pieces: [] });
  });
});

describe('logits', () => {
  const ids = json('tokenize', '-p', 'Once upon a', '--bos').ids;
  it('has a position for each token of the input', () => {
    const { kernels, positions, hash } = json('logits', '--tokens', ids.join(','), '--top', '4');
    assert.equal(typeof kernels, 'string');
    assert.equal(positions.length, ids.length);
    assert.match(hash, /^[0-9a-f]{16}$/);
    for (const { top } of positions) {
      assert.equal(top.length, 4);
      for (let i = 1; i < 4; ++i) assert.ok(top[i - 1][1] >= top[i][1]);
    }
    assert.equal(positions.at(-1).top[0][0], json('tokenize', '-p', ' time').ids[0]);
  });
  it('agrees with what run says of its first token', () => {
    const { top } = json('logits', '-p', 'Once upon a', '--top', '5').positions.at(-1);
    const line = sluice([
      'run',
      '-p',
      'Once upon a',
      '-n',
      '1',
      '--temp',
      '0',
      '--json',
      '--top-logprobs',
      '5',
    ]).out;
    const token = JSON.parse(line.split('\n')[0]);
    assert.deepEqual(
      top.map(([id]) => id),
      token.top.map(([id]) => id),
    );
    top.forEach(([, logprob], i) => assert.ok(Math.abs(logprob - token.top[i][1]) < 1e-5));
  });
  it('has one hash for text, ids, every number of threads and every batch', () => {
    const hash = sluice(['logits', '-p', 'Once upon a', '--hash']).out;
    assert.match(hash, /^[0-9a-f]{16}\n$/);
    for (const more of [
      ['-t', '1'],
      ['-t', '3'],
      ['--batch', '1'],
      ['--batch', '2'],
      ['-c', '600'],
    ]) {
      assert.equal(
        sluice(['logits', '--tokens', ids.join(','), '--hash', ...more]).out,
        hash,
        more.join(' '),
      );
    }
    assert.equal(json('logits', '-p', 'Once upon a').hash + '\n', hash);
    assert.notEqual(sluice(['logits', '-p', 'Once upon the', '--hash']).out, hash);
  });
  it('prints a table for people', () => {
    const { status, out } = sluice(['logits', '-p', 'Once upon a', '--top', '3']);
    assert.equal(status, 0);
    assert.equal(out.trimEnd().split('\n').length, 6);
    assert.match(out, /hash [0-9a-f]{16}\n$/);
    assert.match(out, /^ +\d+ +-\d+\.\d+ {2}" time"$/m);
    assert.match(sluice(['logits', '-p', 'Hi', '--top', '9999999']).err, /--top/);
  });
  it('with --top 0 has no table', () => {
    const { status, out } = sluice(['logits', '-p', 'Once upon a', '--top', '0']);
    assert.equal(status, 0);
    assert.match(out, /^after 4 tokens, .* kernels\nhash [0-9a-f]{16}\n$/);
    assert.deepEqual(json('logits', '-p', 'a', '--top', '0').positions.at(-1), { top: [] });
  });
  it('takes the text behind the model and from a pipe', () => {
    const hash = sluice(['logits', '-p', 'Once upon a', '--hash']).out;
    assert.equal(sluice(['logits', bundled, 'Once upon a', '--hash']).out, hash);
    assert.equal(shell('printf "Once upon a" | "$SLUICE" logits --hash').out, hash);
  });
  it('refuses more tokens than the context holds', () => {
    const { status, err } = sluice(['logits', '--tokens', '1,2,3,4', '-c', '3']);
    assert.equal(status, 1);
    assert.match(err, /context/);
  });
});

describe('bench --profile', () => {
  it('accounts for the time by phase', () => {
    const result = json('bench', '-p', '40', '-n', '6', '-r', '1', '-t', '2', '--profile');
    const [{ profile }] = result.runs;
    for (const [kind, rate] of [
      ['prompt', 'gmacs'],
      ['decode', 'gbps'],
    ]) {
      const phases = profile[kind];
      const names = phases.map(({ phase }) => phase);
      for (const name of ['q, k, v', 'attention', 'output', 'gate, up', 'down', 'head', 'rest']) {
        assert.ok(names.includes(name), `${kind} has no phase ${name}`);
      }
      // Unpacking is a part of other phases.
      const shares = phases.filter(({ phase }) => phase !== '(unpacking)');
      const sum = shares.reduce((total, { share }) => total + share, 0);
      assert.ok(Math.abs(sum - 1) < 1e-6, `the shares of ${kind} come to ${sum}`);
      for (const { phase, ms, busy } of shares) {
        assert.ok(phase === 'rest' || ms > 0, `${kind}, ${phase}: ${ms} ms`);
        assert.ok(phase === 'rest' || busy > 0, `${kind}, ${phase}: busy ${busy}`);
      }
      assert.ok(phases.find(({ phase }) => phase === 'down')[rate] > 0);
    }
    assert.ok(result.prompt_macs > 0 && result.peak_gmacs['2'] > 0);
  });
});

describe('bench', () => {
  it('--json has the rates and the bandwidth of each number of threads', () => {
    const result = json('bench', '-p', '16', '-n', '4', '-r', '1', '-t', '1,2', '--depth', '8');
    assert.equal(result.model, 'stories-q8_0.gguf');
    assert.ok(result.bytes > 1e6 && result.bytes < statSync(bundled).size);
    assert.equal(typeof result.kernels, 'string');
    assert.deepEqual(
      result.runs.map((run) => run.threads),
      [1, 2],
    );
    for (const run of result.runs) assert.ok(run.prompt_tps > 0 && run.decode_tps > 0);
    assert.deepEqual(Object.keys(result.read_gbps), ['1', '2']);
    for (const rate of Object.values(result.read_gbps)) assert.ok(rate > 0);
  });
  it('prints a table for people', () => {
    const { status, out } = sluice(['bench', '-p', '8', '-n', '2', '-r', '2', '-t', '1']);
    assert.equal(status, 0);
    assert.match(
      out,
      /^.*kernels\n.*\n\nthreads +prompt tokens\/s +decode tokens\/s\n +1 +[\d.]+ +[\d.]+\n/,
    );
    assert.match(out, /^threads +prompt GMAC\/s +kernel GMAC\/s .*memory GB\/s\n +1 /m);
    for (const line of out.split('\n')) assert.ok(line.length <= 80, line);
  });
});
