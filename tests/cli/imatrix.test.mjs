// sluice imatrix with the bundled model.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bundled, environment, events, keep, program, shell, sluice } from './helpers.mjs';
import { optional, temporary, temporaryDirectory } from './helpers.mjs';

const STORY =
  'Once upon a time there was a little dog who lived in a big house with a red door. ' +
  'Every day he ran to the park and played with his friends until the sun went down.\n';
const text = temporary('story.txt', STORY.repeat(30));

const measured_with = (env, ...args) => {
  const path = join(temporaryDirectory(), 'out.gguf');
  return { ...sluice(['imatrix', bundled, '-f', text, path, ...args], { env }), path };
};
const measured = (...args) => measured_with({}, ...args);

describe('imatrix', () => {
  it('writes a file in the form of llama.cpp, and says how to use it', () => {
    const { status, out, err, path } = measured('-c', '100', '--chunks', '3');
    assert.equal(status, 0, err);
    assert.equal(err, '');
    assert.equal(
      out,
      `35 tensors measured over 300 tokens: ${path}\n` +
        `To use it: sluice quantize MODEL OUT --type Q4_K_M --imatrix ${path}\n`,
    );
    const { metadata, tensors } = JSON.parse(sluice(['inspect', path, '--json']).out);
    assert.deepEqual(Object.keys(metadata), [
      'general.type',
      'imatrix.datasets',
      'imatrix.chunk_count',
      'imatrix.chunk_size',
    ]);
    assert.deepEqual(metadata['imatrix.datasets'].first, ['story.txt']);
    assert.equal(metadata['imatrix.chunk_count'], 3);
    assert.equal(metadata['imatrix.chunk_size'], 100);
    assert.equal(tensors.length, 2 * 35);
    const names = tensors.map(({ name }) => name);
    assert.equal(names[0], 'blk.0.attn_k.weight.in_sum2');
    assert.equal(names[1], 'blk.0.attn_k.weight.counts');
    assert.ok(!names.some((name) => name.startsWith('token_embd') || name.startsWith('output')));
  });
  it('the bytes do not depend on the threads, the memory or the kernels', () => {
    const { least } = JSON.parse(
      sluice(['inspect', bundled, '-c', '200', '--kv-type', 'f32', '-t', '1', '--json']).out,
    ).memory;
    const [first, ...others] = [
      measured('-c', '200', '-t', '1'),
      measured('-c', '200', '-t', '2'),
      measured('-c', '200', '-t', '1', '--memory-budget', String(least)),
      measured_with({ SLUICE_KERNELS: 'generic' }, '-c', '200'),
    ].map(({ status, err, path }) => {
      assert.equal(status, 0, err);
      return readFileSync(path);
    });
    for (const other of others) assert.ok(first.equals(other));
  });
  it('--json has the documented shape', () => {
    const { status, out, err, path } = measured('--json');
    assert.equal(status, 0, err);
    const { tokens, chunks, ...rest } = JSON.parse(out);
    assert.deepEqual(rest, { file: path, matrices: 35, chunkSize: 512 });
    assert.equal(tokens, 512 * chunks);
    assert.ok(chunks >= 2, String(chunks));
  });
  it('warns of chunks beyond the trained context, without speaking of written text', () => {
    const { status, err } = measured('-c', '600', '--chunks', '1');
    assert.equal(status, 0, err);
    assert.match(err, /context of 600 tokens is larger .*; what it computes beyond them may make/);
  });
  it('takes OUT behind the model or by -o', () => {
    const few = ['-f', text, '-c', '64', '--chunks', '1'];
    for (const place of [
      (out) => [bundled, '-o', out],
      (out) => ['-o', out, bundled],
      (out) => ['-m', bundled, out],
    ]) {
      const out = join(temporaryDirectory(), 'out.gguf');
      const { status, err } = sluice(['imatrix', ...place(out), ...few]);
      assert.equal(status, 0, err);
      assert.ok(existsSync(out));
    }
  });
  it('takes the names of llama-imatrix, and a text from a pipe', () => {
    const path = join(temporaryDirectory(), 'out.gguf');
    const line = `"$SLUICE" imatrix -m ${bundled} -f - -o ${path} -c 64 --chunks 2 < ${text}`;
    const { status, err } = shell(line);
    assert.equal(status, 0, err);
    const { metadata } = JSON.parse(sluice(['inspect', path, '--json']).out);
    assert.deepEqual(metadata['imatrix.datasets'].first, ['standard input']);
  });
  it('leaves out what llama-imatrix asks besides', () => {
    const more = ['--output-format', 'gguf', '--output-frequency', '5', '--no-ppl'];
    const { status, err } = measured('-c', '64', '--chunks', '1', ...more);
    assert.equal(status, 0, err);
    assert.equal(err.match(/is left out: /g).length, 3);
  });
  const experts = optional('models/tiny/tiny-qwen3moe-f32.gguf');
  it('says how many experts got no tokens', { skip: experts.skip }, () => {
    const path = join(temporaryDirectory(), 'out.gguf');
    const run = (...args) => sluice(['imatrix', experts.path, '-f', text, path, ...args]);
    const one = run('-c', '1', '--chunks', '1');
    assert.equal(one.status, 0, one.err);
    assert.match(one.err, /warning: \d+ of \d+ matrices of experts got no tokens/);
    assert.equal(run().err, '');
  });
  const short = join(temporaryDirectory(), 'short.gguf');
  it('takes chunks of as many tokens as the model knows', () => {
    const args = ['edit', bundled, short, '--set', 'llama.context_length=100'];
    assert.equal(sluice(args).status, 0);
    const run = (...more) =>
      sluice([
        'imatrix',
        short,
        '-f',
        text,
        temporary('c.gguf'),
        '--chunks',
        '1',
        '--json',
        ...more,
      ]);
    const own = run();
    assert.equal(own.status, 0, own.err);
    assert.equal(JSON.parse(own.out).chunkSize, 100);
    assert.match(own.err, /chunks have 100 tokens, all that the model knows/);
    const given = run('-c', '64');
    assert.equal(JSON.parse(given.out).chunkSize, 64);
    assert.equal(given.err, '');
  });
  it('OUT stands once', () => {
    const out = join(temporaryDirectory(), 'out.gguf');
    for (const args of [
      ['other.gguf', '-m', bundled, '-f', text, out],
      [bundled, '-f', text, '-o', 'other.gguf', out],
    ]) {
      const { status, err } = sluice(['imatrix', ...args]);
      assert.equal(status, 2);
      assert.match(err, /one argument too many/);
    }
    assert.ok(!existsSync(out));
  });
  it('a text of less than a chunk is refused with what is needed', () => {
    const { status, out, err, path } = measured('-c', '100000', '--json');
    assert.equal(status, 2);
    assert.equal(events(out)[0].code, 'invalid_argument');
    assert.match(err, /the text has \d+ tokens; at least 100000, one chunk, are needed/);
    assert.ok(!existsSync(path));
  });
  it('what can not be done is refused, and nothing is written', () => {
    const dir = temporaryDirectory();
    const out = join(dir, 'out.gguf');
    for (const [args, reason] of [
      [[bundled, '-f', text], /no OUT/],
      [['-f', text, out], /no OUT; name the file to write behind the model/],
      [['-f', text], /no MODEL; name the one that is to be quantized/],
      [['-f', text, '-o', out], /no MODEL/],
      [['', '-f', text, out], /expected the path of a GGUF file/],
      [[bundled, out], /no text/],
      [[bundled, '-f', join(dir, 'none.txt'), out], /none\.txt/],
      [[bundled, '-f', text, text], /which is read/],
      [[bundled, '-f', text, bundled], /which is read/],
      [[bundled, '-f', text, join(dir, 'none', 'out.gguf')], /the folder .*none isn't there/],
      [[bundled, '-f', text, out, '--output-tensor'], /no tensor output\.weight/],
      [[bundled, '-f', text, out, '-c', '0'], /expected/],
      [[text, '-f', text, out], /not GGUF|GGUF/],
    ]) {
      const { status, err } = sluice(['imatrix', ...args]);
      assert.notEqual(status, 0, String(args));
      assert.match(err, reason);
    }
    assert.deepEqual(readdirSync(dir), []);
    assert.equal(readFileSync(text, 'utf8'), STORY.repeat(30));
  });
});

const has_script = shell('script --version').out.includes('util-linux');

describe('imatrix on a terminal', { skip: !has_script && "needs util-linux's script" }, () => {
  it('shows its progress, and Ctrl-C leaves nothing', async () => {
    const dir = temporaryDirectory();
    const long = temporary('long.txt', STORY.repeat(6000));
    const line = `"${program}" imatrix "${bundled}" -f "${long}" "${join(dir, 'out.gguf')}"`;
    const terminal = keep(
      spawn('script', ['-qec', line, '/dev/null'], { env: { ...environment, TERM: 'xterm' } }),
    );
    let shown = '';
    const status = await new Promise((resolve) => {
      terminal.on('close', resolve);
      terminal.stdout.on('data', (data) => {
        const before = /chunk \d+ of \d+/.test(shown);
        shown += data;
        if (!before && /chunk \d+ of \d+/.test(shown)) terminal.stdin.write('\x03');
      });
    });
    assert.equal(status, 130, shown);
    assert.doesNotMatch(shown, /error/);
    assert.deepEqual(readdirSync(dir), []);
  });
});
