// sluice probe: hidden states as NumPy's arrays, with the JSON beside them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';

import { ROWS, WIDTH, bert, id_of } from './bert-folder.mjs';
import { bundled, events, sluice, start, temporary, temporaryDirectory } from './helpers.mjs';
import { read_npy, read_npz } from './npy.mjs';

const LAYERS = 5;
const DIM = 192;
const TEXTS = ['The dog ran home.', 'Once', 'There was a little girl. '.repeat(9), '', 'cat'];
const lines = temporary('texts.txt', `${TEXTS.join('\n')}\n`);

// Runs it in a folder of its own: {shape, numbers, sidecar}, or with --positions all {arrays, sidecar}.
function probe(args, { model = bundled, stimuli = lines, env = {} } = {}) {
  const all = args.includes('all');
  const out = join(temporaryDirectory(), all ? 'states.npz' : 'states.npy');
  const done = sluice(['probe', model, '--stimuli', stimuli, '--out', out, '-q', ...args], { env });
  assert.equal(done.status, 0, done.err);
  assert.equal(done.err, '');
  const bytes = readFileSync(out);
  const sidecar = JSON.parse(readFileSync(out.replace(/np.$/, 'json'), 'utf8'));
  return { ...(all ? { arrays: read_npz(bytes) } : read_npy(bytes)), sidecar, out };
}
const rows_of = ({ shape, numbers }) =>
  Array.from({ length: numbers.length / shape.at(-1) }, (_, i) =>
    numbers.subarray(i * shape.at(-1), (i + 1) * shape.at(-1)),
  );
function refused(args, status, message, facts = undefined) {
  const done = sluice(['probe', ...args, '--json']);
  assert.equal(done.status, status, done.err + done.out);
  const event = events(done.out).at(-1);
  assert.match(event.message, message);
  if (facts) assert.deepEqual(event.facts, facts);
}

