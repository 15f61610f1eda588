// Sessions as files in Node: what the program has saved goes on here, and the other way, with the same bits.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { openAsBlob } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BUNDLED, Engine, NO_PROGRAM, program, temporaryFolder, tiny } from './helpers.mjs';

const PROMPT = 'Once upon a time, there was a little girl named Lily.';
const TOKENS = 40;
const OPTIONS = { maxTokens: TOKENS, topLogprobs: 5, ignoreEos: true };

/** The tokens that the program writes with the session in a file: behind it, or behind a prompt. */
function write(model, kvType, session, ...args) {
  const lines = program(
    ...['run', '-m', model, '--json', '-n', String(TOKENS), '--top-logprobs', '5'],
    ...['--ignore-eos', '--kv-type', kvType, '--session', session, ...args],
  );
  return lines
    .filter(({ event }) => event === 'token')
    .map(({ id, text, logprob, top }) => ({ id, text, logprob, top }));
}

async function collect(tokens) {
  const all = [];
  for await (const { id, text, logprob, top } of tokens) all.push({ id, text, logprob, top });
  return all;
}

const bytesOf = async (blob) => Buffer.from(await blob.arrayBuffer());

for (const [name, flavour, threads, kvType] of [
  ['stories', 'simd', 1, 'f16'],
  ['stories', 'simd-mt', 2, 'q8_0'],
  ['stories', 'simd', 1, 'f32'],
  // What windows hold, and what sums up the past.
  ['gemma4-q8_0', 'simd-mt', 2, 'f16'],
  ['qwen35-q8_0', 'simd', 1, 'q8_0'],
]) {
  test(
    `${name}, ${flavour}, ${kvType}: from the program and back`,
    { skip: NO_PROGRAM },
    async () => {
      const model = name === 'stories' ? BUNDLED : tiny(name);
      const file = path.join(temporaryFolder(), 'a.sluice');
      write(model, kvType, file, '-p', PROMPT, '--seed', '11');
      const begun = fs.readFileSync(file);
      const expected = write(model, kvType, file);
      const after = fs.readFileSync(file);

      const engine = await Engine.load(model, { flavour, threads, kvType });
      const session = await engine.restore(new Blob([begun]));
      assert.ok((await bytesOf(await session.save())).equals(begun));
      assert.deepEqual(await collect(session.resume(OPTIONS)), expected);
      assert.ok((await bytesOf(await session.save())).equals(after));

      const own = engine.session();
      await collect(own.generate(PROMPT, { ...OPTIONS, seed: 5 }));
      const ours = await bytesOf(await own.save());
      const next = await collect(own.resume(OPTIONS));
      assert.equal(next.length, TOKENS);
      for (const change of [1, 20, 3000]) {
        const bad = Buffer.from(begun);
        bad[change] ^= 1;
        await assert.rejects(engine.restore(new Blob([bad])), { code: 'bad_file' });
      }
      await engine.close();
      fs.writeFileSync(file, ours);
      assert.deepEqual(write(model, kvType, file), next);
    },
  );
}

test('a prefix is a path, a file: URL, or a Blob of a file', { skip: NO_PROGRAM }, async () => {
  const file = path.join(temporaryFolder(), 'a.sluice');
  program('run', '-m', BUNDLED, '-p', PROMPT, '-n', '0', '--session', file, '--json');
  const engine = await Engine.load(BUNDLED, { threads: 1 });
  const expected = await engine.complete(`${PROMPT} She`, { maxTokens: 10, temperature: 0 });
  for (const prefix of [file, pathToFileURL(file), await openAsBlob(file)]) {
    const session = await engine.session({ prefix });
    const tokens = (await session.tokens()).length;
    const { text } = await session.complete(`${PROMPT} She`, { maxTokens: 10, temperature: 0 });
    assert.equal(text, expected.text);
    assert.equal(session.stats.reusedTokens, tokens);
    await session.close();
  }
  await assert.rejects(engine.session({ prefix: `${file}.none` }), { code: 'not_found' });
  await engine.close();
});

test(
  'a session of another KV type, model or context is refused by name',
  { skip: NO_PROGRAM },
  async () => {
    const file = path.join(temporaryFolder(), 'a.sluice');
    write(BUNDLED, 'q8_0', file, '-p', PROMPT);
    const saved = new Blob([fs.readFileSync(file)]);
    for (const [model, load, code] of [
      [BUNDLED, {}, 'invalid_argument'],
      [BUNDLED, { kvType: 'q8_0', contextSize: 20 }, 'context_full'],
      [tiny('llama-q8_0'), { kvType: 'q8_0' }, 'invalid_argument'],
    ]) {
      const engine = await Engine.load(model, load);
      await assert.rejects(engine.restore(saved), { code });
      await engine.close();
    }
  },
);

test('a saved session is written to a file, and read again', async () => {
  const file = path.join(temporaryFolder(), 'a.sluice');
  const engine = await Engine.load(BUNDLED, { threads: 2 });
  const session = engine.session();
  await session.complete(PROMPT, { maxTokens: 10, seed: 3 });
  fs.writeFileSync(file, await bytesOf(await session.save()));
  const expected = await session.complete(PROMPT, { maxTokens: 5, temperature: 0 });
  await engine.close();
  const again = await Engine.load(BUNDLED, { flavour: 'simd' });
  const restored = await again.restore(await openAsBlob(file));
  const { tokens } = await restored.complete(PROMPT, { maxTokens: 5, temperature: 0 });
  assert.deepEqual(tokens, expected.tokens);
  await again.close();
});
