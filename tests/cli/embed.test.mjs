// sluice embed: with a model of known answers, with the bundled one, and with answers of other engines.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { ROWS, WIDTH, bert, id_of, length_of, unit, vector_of } from './bert-folder.mjs';
import { bundled, events, optional, shell, sluice, start } from './helpers.mjs';
import { temporary, temporaryDirectory } from './helpers.mjs';

const model = bert();
const DOG = ['the', 'dog', 'ran', 'home', '.'];
const CITY = ['paris', 'is', 'the', 'city', '.'];

const numbers_of = (line) => line.trim().split(' ').map(Number);
const embed = (...args) => sluice(['embed', ...args, '-q']);
function vectors(...args) {
  const { status, out, err } = embed(...args);
  assert.equal(status, 0, err);
  return out.trimEnd().split('\n').map(numbers_of);
}
function close(found, expected, most = 1e-6) {
  assert.equal(found.length, expected.length);
  const worst = Math.max(...found.map((x, i) => Math.abs(x - expected[i])));
  assert.ok(worst <= most, `${worst} away from the answer`);
}
const error_of = ({ out }) => events(out).at(-1);

describe('embed', () => {
  it('prints the numbers of a text on a line, and figures on stderr', () => {
    const { status, out, err } = sluice(['embed', model, '-p', 'The dog ran home.']);
    assert.equal(status, 0);
    assert.match(out, /^\S+( \S+){31}\n$/);
    close(numbers_of(out), unit(vector_of(DOG)));
    assert.match(err, /^sluice: 1 text, 7 tokens in [\d.]+ s: /);
    assert.match(err, /vectors of 32 numbers, pooling mean; /);
  });
  it('-q has no figures; the argument, a pipe and -p are one text', () => {
    const by_option = embed(model, '-p', 'The dog ran home.');
    assert.equal(by_option.err, '');
    assert.equal(embed(model, 'The dog ran home.').out, by_option.out);
    const piped = shell(`echo 'The dog ran home.' | "$SLUICE" embed "${model}" -q`);
    assert.equal(piped.out, by_option.out);
  });
  it('-f has a text a line; a last line end adds none, an empty line is one, and CR belongs to the end', () => {
    const lines = temporary('lines.txt', 'The dog ran home.\r\n\nParis is the city.\n');
    const found = vectors(model, '-f', lines);
    assert.equal(found.length, 3);
    close(found[0], unit(vector_of(DOG)));
    close(found[1], unit(vector_of([])));
    close(found[2], unit(vector_of(CITY)));
    const unended = sluice(['embed', model, '-f', '-', '-q'], {
      input: 'The dog ran home.\n\nParis is the city.',
    });
    assert.equal(unended.out, embed(model, '-f', lines).out);
  });
  it('a text alone has the same bits as among others, with any threads, kernels and memory', () => {
    const texts = ['The dog ran home.', 'Paris', 'is the capital of France. '.repeat(3), 'cat'];
    const file = temporary('some.txt', `${texts.join('\n')}\n`);
    const together = embed(bundled, '-f', file, '--json').out;
    const alone = texts.map((text) => embed(bundled, '-p', text, '--json').out).join('');
    assert.equal(alone, together);
    assert.equal(embed(bundled, '-f', file, '--json', '-t', '1').out, together);
    const env = { SLUICE_KERNELS: 'generic' };
    assert.equal(sluice(['embed', bundled, '-f', file, '--json', '-q'], { env }).out, together);
    const { least } = JSON.parse(sluice(['inspect', bundled, '--json']).out).memory;
    assert.equal(embed(bundled, '-f', file, '--json', '--memory-budget', `${least}`).out, together);
  });
  it('more texts than a budget has room for are computed in groups', () => {
    const lines = temporary('many-dogs.txt', 'The dog ran home.\nParis\n'.repeat(10_000));
    const { least } = JSON.parse(sluice(['inspect', model, '--json']).out).memory;
    const npy = (name, ...args) => {
      const path = join(temporaryDirectory(), name);
      const { status, err } = embed(model, '-f', lines, '--npy', path, ...args);
      assert.equal(status, 0, err);
      return readFileSync(path);
    };
    assert.ok(npy('least.npy', '--memory-budget', `${least}`).equals(npy('whole.npy')));
  });
  it('--json has tokens, the vector and its length; the numbers read back to the same f32', () => {
    const { out } = embed(model, '-p', 'The dog ran home.', '--json');
    const { tokens, embedding, norm, ...rest } = JSON.parse(out);
    assert.deepEqual(rest, {});
    assert.equal(tokens, 7);
    close([norm], [length_of(vector_of(DOG))]);
    const exact = Float32Array.from(embedding);
    const npy = join(temporaryDirectory(), 'one.npy');
    assert.equal(embed(model, '-p', 'The dog ran home.', '--npy', npy).status, 0);
    const bytes = readFileSync(npy);
    assert.deepEqual(bytes.subarray(bytes.length - 4 * WIDTH), Buffer.from(exact.buffer));
    close(vectors(model, '-p', 'The dog ran home.')[0], embedding, 0);
  });
  it('--pooling takes the first or the last token, --dimensions cuts before the length', () => {
    close(vectors(model, '-p', 'dog cat', '--pooling', 'cls')[0], unit(ROWS[id_of('[CLS]')]));
    close(vectors(model, '-p', 'dog cat', '--pooling', 'last')[0], unit(ROWS[id_of('[SEP]')]));
    const cut = vector_of(DOG).slice(0, 9);
    close(vectors(model, '-p', 'The dog ran home.', '--dimensions', '9')[0], unit(cut));
    const raw = embed(
      model,
      '-p',
      'The dog ran home.',
      '--dimensions',
      '9',
      '--no-normalize',
      '--json',
    );
    close(JSON.parse(raw.out).embedding, cut);
    close([JSON.parse(raw.out).norm], [length_of(cut)]);
  });
  it("the file's pooling is the default", () => {
    const cls = bert({ head: false, pooling: 'cls_token' });
    close(vectors(cls, '-p', 'dog cat')[0], unit(ROWS[id_of('[CLS]')]));
    const { makes, pooling, dimensions } = JSON.parse(sluice(['inspect', cls, '--json']).out);
    assert.deepEqual(
      { makes, pooling, dimensions },
      { makes: ['vectors'], pooling: 'cls', dimensions: WIDTH },
    );
    assert.match(
      sluice(['inspect', cls]).out,
      /\n {2}makes +vectors of 32 numbers \(pooling cls\)\n/,
    );
  });
  it('--tokens are taken as they are', () => {
    const ids = DOG.map(id_of);
    const mean = ROWS[0].map((_, i) => ids.reduce((sum, id) => sum + ROWS[id][i], 0) / ids.length);
    close(vectors(model, '--tokens', ids.join())[0], unit(mean));
  });
  it('--kind puts before a text what the family wants, --prefix another text', () => {
    const e5 = bert({ head: false, name: 'E5 Small v2' });
    const query = embed(e5, '-p', 'The dog ran home.', '--kind', 'query').out;
    close(numbers_of(query), unit(vector_of(['query', ':', ...DOG])));
    assert.equal(embed(e5, '-p', 'The dog ran home.', '--prefix', 'query: ').out, query);
    assert.equal(embed(e5, '-p', 'query: The dog ran home.').out, query);
    const passage = embed(e5, '-p', 'The dog ran home.', '--kind', 'document').out;
    close(numbers_of(passage), unit(vector_of(['[UNK]', ':', ...DOG])));
    close(vectors(e5, '-p', 'The dog ran home.')[0], unit(vector_of(DOG)));
    assert.deepEqual(JSON.parse(sluice(['inspect', e5, '--json']).out).prompts, {
      query: 'query: ',
      document: 'passage: ',
    });
    assert.match(
      sluice(['inspect', e5]).out,
      /\n {2}before a query +"query: "\n {2}before a document +"passage: "\n/,
    );
    assert.equal(sluice(['embed', e5, '-p', 'dog', '--kind', 'query', '--json']).err, '');
    // This one's family wants nothing.
    assert.match(
      sluice(['embed', model, '-p', 'dog', '--kind', 'query', '--json']).err,
      /^sluice: --kind puts nothing before the texts: .*--prefix TEXT/,
    );
    assert.doesNotMatch(sluice(['inspect', model]).out, /before a/);
    close(vectors(model, '-p', 'The dog ran home.', '--kind', 'query')[0], unit(vector_of(DOG)));
  });
  it('a model that was made to write text is noted, and a text that is the name of a file', () => {
    const note = /^sluice: the model was made to write text, not for vectors: /m;
    assert.match(sluice(['embed', bundled, '-p', 'dog']).err, note);
    assert.doesNotMatch(sluice(['embed', model, '-p', 'dog']).err, note);
    const file = temporary('dogs.txt', 'The dog ran home.\n');
    for (const args of [[file], ['-p', file]])
      assert.match(
        sluice(['embed', model, ...args]).err,
        /^sluice: this embeds the name: .*dogs\.txt is a file; -f reads it$/m,
      );
    assert.doesNotMatch(sluice(['embed', model, '-f', file]).err, /is a file/);
    assert.equal(embed(bundled, file).err, '');
  });
  it('a special token that is written out in a text is text', () => {
    close(vectors(model, '-p', '[SEP]')[0], unit(vector_of(['[UNK]', '[UNK]', '[UNK]'])));
  });

  it('--npy writes an array of [texts, numbers], or nothing', () => {
    const folder = temporaryDirectory();
    const npy = join(folder, 'vectors.npy');
    const file = temporary('two.txt', 'The dog ran home.\nParis is the city.\n');
    const { status, out } = embed(model, '-f', file, '--npy', npy);
    assert.equal(status, 0);
    assert.equal(out, `2 vectors of 32 numbers: ${npy}\n`);
    const bytes = readFileSync(npy);
    assert.equal(bytes.toString('latin1', 0, 8), '\x93NUMPY\x01\x00');
    const length = bytes.readUInt16LE(8);
    assert.equal((10 + length) % 64, 0);
    const header = bytes.toString('latin1', 10, 10 + length);
    assert.match(header, /^\{'descr': '<f4', 'fortran_order': False, 'shape': \(2, 32\), \} *\n$/);
    const numbers = new Float32Array(Uint8Array.from(bytes.subarray(10 + length)).buffer);
    assert.equal(numbers.length, 2 * WIDTH);
    close([...numbers.subarray(WIDTH)], unit(vector_of(CITY)));
    // What fails leaves the older file, and nothing else.
    const long = temporary('long.txt', `dog\n${'dog '.repeat(40)}\n`);
    assert.equal(embed(model, '-f', long, '--npy', npy).status, 1);
    assert.deepEqual(readFileSync(npy), bytes);
    assert.deepEqual(readdirSync(folder), ['vectors.npy']);
    assert.equal(embed(model, '-p', 'dog', '--npy', join(folder, 'none', 'a.npy')).status, 1);
    // An older array is replaced.
    assert.equal(embed(model, '-p', 'dog', '--npy', npy).status, 0);
    assert.ok(readFileSync(npy).length < bytes.length);
  });
  it('--npy replaces no file that is read, nor one of another kind', () => {
    const file = temporary('kept.txt', 'The dog ran home.\n');
    const copy = temporary('kept.gguf', readFileSync(model));
    const other = temporary('other.txt', 'mine');
    const empty = temporary('empty.npy', '');
    for (const [path, args, message] of [
      [copy, ['-p', 'x'], /kept\.gguf is the file that is read; name another for the output/],
      [file, ['-f', file], /kept\.txt is the file that is read/],
      [other, ['-p', 'x'], /can't write .*other\.txt: a file of another kind is there, no \.npy;/],
      [
        model,
        ['-p', 'x'],
        /a file of another kind is there, no \.npy; name another file or remove/,
      ],
    ]) {
      const before = readFileSync(path);
      const { status, err } = embed(copy, ...args, '--npy', path);
      assert.equal(status, 2, err);
      assert.match(err, message);
      assert.deepEqual(readFileSync(path), before);
    }
    assert.equal(embed(model, '-p', 'x', '--npy', empty).status, 0);
    assert.ok(readFileSync(empty).length > 0);
  });
  it('a text that is too long is named; --truncate cuts it and keeps its end', () => {
    const file = temporary('long-too.txt', `dog\n${'dog '.repeat(40)}\n`);
    const refused = embed(model, '-f', file, '--json');
    assert.equal(refused.status, 1);
    const { code, message, facts } = error_of(refused);
    assert.equal(code, 'context_full');
    assert.match(
      message,
      /line 2 has 42 tokens, but the context has 24; shorten it or cut it with --truncate/,
    );
    assert.deepEqual(facts, { tokens: 42, room: 24 });
    assert.equal(refused.out.split('\n').length, 2, 'no vector was printed');
    const cut = vectors(model, '-f', file, '--truncate');
    close(cut[1], unit(vector_of(Array.from({ length: 22 }, () => 'dog'))));
    const short = embed(model, '-f', file, '-c', '16', '--json');
    assert.match(
      error_of(short).message,
      /a larger context with -c N \(this model was trained for up to 24\)/,
    );
  });
  it('texts may be as long as the model allows; beyond 4096 tokens the memory is not planned for', () => {
    const long = bert({ head: false, positions: 6000 });
    const { memory } = JSON.parse(sluice(['inspect', long, '--json']).out);
    assert.deepEqual([memory.contextSize, memory.plannedTokens], [6000, 4096]);
    assert.match(
      sluice(['inspect', long]).out,
      /\nMemory to run it with texts of up to 4096 tokens; longer ones, up to 6000, take more\n/,
    );
    assert.match(
      sluice(['inspect', long, '-c', '5000']).out,
      /\nMemory to run it with texts of up to 5000 tokens\n/,
    );
    const dogs = (n) => temporary(`dogs-${n}.txt`, `${'dog '.repeat(n)}\n`);
    const vector = unit(vector_of(Array.from({ length: 5000 }, () => 'dog')));
    close(vectors(long, '-f', dogs(5000))[0], vector);
    const budget = ['--memory-budget', `${memory.total}`];
    const tight = embed(long, '-f', dogs(5000), ...budget, '--json');
    assert.equal(error_of(tight).code, 'out_of_memory');
    assert.match(
      error_of(tight).message,
      /a vector of a text of 5002 tokens needs .* more, but of/,
    );
    close(vectors(long, '-f', dogs(4094), ...budget)[0], vector, 1e-3);
    const { message } = error_of(embed(long, '-f', dogs(6000), '--json'));
    assert.match(
      message,
      /line 1 has 6002 tokens, but the context has 6000; shorten it or cut it with --truncate$/,
    );
  });
  it('wrong usage is refused with status 2', () => {
    const refused = (args, message) => {
      const found = sluice(['embed', ...args], { input: '' });
      assert.equal(found.status, 2, args.join(' '));
      assert.match(found.err, message);
    };
    refused([model], /no text; give one with -p/);
    refused([model, '-p', 'dog', '--pooling', 'max'], /--pooling: expected mean, cls or last/);
    refused(
      [model, '-p', 'dog', '--dimensions', '33'],
      /vectors have 32 numbers, so they can't be cut to 33/,
    );
    refused([model, '-p', 'dog', '--json', '--npy', 'a.npy'], /leave one of them out/);
    refused([model, '-p', 'dog', '--kind', 'query', '--prefix', 'x'], /leave one of them out/);
    refused([model, '-p', 'dog', '--kind', 'answer'], /expected query or document/);
    refused(
      [model, '--tokens', '5', '--kind', 'query'],
      /--tokens are taken as they are; --kind is for texts/,
    );
    refused(
      [model, '--tokens', '2,5000'],
      /error: --tokens: token 5000 is not in the vocabulary, whose ids are 0 to 20\n/,
    );
    refused([model, '-f', temporary('empty.txt', '')], /has no line/);
  });
  it('Ctrl-C ends it after whole lines', async () => {
    const file = temporary(
      'many.txt',
      'Once upon a time there was a little dog.\n'.repeat(200_000),
    );
    const { child, ended } = start(['embed', bundled, '-f', file, '--json']);
    child.stdout.once('data', () => child.kill('SIGINT'));
    const { status, out } = await ended;
    assert.equal(status, 130);
    assert.ok(out.endsWith('\n'));
    assert.ok(events(out).every(({ embedding }) => embedding.length > 0));
  });
  it('a reader that goes away ends it quietly', () => {
    const file = temporary('more.txt', 'Once upon a time there was a little dog.\n'.repeat(5_000));
    const { status, out, err } = shell(
      `set -o pipefail; "$SLUICE" embed "${bundled}" -f "${file}" -q | head -n 1 | wc -l`,
    );
    assert.equal(err, '');
    assert.equal(status, 0);
    assert.equal(out.trim(), '1');
  });
  it('run, chat, logits and bench of a model that writes no text say what it is for', () => {
    for (const command of ['run', 'chat', 'logits']) {
      const found = sluice([command, model, '-p', 'dog']);
      assert.equal(found.status, 3, command);
      assert.match(
        found.err,
        /writes no text; it makes vectors of texts \(sluice embed\) and finds words/,
      );
    }
    const bench = sluice(['bench', model, '-p', '4', '-n', '2', '-r', '1']);
    assert.equal(bench.status, 3);
    assert.match(
      bench.err,
      /writes no text; it makes vectors .*; sluice embed -f FILE shows texts\/s/,
    );
    const plain = bert({ head: false });
    assert.match(
      sluice(['run', plain, '-p', 'dog']).err,
      /makes vectors of texts \(sluice embed\)\n/,
    );
  });
});

const answers = ['embeddings.json', 'embeddings-more.json'].map((name) =>
  optional(`models/${name}`),
);
for (const { path, skip } of answers) {
  describe(`embed gives the answers of ${path.split('/').at(-1)}`, { skip }, () => {
    for (const [name, cases] of Object.entries(skip ? {} : JSON.parse(readFileSync(path)))) {
      it(name, () => {
        const file = optional(`models/tiny/${name}`).path;
        const most = name.includes('q8_0') ? 0.02 : 1e-3;
        for (const { tokens, text, pooling, vector, norm } of cases) {
          const one = (...input) =>
            JSON.parse(embed(file, ...input, '--pooling', pooling, '--json').out);
          const found = one('--tokens', tokens.join());
          close(found.embedding.slice(0, vector.length), vector, most);
          assert.ok(Math.abs(found.norm / norm - 1) < most);
          if (text !== undefined) assert.deepEqual(one('-p', text), found, text);
        }
      });
    }
  });
}