describe('probe', () => {
  it('writes [texts, layers, numbers] and beside it what they are of', () => {
    const { shape, numbers, sidecar } = probe([]);
    assert.deepEqual(shape, [TEXTS.length, LAYERS, DIM]);
    assert.equal(numbers.length, TEXTS.length * LAYERS * DIM);
    assert.ok(numbers.every(Number.isFinite) && numbers.some((x) => x !== 0));
    const { model, stimuli, ...rest } = sidecar;
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)));
    assert.deepEqual(rest, {
      version: 1,
      program: `sluice ${version}`,
      at: 'residual',
      positions: 'last',
      layers: [0, 1, 2, 3, 4],
      dim: DIM,
    });
    assert.match(model.identity, /^[0-9a-f]{16}$/);
    const { identity, ...of } = model;
    assert.deepEqual(of, {
      name: 'Sluice Stories',
      architecture: 'llama',
      file: basename(bundled),
      bytes: readFileSync(bundled).length,
    });
    assert.deepEqual(
      stimuli.map(({ text }) => text),
      TEXTS,
    );
    // The ids are those of a prompt.
    for (const { text, tokens } of stimuli.filter((each) => each.text !== '')) {
      const { out } = sluice(['tokenize', bundled, '-p', text, '--bos', '--json']);
      assert.deepEqual(JSON.parse(out).ids, tokens);
    }
  });
  it('a text alone has the same bits as among others, with any threads, kernels and memory', () => {
    for (const args of [[], ['--positions', 'mean', '--at', 'ffn']]) {
      const together = probe(args);
      const each = together.numbers.length / TEXTS.length;
      for (const [i, text] of TEXTS.entries()) {
        const alone = probe(args, { stimuli: temporary('one.txt', `${text}\n`) });
        assert.deepEqual(alone.numbers, together.numbers.slice(i * each, (i + 1) * each));
      }
      const same = ({ numbers, sidecar }) => {
        assert.deepEqual(numbers, together.numbers);
        assert.deepEqual(sidecar, together.sidecar);
      };
      same(probe([...args, '-t', '1']));
      same(probe(args, { env: { SLUICE_KERNELS: 'generic' } }));
      const { least } = JSON.parse(sluice(['inspect', bundled, '--json']).out).memory;
      same(probe([...args, '--memory-budget', `${least}`]));
    }
  });
  it('more texts than a budget has room for are computed in groups', () => {
    const many = temporary('many.txt', `${TEXTS.join('\n')}\n`.repeat(120));
    const { least } = JSON.parse(sluice(['inspect', bundled, '--json', '-c', '256']).out).memory;
    const args = ['--positions', 'all', '--layers', '0,4', '-c', '256'];
    const whole = probe(args, { stimuli: many });
    const tight = probe([...args, '--memory-budget', `${least}`], { stimuli: many });
    assert.ok(readFileSync(whole.out).equals(readFileSync(tight.out)));
    assert.equal(Object.keys(whole.arrays).length, 120 * TEXTS.length);
  });
  it('--positions takes the last token, the mean or all; --layers some layers', () => {
    const all = probe(['--positions', 'all']);
    assert.equal(all.sidecar.positions, 'all');
    const last = rows_of(probe([]));
    const mean = rows_of(probe(['--positions', 'mean']));
    const some = probe(['--layers', '1,4']);
    assert.deepEqual(some.shape, [TEXTS.length, 2, DIM]);
    assert.deepEqual(some.sidecar.layers, [1, 4]);
    for (const [i, { tokens }] of all.sidecar.stimuli.entries()) {
      const array = all.arrays[i];
      assert.deepEqual(array.shape, [LAYERS, tokens.length, DIM]);
      const rows = rows_of(array);
      for (let layer = 0; layer < LAYERS; ++layer) {
        const own = rows.slice(layer * tokens.length, (layer + 1) * tokens.length);
        assert.deepEqual(last[i * LAYERS + layer], own.at(-1));
        const sum = own[0].map((_, j) => own.reduce((a, row) => a + row[j], 0) / own.length);
        sum.forEach((x, j) =>
          assert.ok(Math.abs(x - mean[i * LAYERS + layer][j]) < 1e-4 * Math.max(1, Math.abs(x))),
        );
      }
      assert.deepEqual(rows_of(some)[2 * i], last[i * LAYERS + 1]);
      assert.deepEqual(rows_of(some)[2 * i + 1], last[i * LAYERS + 4]);
    }
  });
  it('--at takes what the branches of a layer add', () => {
    const residual = rows_of(probe([]));
    const attention = rows_of(probe(['--at', 'attention']));
    const ffn = rows_of(probe(['--at', 'ffn']));
    for (let i = 0; i < residual.length; ++i) {
      if (i % LAYERS === 0) continue;
      const sum = residual[i - 1].map((x, j) => Math.fround(x + attention[i][j]) + ffn[i][j]);
      assert.deepEqual(sum, residual[i]);
    }
  });
  it('of an encoder, whose layers add nothing, states are the rows of the embedding', () => {
    const model = bert({ head: false });
    const stimuli = temporary('dogs.txt', 'the dog\ncat\n');
    const { arrays } = probe(['--positions', 'all'], { model, stimuli });
    const expected = ['[CLS]', 'the', 'dog', '[SEP]'].flatMap((token) => ROWS[id_of(token)]);
    assert.deepEqual(arrays[0].shape, [1, 4, WIDTH]);
    arrays[0].numbers.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) < 1e-5));
  });
  it('reads a list of texts and objects, and keeps their fields', () => {
    const stimuli = temporary(
      'words.json',
      JSON.stringify([
        'Paris',
        {
          label: 'b',
          text: 'The dog',
          nested: { a: [1, null, 1e300] },
          group: 12345678901234567890n.toString(),
        },
      ]),
    );
    const { sidecar, shape } = probe([], { stimuli });
    assert.deepEqual(shape, [2, LAYERS, DIM]);
    const [first, second] = sidecar.stimuli;
    assert.deepEqual(Object.keys(first), ['text', 'tokens']);
    assert.deepEqual(Object.keys(second), ['text', 'tokens', 'label', 'nested', 'group']);
    assert.deepEqual(second.nested, { a: [1, null, 1e300] });
    assert.deepEqual(
      first.tokens,
      probe([], { stimuli: temporary('p.txt', 'Paris') }).sidecar.stimuli[0].tokens,
    );
  });
  it('reads lines from standard input, and notes lines that look like JSON', () => {
    const out = join(temporaryDirectory(), 'a.npy');
    const { status } = sluice(['probe', bundled, '--stimuli', '-', '--out', out, '-q'], {
      input: `${TEXTS.join('\r\n')}`,
    });
    assert.equal(status, 0);
    assert.deepEqual(read_npy(readFileSync(out)).numbers, probe([]).numbers);
    const list = temporary('list.txt', '["a", "b"]\n');
    const { err } = sluice(['probe', bundled, '--stimuli', list, '--out', out]);
    assert.match(
      err,
      /each line of \S*list\.txt is taken as a text: JSON has a name that ends with \.json/,
    );
  });
  it('special tokens that are written out are text, unless --special is given', () => {
    const stimuli = temporary('special.txt', 'dog<|endoftext|>cat\n');
    const plain = probe([], { stimuli }).sidecar.stimuli[0].tokens;
    const special = probe(['--special'], { stimuli }).sidecar.stimuli[0].tokens;
    assert.ok(special.length < plain.length, `${special} and ${plain}`);
  });
  it('says what was written, with figures; with --json as JSON', () => {
    const out = join(temporaryDirectory(), 'a.npz');
    const args = ['probe', bundled, '--stimuli', lines, '--out', out, '--positions', 'all'];
    const plain = sluice(args);
    assert.match(
      plain.out,
      /^hidden states of 5 texts, 5 layers of 192 numbers: \S+a\.npz, \S+a\.json\n$/,
    );
    assert.match(plain.err, /^sluice: 5 texts, \d+ tokens in [\d.]+ s: /);
    const { tokens, ...rest } = JSON.parse(sluice([...args, '--json']).out);
    assert.ok(tokens > 5);
    assert.deepEqual(rest, { out, sidecar: out.replace('npz', 'json'), shape: [5, 5, null, 192] });
  });
});

