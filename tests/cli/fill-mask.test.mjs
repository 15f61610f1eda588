// sluice fill-mask: with a model of known answers, and with those of transformers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { SCORES, bert, id_of, logprob_of } from './bert-folder.mjs';
import {
  bundled,
  events,
  optional,
  shell,
  sluice,
  temporary,
  temporaryDirectory,
} from './helpers.mjs';

const model = bert();
const BEST = Object.keys(SCORES);

const fill = (...args) => {
  const { status, out, err } = sluice(['fill-mask', ...args, '--json']);
  assert.equal(status, 0, err);
  return JSON.parse(out);
};

describe('fill-mask', () => {
  it('prints the filled text, and the likeliest tokens of a mask', () => {
    const { status, out, err } = sluice([
      'fill-mask',
      model,
      '-p',
      'Paris is the [MASK] of France.',
      '--top',
      '3',
    ]);
    assert.equal(status, 0, err);
    const row = (token) =>
      `${String(id_of(token)).padStart(8)}  ${Math.exp(logprob_of(token)).toFixed(6).padStart(11)}  "${token}"\n`;
    assert.equal(
      out,
      'Paris is the capital of France.\n\ntoken 4\n      id  probability  token\n' +
        BEST.slice(0, 3).map(row).join(''),
    );
  });
  it('--json has the position, and for each token its log-probability', () => {
    const { text, tokens, masks, ...rest } = fill(model, '-p', 'Paris is the [MASK] of France.');
    assert.deepEqual(rest, {});
    assert.equal(text, 'Paris is the capital of France.');
    assert.equal(tokens, 9);
    assert.equal(masks.length, 1);
    assert.equal(masks[0].position, 4);
    assert.deepEqual(
      masks[0].top.map(({ token }) => token),
      BEST,
    );
    for (const { id, token, logprob, ...others } of masks[0].top) {
      assert.deepEqual(others, {});
      assert.equal(id, id_of(token));
      assert.ok(Math.abs(logprob - logprob_of(token)) < 1e-5);
    }
  });
  it('finds several masks, those at the ends too', () => {
    const { text, masks } = fill(model, '[MASK] is a [MASK] of[MASK]', '--top', '1');
    assert.equal(text, 'capital is a capital ofcapital');
    assert.deepEqual(
      masks.map(({ position, top }) => [position, top.length]),
      [
        [1, 1],
        [4, 1],
        [6, 1],
      ],
    );
    const { out } = sluice(['fill-mask', model, '[MASK] dog [MASK]']);
    assert.match(out, /\nmask 1, token 1\n[^]*\nmask 2, token 3\n/);
  });
  it('takes the text of a file or a pipe, and ids as they are', () => {
    const text = 'The dog [MASK].';
    const answer = fill(model, '-p', text);
    assert.deepEqual(fill(model, '-f', temporary('text.txt', text)), answer);
    const piped = shell(`echo '${text}' | "$SLUICE" fill-mask "${model}" --json`);
    assert.deepEqual(JSON.parse(piped.out), answer);
    const ids = ['[CLS]', 'the', 'dog', '[MASK]', '.', '[SEP]'].map(id_of);
    const by_ids = fill(model, '--tokens', ids.join());
    assert.deepEqual(by_ids.masks, answer.masks);
    assert.match(by_ids.text, /^the dog capital ?\.$/);
  });
  it('the budget and the threads change nothing', () => {
    const answer = fill(model, 'The [MASK] ran');
    const { least } = JSON.parse(sluice(['inspect', model, '--json']).out).memory;
    assert.deepEqual(
      fill(model, 'The [MASK] ran', '--memory-budget', `${least}`, '-t', '1'),
      answer,
    );
  });
  it('inspect says that it finds masked words', () => {
    const { makes, pooling } = JSON.parse(sluice(['inspect', model, '--json']).out);
    assert.deepEqual([makes, pooling], [['vectors', 'masks'], 'mean']);
    assert.match(
      sluice(['inspect', model]).out,
      /makes +vectors of 32 numbers \(pooling mean\), words for masks\n/,
    );
  });
  it('its help says that it needs a model', () => {
    const { out } = sluice(['fill-mask', '--help']);
    assert.match(out, /sluice fill-mask MODEL /);
    assert.doesNotMatch(out, /bundled|answer/);
  });
  it('what it needs is said', () => {
    const refused = (status, args, message) => {
      const found = sluice(['fill-mask', ...args, '--json'], { input: '' });
      assert.equal(found.status, status, args.join(' '));
      assert.match(events(found.out).at(-1).message, message);
    };
    refused(
      2,
      [model, '-p', 'The dog ran'],
      /the text has no mask; write \[MASK\] in place of the word/,
    );
    refused(2, [model, '--tokens', '2,5,3'], /has no mask; write \[MASK\]/);
    refused(2, [model], /no text; give one with -p/);
    refused(2, [model, '-p', ''], /has no mask/);
    refused(2, ['-p', '[MASK]'], /no model; name one that finds masked words/);
    refused(1, [model, '-p', `[MASK] ${'dog '.repeat(40)}`], /43 tokens/);
    refused(
      3,
      [bundled, '-p', '[MASK]'],
      /has no head that finds masked words .*sluice convert writes it/,
    );
    refused(3, [bert({ head: false }), '-p', '[MASK]'], /\. For its vectors: sluice embed$/);
  });
});

const answers = optional('models/hf/answers.json');
describe('fill-mask gives the answers of transformers', { skip: answers.skip }, () => {
  for (const family of ['bert', 'distilbert']) {
    it(family, () => {
      const file = join(temporaryDirectory(), `${family}.gguf`);
      const made = sluice(['convert', optional(`models/hf/${family}`).path, file, '--type', 'F32']);
      assert.equal(made.status, 0, made.err);
      const { fill_mask, logits } = JSON.parse(readFileSync(answers.path))[family];
      for (const { text, ids, masks } of fill_mask) {
        const found = fill(file, '-p', text);
        assert.equal(found.tokens, ids.length, text);
        assert.equal(found.masks.length, masks.length);
        masks.forEach(({ position, top }, i) => {
          assert.equal(found.masks[i].position, position);
          top.forEach(([id, token, probability], rank) => {
            const each = found.masks[i].top[rank];
            assert.deepEqual([each.id, each.token], [id, token], text);
            assert.ok(Math.abs(each.logprob - Math.log(probability)) < 1e-4, `${text}: ${token}`);
          });
        });
        assert.deepEqual(fill(file, '--tokens', ids.join()).masks, found.masks);
      }
      // All of them at one mask: the differences of two scores are those of the logits.
      const all = fill(file, '-p', fill_mask[0].text, '--top', `${logits.values.length}`).masks[0]
        .top;
      assert.equal(all.length, logits.values.length);
      const offset = all[0].logprob - logits.values[all[0].id];
      for (const { id, logprob } of all)
        assert.ok(Math.abs(logprob - offset - logits.values[id]) < 2e-4, `token ${id}`);
    });
  }
});
