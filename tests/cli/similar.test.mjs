// sluice similar, with a model whose vectors follow from its tables.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { bert, unit, vector_of } from './bert-folder.mjs';
import { bundled, events, shell, sluice, temporary } from './helpers.mjs';

const model = bert();
const LINES = [
  'Paris is the capital of France.',
  '',
  'The cat ran home.',
  '  ',
  'The dog ran.',
  'city',
];
const file = temporary('lines.txt', `${LINES.join('\r\n')}\r\n`);

/** The tokens of a text of the model's words. */
const tokens_of = (text) => text.toLowerCase().match(/\w+|[.:]/g);
const cosine = (a, b) => {
  const [x, y] = [a, b].map((text) => unit(vector_of(tokens_of(text))));
  return x.reduce((sum, each, i) => sum + each * y[i], 0);
};
/** What should be found: the lines that are texts, best first. */
const expected = (query, before_query = '', before_text = '') =>
  LINES.map((text, i) => ({ line: i + 1, text }))
    .filter(({ text }) => text.trim() !== '')
    .map((each) => ({ ...each, score: cosine(before_query + query, before_text + each.text) }))
    .sort((a, b) => b.score - a.score);

function check(args, answers) {
  const { status, out, err } = sluice(['similar', ...args, '--json', '-q']);
  assert.equal(status, 0, err);
  const found = events(out);
  assert.deepEqual(
    found.map(({ line, text }) => ({ line, text })),
    answers.map(({ line, text }) => ({ line, text })),
  );
  found.forEach(({ score, ...rest }, i) => {
    assert.deepEqual(Object.keys(rest), ['line', 'text']);
    assert.ok(Math.abs(score - answers[i].score) < 1e-6, `${score}, not ${answers[i].score}`);
  });
}

describe('similar', () => {
  it('finds the lines that are most like the query, best first; empty ones are no texts', () => {
    check([model, '-p', 'The dog ran home.', '-f', file], expected('The dog ran home.'));
    assert.equal(expected('The dog ran home.')[0].text, 'The cat ran home.');
    check([model, '-p', 'France', '-f', file, '--top', '2'], expected('France').slice(0, 2));
    check([model, 'France', '-f', file, '--top', '100'], expected('France'));
  });
  it('prints score, number and text, and figures on stderr', () => {
    const { status, out, err } = sluice([
      'similar',
      model,
      '-p',
      'The cat ran home.',
      '-f',
      file,
      '--top',
      '1',
    ]);
    assert.equal(status, 0);
    assert.equal(out, ' 1.0000      3  The cat ran home.\n');
    assert.match(err, /^sluice: 5 texts, \d+ tokens in /);
  });
  it('puts before the query and the texts what the family wants, or what is given', () => {
    const e5 = bert({ head: false, name: 'e5-small-v2' });
    const answers = expected('home', 'query: ', 'zzz : ');
    check([e5, '-p', 'home', '-f', file], answers);
    check(
      [
        model,
        '-p',
        'home',
        '-f',
        file,
        '--query-prefix',
        'query: ',
        '--document-prefix',
        'passage: ',
      ],
      answers,
    );
    check(
      [e5, '-p', 'home', '-f', file, '--query-prefix', '', '--document-prefix', ''],
      expected('home'),
    );
  });
  it('a model that was made to write text is noted', () => {
    const { err } = sluice(['similar', bundled, '-p', 'dog', '-f', file]);
    assert.match(err, /^sluice: the model was made to write text, not for vectors: /m);
  });
  it('the query and the texts may come by standard input', () => {
    const by_option = sluice(['similar', model, '-p', 'home', '-f', file, '-q']).out;
    assert.equal(shell(`echo home | "$SLUICE" similar "${model}" -f "${file}" -q`).out, by_option);
    const input = `${LINES.join('\n')}\n`;
    assert.equal(sluice(['similar', model, 'home', '-f', '-', '-q'], { input }).out, by_option);
  });
  it('hostile lines control neither the terminal nor the JSON', () => {
    const odd = temporary('odd.txt', Buffer.from('a\x1b[31m\xff\n"dog"\n', 'latin1'));
    const { status, out } = sluice(['similar', model, 'dog', '-f', odd, '--json', '-q']);
    assert.equal(status, 0);
    assert.deepEqual(
      events(out).map(({ text }) => text),
      ['"dog"', 'a\x1b[31m\ufffd'],
    );
    assert.ok(!sluice(['similar', model, 'dog', '-f', odd]).out.includes('\x1b'));
  });
  it('wrong usage is refused', () => {
    const refused = (status, args, message) => {
      const found = sluice(['similar', ...args], { input: '' });
      assert.equal(found.status, status, args.join(' '));
      assert.match(found.err, message);
    };
    refused(2, [model, '-p', 'dog'], /no texts; name a file of them with -f/);
    refused(
      2,
      [model, 'dog', '-f', 'a.txt', '-f', file],
      /-f is given twice, with a\.txt and .*lines\.txt; write the texts into one file/,
    );
    refused(
      2,
      [model, '-p', 'dog', file],
      /two prompts, but .*lines\.txt is a file; -f reads it; see/,
    );
    refused(2, [model, '-p', 'dog', 'cat'], /the prompt is given twice/);
    const given = sluice(['logits', bundled, '-p', 'dog', file]);
    assert.match(given.err, /the prompt is given twice/, 'it has no -f');
    refused(2, [model, '-f', file], /no query; give one with -p/);
    refused(2, [model, 'dog', '-f', temporary('none.txt', '\n \n')], /has no text/);
    refused(3, [model, 'dog', '-f', '/none'], /can't open the texts' file \/none/);
    refused(2, [model, 'dog', '-f', file, '--top', '0'], /--top/);
    const long = temporary('long.txt', `dog\n\n${'dog '.repeat(40)}`);
    refused(1, [model, 'dog', '-f', long], /line 3 has 42 tokens, but the context has 24/);
  });
});
