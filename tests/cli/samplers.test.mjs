// The samplers' options reach the sampler. (What they compute is tested in tests/sample/sampler_formulas_test.cc.)
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { events, kv, sluice, withMetadata } from './helpers.mjs';

/** The tokens that run writes. */
const tokens = (...more) =>
  events(
    sluice(['run', '-p', 'Once upon a time', '--json', '--ignore-eos', '-n', '8', ...more]).out,
  ).filter(({ event }) => event === 'token');
const ids = (...more) => tokens('--temp', '0', ...more).map(({ id }) => id);
const usual = ids();
/** A token that a bias makes the likeliest at each place. */
const forced = 300;
const force = ['--logit-bias', `${forced}+40`];
const all = Array(8).fill(forced);

describe('samplers', () => {
  it('bias, as llama.cpp writes it', () => {
    assert.ok(!usual.includes(forced));
    assert.deepEqual(ids(...force), all);
    assert.deepEqual(ids('-l', `${forced}=40`), all);
    assert.notEqual(ids('--logit-bias', `${usual[0]}-100`)[0], usual[0]);
    assert.deepEqual(ids(...force, '-l', `${forced}-100`), usual);
    const two = ids(...force, '--logit-bias', '301+50');
    assert.deepEqual(two, Array(8).fill(301));
    assert.deepEqual(ids('-l', `${forced}+40,301+50 302-1`), two);
    assert.deepEqual(ids('-l', 'none'), usual);
  });
  it('repeat window, presence and frequency', () => {
    const penalty = [...force, '--repeat-penalty', '100'];
    assert.deepEqual(ids(...penalty, '--repeat-last-n', '0'), all);
    assert.equal(ids(...penalty).filter((id) => id === forced).length, 1);
    assert.equal(ids(...penalty, '--repeat-last-n', '1')[2], forced);
    const longer = ids('-n', '40');
    for (const flag of ['--presence-penalty', '--frequency-penalty'])
      assert.notDeepEqual(ids('-n', '40', flag, '2'), longer);
  });
  it('DRY and its breakers', () => {
    const dry = [...force, '--dry-multiplier', '100'];
    assert.deepEqual(
      ids(...dry)
        .slice(0, 4)
        .map((id) => id === forced),
      [true, true, true, false],
    );
    assert.notEqual(ids(...dry, '--dry-allowed-length', '1')[2], forced);
    assert.deepEqual(ids(...dry, '--dry-penalty-last-n', '2'), all);
    const text = tokens('--temp', '0', ...force)[3].text;
    assert.deepEqual(ids(...dry, '--dry-sequence-breaker', text), all);
    const none = ['--dry-sequence-breaker', text, '--dry-sequence-breaker', 'none'];
    assert.deepEqual(ids(...dry, ...none), all);
    assert.deepEqual(ids(...dry, '--dry-sequence-breaker', 'none'), ids(...dry));
    assert.notDeepEqual(ids(...dry, '--dry-base', '1', '--dry-multiplier', '1'), ids(...dry));
  });
  it('top-n-sigma, typical-p and XTC', () => {
    const drawn = (...more) => tokens('--seed', '1', '--temp', '2', '--top-logprobs', '2', ...more);
    const wide = ['--top-k', '0', '--top-p', '1', '--min-p', '0'];
    for (const flag of ['--top-nsigma', '--top-n-sigma'])
      assert.deepEqual(
        drawn(...wide, flag, '0.001').map(({ id }) => id),
        usual,
      );
    assert.deepEqual(drawn(...wide, '--top-nsigma', '-1'), drawn(...wide));
    const xtc = ['--xtc-probability', '1', '--xtc-threshold', '0', '--top-k', '2'];
    for (const { id, top } of drawn(...wide, ...xtc)) assert.equal(id, top[1][0]);
    for (const flag of ['--typical', '--typical-p'])
      assert.notDeepEqual(drawn(...wide, flag, '0.2'), drawn(...wide));
  });
  it('are by default as the file sets them', () => {
    const file = withMetadata('sampling.gguf', {
      'general.sampling.temp': kv.f32(0),
      'general.sampling.penalty_repeat': kv.f32(1.5),
      'general.sampling.top_p': kv.f32(1.5),
    });
    const run = (...more) =>
      sluice(['run', file, '-p', 'Once upon a time', '--json', '--ignore-eos', '-n', '8', ...more]);
    const written = (...more) =>
      events(run(...more).out)
        .filter(({ event }) => event === 'token')
        .map(({ id }) => id);
    const { err } = run();
    assert.match(err, /sluice: warning: general.sampling.top_p is 1.5; expected a number from 0/);
    assert.match(
      err,
      /sluice: the model's file sets temp 0, repeat-penalty 1.5; options go before\n/,
    );
    assert.deepEqual(written(), ids('--repeat-penalty', '1.5'));
    assert.deepEqual(written('--repeat-penalty', '1'), usual);
    assert.match(run('--repeat-penalty', '1').err, /sets temp 0; options go before/);
    assert.doesNotMatch(
      run('--repeat-penalty', '1', '--temperature', '1').err,
      /options go before/,
    );
    assert.equal(run('-q').err, '');
    assert.match(
      sluice(['inspect', file]).out,
      /^ {2}sampling +temperature 0, repeatPenalty 1.5$/m,
    );
    assert.deepEqual(JSON.parse(sluice(['inspect', file, '--json']).out).sampling, {
      temperature: 0,
      repeatPenalty: 1.5,
    });
  });
  it('leave out what the file suppresses', () => {
    const file = withMetadata('suppressed.gguf', {
      'tokenizer.ggml.suppress_tokens': kv.i32s([usual[0]]),
    });
    const { out } = sluice([
      'run',
      file,
      '-p',
      'Once upon a time',
      '--json',
      '--temp',
      '0',
      '-n',
      '8',
    ]);
    const written = events(out).filter(({ event }) => event === 'token');
    assert.ok(written.length > 0 && written.every(({ id }) => id !== usual[0]));
  });
  it('refuse what they can not use', () => {
    for (const [flag, value, expected] of [
      ['--logit-bias', '5', /--logit-bias: expected a token id and a bias from -100 to 100/],
      ['--logit-bias', '5+101', /found '5\+101'/],
      ['--logit-bias', '-5+1', /found '-5\+1'/],
      ['--logit-bias', '5+nan', /found '5\+nan'/],
      ['--logit-bias', '5+1,x', /found 'x'/],
      ['--logit-bias', ',', /found ','/],
      ['--logit-bias', Array(1025).fill('5+1').join(), /: --logit-bias has 1025 tokens; at most/],
      ['--repeat-last-n', '-2', /a whole number from -1 to 2147483647, found '-2'/],
      ['--presence-penalty', '2.1', /a number from -2 to 2, found '2.1'/],
      ['--dry-base', '0.5', /a number from 1 to 100/],
      ['--dry-sequence-breaker', 'x'.repeat(65), /a text of 1 to 64 bytes/],
      ['--typical', 'nan', /a number from 0 to 1, found 'nan'/],
      ['--sampler-seq', 'edskypmxt', /--sampler-seq: the samplers have one order/],
    ]) {
      const { status, err } = sluice(['run', '-n', '1', flag, value]);
      assert.equal(status, 2, flag);
      assert.match(err, expected);
    }
    for (const flag of ['--stop', '--dry-sequence-breaker']) {
      const several = Array(65).fill([flag, 'x']).flat();
      const { status, err } = sluice(['run', '-n', '1', ...several]);
      assert.equal(status, 2, flag);
      assert.match(err, new RegExp(`: ${flag} has 65 texts; at most 64 are taken`));
    }
    const { status, err } = sluice(['run', '-n', '1', '--logit-bias', '99999+1']);
    assert.equal(status, 2);
    assert.match(
      err,
      /a logit bias is for the token 99999, which is not in the vocabulary; its ids are/,
    );
  });
});
