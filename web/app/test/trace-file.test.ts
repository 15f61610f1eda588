// Traces as files: what is written is read back bit by bit, and what is no trace is refused with the line's number.
import { expect, it } from 'vitest';
import {
  MOST_LINE,
  TraceFileError,
  readTrace,
  short,
  writeTrace,
  type ReadTrace,
} from '../src/inside/trace-file';
import type { Trace } from '../src/inside/trace';
import { traceOf } from './traces';

const HEAD = {
  event: 'trace',
  version: 1,
  model: { name: 'stories', architecture: 'llama', vocab: 100, layers: 4 },
  prompt: { text: 'Once', ids: [1, 7], pieces: ['<s>', 'Once'] },
  options: { temperature: 0.8, topK: 40, seed: 5, stop: ['\n\n'], logitBias: { 3: -100 } },
  kernels: 'avx2',
};
const RAW = {
  logSum: 12.5,
  entropy: 1.25,
  draws: 3,
  best: [
    [9, 11.5],
    [2, 11.5],
    [4, -3.1],
  ],
};
const TOKEN = {
  event: 'token',
  id: 9,
  text: ' upon',
  logprob: -1,
  raw: RAW,
  pieces: { 9: ' upon' },
};
const DONE = { event: 'done', finish: 'eos', stats: { tokens: 1 } };

