// sluice diff: what differs between two files, and its exit status.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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

const diff = (...args) => {
  const { status, out, err } = sluice(['diff', ...args, '--json']);
  assert.ok(status < 2, err);
  const found = JSON.parse(out);
  assert.equal(status, found.equal ? 0 : 1);
  return found;
};

describe('sluice diff', () => {
  it('of a file with itself is empty, with status 0', () => {
    const { equal, fields, fieldsEqual, tensors, tensorsEqual } = diff(bundled, bundled);
    assert.deepEqual({ equal, fields, tensors }, { equal: true, fields: [], tensors: [] });
    assert.ok(fieldsEqual > 20 && tensorsEqual === 47);
    const { status, out } = sluice(['diff', bundled, bundled]);
    assert.equal(status, 0);
    assert.match(out, /^Fields: 0 differ, \d+ are equal\n\nTensors: 0 differ, 47 are equal$/m);
  });
  it('tells fields apart', () => {
    const words = (list) => kv.strings(list);
    const a = temporary(
      'a.gguf',
      gguf({
        'only.a\u001b[31m': kv.string('x\u001b[2J'),
        words: words(['a', 'b', 'c']),
        n: kv.u32(1),
        text: kv.string(`${'same '.repeat(50)}A here`),
        same: kv.u32(3),
      }),
    );
    const b = temporary(
      'b.gguf',
      gguf({
        same: kv.u32(3),
        text: kv.string(`${'same '.repeat(50)}B here`),
        n: kv.f32(1),
        words: words(['a', 'x']),
        'only.b': kv.f32s([1.5]),
      }),
    );
    const { fields, fieldsEqual } = diff(a, b);
    assert.equal(fieldsEqual, 1);
    assert.deepEqual(
      fields.map(({ key, first }) => [key, first]),
      [
        ['only.a\u001b[31m', undefined],
        ['words', 1],
        ['n', undefined],
        ['text', 250],
        ['only.b', undefined],
      ],
    );
    assert.equal(fields[0].b, null);
    assert.deepEqual(fields[4].b, { array: 'f32', count: 1, first: [1.5] });
    const { status, out } = sluice(['diff', a, b, '--all']);
    assert.equal(status, 1);
    assert.ok(!out.includes('\u001b'), out);
    assert.match(out, /^ {2}only\.a\?\[31m\n {4}A {2}"x\?\[2J"$/m);
    assert.match(out, /^ {2}words, from element 1 on\n {4}A {2}"b"\n {4}B {2}"x"$/m);
    assert.match(out, /^ {2}n, of another type\n {4}A {2}1\n {4}B {2}1$/m);
    assert.match(out, /^ {4}A {2}\.\.\."[same ]+A here"\n {4}B {2}\.\.\."[same ]+B here"$/m);
    assert.match(out, /^ {2}= same$/m);
    for (const line of out.split('\n')) assert.ok(line.length <= 80, line);
  });
  it('finds one byte of one tensor', () => {
    const byte = damaged('byte.gguf', 'blk.2.ffn_up.weight', 34 * 700 + 9, Buffer.from([7]));
    const { tensors, tensorsEqual } = diff(bundled, byte);
    assert.equal(tensorsEqual, 46);
    assert.equal(tensors.length, 1);
    const [{ name, difference, relativeError, largestDifference, cosine }] = tensors;
    assert.equal(name, 'blk.2.ffn_up.weight');
    assert.equal(difference, 'values');
    assert.ok(relativeError > 0 && relativeError < 0.1);
    assert.ok(largestDifference > 0);
    assert.ok(cosine > 0.99 && cosine <= 1);
    const { out } = sluice(['diff', bundled, byte]);
    const small = String.raw`\d\.\d\de-\d\d`;
    assert.match(
      out,
      new RegExp(
        String.raw`^ {2}blk\.2\.ffn_up\.weight +1 Q8_0 +0\.\d+ +0\.\d+ +[\d.e-]+ +${small}$`,
        'm',
      ),
    );
    assert.match(out, /^Summary: 46 tensors equal, 1 with other numbers$/m);
    assert.match(
      sluice(['diff', bundled, byte, '--all']).out,
      new RegExp(String.raw`^ {2}blk\.2\.ffn_up\.weight +Q8_0 +0\.\d+ +[\d.e-]+ +${small}$`, 'm'),
    );
    // The figures don't depend on the threads.
    assert.equal(sluice(['diff', bundled, byte, '-t', '1']).out, out);
    assert.equal(sluice(['diff', bundled, byte, '-t', '3']).out, out);
  });
  const half = optional('models/stories-f16.gguf');
  it('says how much quantizing has cost', { skip: half.skip }, () => {
    const { tensors, tensorsEqual } = diff(half.path, bundled);
    assert.equal(tensors.length, 36);
    assert.equal(tensorsEqual, 11);
    for (const { a, b, relativeError, cosine } of tensors) {
      assert.deepEqual([a.type, b.type], ['F16', 'Q8_0']);
      assert.ok(relativeError > 0.004 && relativeError < 0.007, relativeError);
      assert.ok(cosine > 0.9999, cosine);
    }
    // Layers are grouped, and the end tells the errors by type.
    const { out } = sluice(['diff', half.path, bundled]);
    assert.match(out, /^ {2}attn_q\.weight +5 F16>Q8_0 +0\.005\d+ +0\.005\d+ /m);
    assert.match(out, /^Summary: 11 tensors equal, 36 of another type$/m);
    assert.match(out, /^ {2}F16>Q8_0 +36 +0\.005\d+ +0\.005\d+ {2}(blk|token)/m);
    for (const line of out.split('\n').slice(3)) assert.ok(line.length <= 80, line);
    assert.match(
      sluice(['diff', half.path, bundled, '--all']).out,
      /^ {2}blk\.4\.attn_q\.weight +F16>Q8_0 +0\.005/m,
    );
    const other = optional('models/stories-q4_0.gguf');
    if (other.skip) return;
    const far = diff(half.path, other.path).tensors.find(({ name }) => name.includes('ffn_down'));
    assert.ok(far.relativeError > 0.05 && far.relativeError < 0.15, far.relativeError);
  });
  it('shows numbers that are not finite as nan', () => {
    const nan = damaged('nan.gguf', 'output_norm.weight', 0, Buffer.from([0, 0, 0xc0, 0x7f]));
    for (const more of [[], ['--all']]) {
      const { out } = sluice(['diff', bundled, nan, ...more]);
      assert.match(out, /^ {2}output_norm\.weight +(1 )?F32( +nan){3,4}\n {6}1 numbers? /m);
    }
  });
  it('names file types, and shows line ends', () => {
    const file = (name, type, text) =>
      temporary(
        name,
        gguf({ 'general.file_type': kv.u32(type), 'tokenizer.chat_template': kv.string(text) }),
      );
    const { out } = sluice([
      'diff',
      file('lines-a.gguf', 1, 'a\nb\tA'),
      file('lines-b.gguf', 15, 'a\nb\tB'),
    ]);
    assert.match(out, /^ {4}A {2}1 \(F16\)\n {4}B {2}15 \(Q4_K_M\)$/m);
    assert.match(out, /^ {4}A {2}"a\\nb\\tA"\n {4}B {2}"a\\nb\\tB"$/m);
  });
  it('compares types that are not computed by their bytes, and shapes', () => {
    const file = (name, type, shape, bytes) =>
      temporary(name, gguf({}, [{ name: 't', type, shape, bytes }]));
    const odd = file('odd.gguf', 16, [256], 66);
    assert.equal(diff(odd, odd).equal, true);
    const [mixed] = diff(odd, file('float.gguf', 0, [256], 1024)).tensors;
    assert.equal(mixed.computed, false);
    assert.match(sluice(['diff', odd, temporary('float.gguf')]).out, /not computed; other bytes/);
    const [turned] = diff(
      file('wide.gguf', 0, [4, 2], 32),
      file('high.gguf', 0, [2, 4], 32),
    ).tensors;
    assert.equal(turned.difference, 'shape');
    assert.deepEqual(turned.b.shape, [2, 4]);
    const [gone] = diff(odd, temporary('none.gguf', gguf({}))).tensors;
    assert.equal(gone.difference, 'only_a');
  });
  it('fails with an error where a file can not be used', () => {
    const missing = temporary('missing.gguf');
    for (const args of [
      [bundled, missing],
      [missing, bundled],
      [bundled, temporary('html.gguf', '<html>')],
    ]) {
      const { status, out, err } = sluice(['diff', ...args, '--json']);
      assert.equal(status, 3);
      assert.equal(events(out)[0].code, 'bad_file');
      assert.match(err, /\.gguf/);
    }
    for (const args of [[], [bundled], [bundled, bundled, bundled], [bundled, bundled, '-t', '0']])
      assert.equal(sluice(['diff', ...args]).status, 2);
  });
  const has_script = shell('script --version').out.includes('util-linux');
  it('uses a wide terminal', { skip: !has_script && "needs util-linux's script" }, () => {
    const name = (c) => `general.${c.repeat(60)}`;
    const long = (c) => gguf({ [name('k')]: kv.string(c.repeat(300)) });
    const a = temporary('wide-a.gguf', long('a'));
    const b = temporary('wide-b.gguf', long('b'));
    const lines = (columns) =>
      shell(
        `script -qec 'stty cols ${columns}; "$SLUICE" diff ${a} ${b} 2>/dev/null' /dev/null | tr -d '\\r'`,
      ).out.split('\n');
    const longest = (columns) =>
      Math.max(
        ...lines(columns)
          .slice(3)
          .map((l) => l.length),
      );
    assert.ok(longest(200) > 180 && longest(200) <= 200, String(longest(200)));
    assert.ok(longest(80) <= 80, String(longest(80)));
  });
});