describe('probe refuses', () => {
  const out = join(temporaryDirectory(), 'x.npy');
  const of = (name, contents) => [bundled, '--stimuli', temporary(name, contents), '--out', out];
  it('stimuli that are none, with the place', () => {
    refused(of('bad.json', '["a",\n  "b" "c"]'), 3, /bad\.json: it is no JSON at line 2, column 7/);
    refused(of('cut.json', '[{"text":"a"'), 3, /no JSON at line 1, column 1\d/);
    refused(of('object.json', '{"text":"a"}'), 3, /it has no list; expected/);
    refused(
      of('number.json', '["a", 5]'),
      3,
      /stimulus 1 \(counted from 0\) is a number; expected a text/,
    );
    refused(of('list.json', '["a", ["b"]]'), 3, /stimulus 1 .* is a list; expected a text/);
    refused(of('no.json', '["a", {"txt":"b"}]'), 3, /stimulus 1 .* has no text/);
    refused(of('kind.json', '[{"text":["b"]}]'), 3, /stimulus 0 .* has another value as text/);
    refused(
      of('tokens.json', '[{"text":"b","tokens":[1]}]'),
      3,
      /stimulus 0 .* has a field tokens/,
    );
    refused(of('utf8.json', Buffer.from('["\xff"]', 'latin1')), 3, /no JSON at line 1, column 3/);
    refused(of('large.json', '[{"text":"a","x":1e999}]'), 3, /no JSON at line 1/);
    const deep = 100_000;
    refused(
      of('deep.json', `[{"text":"a","x":${'['.repeat(deep)}${']'.repeat(deep)}}]`),
      3,
      /values in more than 64 others at line 1, column 8\d/,
    );
    const names = Array.from({ length: 1001 }, (_, i) => `"${i}":0`).join(',');
    refused(
      of('names.json', `[{"text":"a","x":{${names}}}]`),
      3,
      /an object of it has more than 1000 names at line 1/,
    );
    refused(of('none.json', '[]'), 3, /none\.json has no stimulus/);
    refused(of('none.txt', ''), 3, /none\.txt has no stimulus/);
    refused(
      of('latin.txt', Buffer.from('ab\nc\xe4d\n', 'latin1')),
      3,
      /latin\.txt: line 2 is no UTF-8 from byte 2 on/,
    );
    refused(
      [bundled, '--stimuli', join(out, 'none.txt'), '--out', out],
      3,
      /can't open the stimuli's file/,
    );
  });
  it('texts that are too long, which --truncate cuts', () => {
    const long = of('long.txt', `dog\n${'dog '.repeat(40)}\n`);
    refused(
      [...long, '-c', '24'],
      1,
      /line 2 has \d+ tokens, but the context has 24; .*--truncate/,
    );
    const { shape } = probe(['-c', '24', '--truncate'], { stimuli: long[2] });
    assert.deepEqual(shape, [2, LAYERS, DIM]);
  });
  it('layers that are not there, and other wrong usage', () => {
    const base = [bundled, '--stimuli', lines, '--out', out];
    refused(
      [...base, '--layers', '0,5'],
      2,
      /there is no layer 5; the model has those from 0 to 4/,
    );
    for (const layers of ['1,0', '1,1', '-1', '', 'a'])
      refused([...base, '--layers', layers], 2, /--layers: expected/);
    refused([...base, '--positions', 'first'], 2, /last, mean or all/);
    refused([...base, '--at', 'head'], 2, /residual, attention or ffn/);
    refused([bundled, '--stimuli', lines], 2, /name a file with --out/);
    refused([bundled, '--out', out], 2, /no stimuli; name a file with --stimuli/);
  });
});