function fileOf(...lines: unknown[]): Blob {
  return new Blob(
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`),
  );
}

/** The code, the line and the field of why a file is refused. */
async function refusal(file: Blob): Promise<string> {
  try {
    await readTrace(file);
    return 'read';
  } catch (error) {
    if (!(error instanceof TraceFileError)) throw error;
    return `${error.code} ${error.line} ${error.field}`.trim();
  }
}

it('reads what the program writes', async () => {
  const waits = { event: 'working' };
  const plain = { event: 'token', id: 2, text: '', logprob: -0.5 };
  const { trace, finish, cut } = await readTrace(fileOf(HEAD, waits, TOKEN, plain, DONE));
  expect([finish, cut]).toEqual(['eos', false]);
  expect(trace.model).toEqual(HEAD.model);
  expect([trace.promptText, trace.promptIds, trace.seed]).toEqual(['Once', [1, 7], 5]);
  const { seed: _, ...options } = HEAD.options;
  expect(trace.options).toEqual(options);
  expect([...trace.pieces]).toEqual([
    [1, '<s>'],
    [7, 'Once'],
    [9, ' upon'],
  ]);
  expect(trace.tokens).toEqual([
    {
      id: 9,
      text: ' upon',
      logprob: -1,
      raw: {
        logSum: 12.5,
        entropy: 1.25,
        draws: 3,
        ids: Int32Array.of(9, 2, 4),
        logits: Float32Array.of(11.5, 11.5, -3.1),
      },
    },
    { id: 2, text: '', logprob: -0.5, raw: null },
  ]);
});

it('reads what it writes, bit by bit, in pieces of any size', async () => {
  const trace = traceOf(40);
  trace.seed = '18446744073709551615';
  const file = await writeTrace(trace, 'length');
  const read = await readTrace(file);
  expect(read).toEqual({ trace, finish: 'length', cut: false } satisfies ReadTrace);
  // A character of several bytes in two pieces of the stream
  const bytes = new Uint8Array(await file.arrayBuffer());
  const slow = new Blob([bytes]);
  slow.stream = () =>
    new ReadableStream({
      start(controller) {
        for (let i = 0; i < bytes.length; i += 7) controller.enqueue(bytes.slice(i, i + 7));
        controller.close();
      },
    });
  expect((await readTrace(slow)).trace).toEqual(trace);
  expect(await readTrace(await writeTrace(trace, null))).toMatchObject({
    finish: null,
    cut: false,
  });
});

it('writes numbers so short that no bit is lost', () => {
  const view = new DataView(new ArrayBuffer(4));
  let state = 1;
  for (let i = 0; i < 100_000; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    view.setUint32(0, state);
    const value = view.getFloat32(0);
    if (Number.isFinite(value)) expect(Math.fround(short(value))).toBe(value);
  }
  expect(String(short(Math.fround(0.1)))).toBe('0.1');
});

it('keeps that nothing is known of a token', async () => {
  const trace = traceOf(2);
  trace.tokens.push({ id: 3, text: 'x', logprob: NaN, raw: null });
  expect((await readTrace(await writeTrace(trace, null))).trace).toEqual(trace);
});

it('names each piece once', async () => {
  const text = await (await writeTrace(traceOf(40), 'eos')).text();
  const named = text
    .split('\n')
    .slice(1, -2)
    .flatMap((line) => Object.keys((JSON.parse(line) as { pieces: object }).pieces));
  expect(named.length).toBeGreaterThan(40);
  expect(new Set(named).size).toBe(named.length);
});

it('leaves out the half line of a run that was killed', async () => {
  const whole = await fileOf(HEAD, TOKEN).text();
  const { trace, finish, cut } = await readTrace(
    new Blob([whole, JSON.stringify(TOKEN).slice(0, 40)]),
  );
  expect([trace.tokens.length, finish, cut]).toEqual([1, null, true]);
  // All of it, but for the line's end
  const last = await readTrace(new Blob([whole, JSON.stringify(TOKEN)]));
  expect([last.trace.tokens.length, last.cut]).toEqual([2, false]);
  // A half line is only ever the last one.
  const half = JSON.stringify(TOKEN).slice(0, 40);
  expect(await refusal(fileOf(HEAD, half, TOKEN))).toBe('json 2');
});

const without = (from: object, name: string): object =>
  Object.fromEntries(Object.entries(from).filter(([key]) => key !== name));
const head = (more: object): object => ({ ...HEAD, ...more });
const token = (more: object): object => ({ ...TOKEN, ...more });
const raw = (more: object): object => token({ raw: { ...RAW, ...more } });

it.each<[string, unknown[], string]>([
  ['nothing', [], 'empty 0'],
  ['blank lines', ['', '  '], 'empty 0'],
  ['a text', ['Once upon a time'], 'first 1'],
  ['half a first line', [JSON.stringify(HEAD).slice(0, 30)], 'first 1'],
  ['a list', [[1, 2]], 'json 1'],
  ['no first line', [TOKEN, DONE], 'first 1'],
  ['a second first line', [HEAD, HEAD], 'field 2 event'],
  ['a line of no kind', [HEAD, { id: 1 }], 'field 2 event'],
  ['a number as a line', [HEAD, 12], 'json 2'],
  ['a newer version', [head({ version: 2 })], 'version 1 version'],
  ['no version', [without(HEAD, 'version')], 'field 1 version'],
  ['no vocabulary', [head({ model: { name: 'a', vocab: 0 } })], 'field 1 model.vocab'],
  ['a huge vocabulary', [head({ model: { name: 'a', vocab: 1e12 } })], 'field 1 model.vocab'],
  ['a name that is none', [head({ model: { name: 3, vocab: 9 } })], 'field 1 model.name'],
  ['a long name', [head({ model: { name: 'a'.repeat(2000), vocab: 9 } })], 'long 1 model.name'],
  [
    'a prompt beyond the vocabulary',
    [head({ prompt: { text: '', ids: [100] } })],
    'field 1 prompt.ids',
  ],
  ['half an id', [head({ prompt: { text: '', ids: [0.5] } })], 'field 1 prompt.ids'],
  [
    'too few pieces',
    [head({ prompt: { text: '', ids: [1, 2], pieces: ['a'] } })],
    'field 1 prompt.pieces',
  ],
  [
    'too many ids',
    [head({ prompt: { text: '', ids: Array(200_001).fill(1) } })],
    'many 1 prompt.ids',
  ],
  ['a hot option', [head({ options: { temperature: 1e9 } })], 'field 1 options.temperature'],
  ['an option of another kind', [head({ options: { topK: '40' } })], 'field 1 options.topK'],
  ['a stop that is none', [head({ options: { stop: [3] } })], 'field 1 options.stop'],
  ['a bias of no id', [head({ options: { logitBias: { a: 1 } } })], 'field 1 options.logitBias'],
  [
    'a seed of 65 bits',
    [head({ options: { seed: '18446744073709551616' } })],
    'field 1 options.seed',
  ],
  ['an id beyond the vocabulary', [HEAD, TOKEN, token({ id: 100 })], 'field 3 id'],
  ['a negative id', [HEAD, token({ id: -1 })], 'field 2 id'],
  ['no text', [HEAD, without(TOKEN, 'text')], 'field 2 text'],
  ['a long text', [HEAD, token({ text: 'a'.repeat(10_001) })], 'long 2 text'],
  ['a log-probability that is none', [HEAD, token({ logprob: '-1' })], 'field 2 logprob'],
  ['an infinite one', [HEAD, JSON.stringify(TOKEN).replace('-1,', '-1e999,')], 'field 2 logprob'],
  ['raw logits that are none', [HEAD, token({ raw: 5 })], 'field 2 raw'],
  ['no best ones', [HEAD, raw({ best: [] })], 'field 2 raw.best'],
  ['too many best ones', [HEAD, raw({ best: Array(257).fill([1, 2]) })], 'many 2 raw.best'],
  [
    'an id twice',
    [
      HEAD,
      raw({
        best: [
          [1, 2],
          [1, 1],
        ],
      }),
    ],
    'field 2 raw.best',
  ],
  ['a best id beyond the vocabulary', [HEAD, raw({ best: [[100, 2]] })], 'field 2 raw.best'],
  [
    'a worse one first',
    [
      HEAD,
      raw({
        best: [
          [1, 2],
          [2, 3],
        ],
      }),
    ],
    'field 2 raw.best',
  ],
  ['a logit beyond 32 bits', [HEAD, raw({ best: [[1, 1e300]] })], 'field 2 raw.best'],
  ['three numbers', [HEAD, raw({ best: [[1, 2, 3]] })], 'field 2 raw.best'],
  ['a negative entropy', [HEAD, raw({ entropy: -1 })], 'field 2 raw.entropy'],
  ['half a draw', [HEAD, raw({ draws: 1.5 })], 'field 2 raw.draws'],
  ['a piece beyond the vocabulary', [HEAD, token({ pieces: { 100: 'a' } })], 'field 2 pieces'],
  ['a piece of no id', [HEAD, token({ pieces: { '1e1': 'a' } })], 'field 2 pieces'],
  ['a piece that is no text', [HEAD, token({ pieces: { 3: 3 } })], 'field 2 pieces'],
  ['a token after the end', [HEAD, DONE, TOKEN], 'after 3'],
])('refuses %s', async (_, lines, why) => {
  expect(await refusal(fileOf(...lines))).toBe(why);
});

it('leaves out options that the library does not know, and what they might call', async () => {
  const options = { future: {}, signal: {}, onPromptProgress: 3, trace: 9, topP: 0.5, seed: null };
  const { trace } = await readTrace(fileOf(head({ options })));
  expect([trace.options, trace.seed]).toEqual([{ topP: 0.5 }, null]);
});

it('refuses a line that does not end, without keeping it, and a file that is too large', async () => {
  let asked = 0;
  const endless = new Blob(['x']);
  endless.stream = () =>
    new ReadableStream({
      pull(controller) {
        asked += 1;
        controller.enqueue(new Uint8Array(2 ** 22).fill(120));
      },
    });
  expect(await refusal(endless)).toBe('long 1');
  expect(asked).toBeLessThan(MOST_LINE / 2 ** 22 + 3);
  const large = new Blob([]);
  Object.defineProperty(large, 'size', { value: 2 ** 40 });
  expect(await refusal(large)).toBe('size 0');
});

it('says so where the browser can not read the file', async () => {
  const gone = new Blob(['x']);
  gone.stream = () =>
    new ReadableStream({
      pull(controller) {
        controller.error(new Error('gone'));
      },
    });
  expect(await refusal(gone)).toBe('unread 0');
});

it('works in slices', async () => {
  let time = 0;
  let pauses = 0;
  const slow = { now: () => (time += 5), pause: async () => void ++pauses };
  const trace: Trace = traceOf(60);
  const file = await writeTrace(trace, 'eos', slow);
  expect(pauses).toBeGreaterThan(15);
  pauses = 0;
  await readTrace(file, slow);
  expect(pauses).toBeGreaterThan(15);
});