describe('the outputs of probe', () => {
  it('are named .npy or .npz', () => {
    for (const [name, positions] of [
      ['a.npz', 'last'],
      ['a.npy', 'all'],
      ['a', 'mean'],
      ['.npy', 'last'],
      ['-', 'last'],
    ])
      refused(
        [bundled, '--stimuli', lines, '--out', name, '--positions', positions],
        2,
        /--out: expected the name of a file that ends with \.np/,
      );
  });
  it('replace older ones, no other file, and none that is read', () => {
    const dir = temporaryDirectory();
    const words = join(dir, 'words.json');
    writeFileSync(words, '["a"]');
    const into = (name) => [bundled, '--stimuli', words, '--out', join(dir, name)];
    refused(into('words.npy'), 2, /words\.json is the file that is read; name another/);
    writeFileSync(join(dir, 'b.json'), '{"version":2}');
    refused(into('b.npy'), 2, /b\.json: a file of another kind is there, no JSON of sluice probe/);
    writeFileSync(join(dir, 'c.npy'), 'mine');
    refused(into('c.npy'), 2, /c\.npy: a file of another kind is there, no \.npy/);
    refused([...into('c.npz'), '--positions', 'last'], 2, /ends with \.npy/);
    refused(into('none/a.npy'), 1, /the folder \S*none isn't there/);
    assert.deepEqual(readdirSync(dir).sort(), ['b.json', 'c.npy', 'words.json']);
    for (let i = 0; i < 2; ++i) assert.equal(sluice(['probe', ...into('d.npy')]).status, 0);
    assert.deepEqual(readdirSync(dir).sort(), ['b.json', 'c.npy', 'd.json', 'd.npy', 'words.json']);
  });
  it('are whole or not there', async () => {
    const dir = temporaryDirectory();
    const out = join(dir, 'a.npz');
    const { child, ended } = start([
      ...['probe', bundled, '--stimuli', '-', '--out', out, '--positions', 'all'],
    ]);
    // When all of it is written, the program has begun to read.
    child.stdin.end('Once upon a time there was a little dog.\n'.repeat(200_000), () =>
      child.kill('SIGINT'),
    );
    const { status } = await ended;
    assert.equal(status, 130);
    assert.deepEqual(readdirSync(dir), []);
  });
});

const numpy = spawnSync('/usr/bin/python3', ['-c', 'import numpy']).status === 0;
describe('NumPy', { skip: numpy ? false : 'no numpy in /usr/bin/python3' }, () => {
  it('reads both forms', () => {
    const { out, numbers } = probe([]);
    const { out: archive, arrays } = probe(['--positions', 'all']);
    const script = `
import numpy, sys, zipfile
a = numpy.load(sys.argv[1])
z = numpy.load(sys.argv[2])
assert a.dtype == numpy.float32 and a.flags.c_contiguous
assert zipfile.ZipFile(sys.argv[2]).testzip() is None
print(a.shape, a.sum(dtype=numpy.float64), sorted(z.files), z['2'].shape, z['2'].sum(dtype=numpy.float64))
`;
    const done = spawnSync('/usr/bin/python3', ['-c', script, out, archive]);
    assert.equal(done.status, 0, done.stderr.toString());
    const sum = (values) => values.reduce((a, x) => a + x, 0);
    const found =
      /^\(5, 5, 192\) (\S+) \['0', '1', '2', '3', '4'\] \(5, (\d+), 192\) (\S+)\n$/.exec(
        done.stdout.toString(),
      );
    assert.ok(found, done.stdout.toString());
    assert.ok(Math.abs(Number(found[1]) - sum([...numbers])) < 1e-3);
    assert.equal(Number(found[2]), arrays[2].shape[1]);
    assert.ok(Math.abs(Number(found[3]) - sum([...arrays[2].numbers])) < 1e-3);
  });
});
