// A trace from a file: it is looked into without a model, and with its own one as if it had just been written.
import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { XrayController } from '../src/inside/controller';
import { closeTrace, file, openIfTrace, openTrace } from '../src/inside/file-state';
import { hasModelOf, subjectOfFile } from '../src/inside/file-subject';
import type { Insight } from '../src/inside/library';
import { fileOpen } from '../src/inside/open';
import { plainChoice } from '../src/inside/plain-choice';
import type { Subject } from '../src/inside/subject';
import type { Trace } from '../src/inside/trace';
import { writeTrace } from '../src/inside/trace-file';
import { FakeClock, settled } from './controllers';
import { FakeInsight, idOf, rawOf } from './xray-setup';

let library: FakeInsight;
const engine = signal<Insight | null>(null);
const subject = signal<Subject | null>(null);
let end = (): void => undefined;

beforeEach(() => {
  library = new FakeInsight();
  engine.value = null;
});
afterEach(() => {
  end();
  closeTrace();
});

/** A text of two tokens; of the second one nothing was seen. */
function tiny(): Trace {
  return {
    model: { name: 'tiny', architecture: 'llama', vocab: 9, layers: 2 },
    promptText: 'Once',
    promptIds: [0, 1],
    tokens: [
      { id: idOf(' upon'), text: ' upon', logprob: -1, raw: rawOf(0) },
      { id: idOf(' a'), text: ' a', logprob: -2, raw: null },
    ],
    options: { temperature: 0.25, topK: 3, typicalP: 0.5, maxTokens: 2, stop: ['x'] },
    seed: 7,
    pieces: new Map([[idOf(' upon'), ' upon']]),
  };
}

async function open(trace: Trace): Promise<XrayController> {
  subject.value = subjectOfFile('file 1', trace);
  const clock = new FakeClock();
  const xray = new XrayController({ subject, engine, busy: signal(false), clock });
  end = xray.start();
  await settled();
  clock.draw();
  await settled();
  return xray;
}

it('is seen without a model: what each token was chosen from, with its probability', async () => {
  const xray = await open(tiny());
  expect([xray.nothing.value, xray.length.value]).toEqual([null, 2]);
  const choice = xray.shown.value?.choice;
  expect(choice).toMatchObject({ steps: [], place: null, taken: idOf(' upon') });
  expect(choice?.candidates[0]).toMatchObject({ id: 0, logprob: -0.5, cut: null });
  expect(xray.pieces.get(idOf(' upon'))).toBe(' upon');
  xray.step(1);
  await settled();
  expect(xray.shown.value).toBeNull();
});

it('is asked of its own model with the options of the file, and computed where nothing was seen', async () => {
  engine.value = library.insight;
  const xray = await open(tiny());
  const { options } = library.asked.choice[0] ?? {};
  expect(options).toMatchObject({ temperature: 0.25, topK: 3, typicalP: 0.5, seed: 7, draws: 0 });
  expect(options).not.toHaveProperty('stop');
  expect(options).not.toHaveProperty('maxTokens');
  // What was moved comes before the file's own.
  xray.move('topK', 5);
  await settled();
  expect(library.asked.choice.at(-1)?.options).toMatchObject({ topK: 5, typicalP: 0.5 });
  expect(xray.chain.value?.at(1)?.raw).not.toBeNull();
  // Saved again, it has what was computed.
  expect(xray.trace()?.tokens[1]?.raw).not.toBeNull();
  expect(xray.trace()).toMatchObject({ seed: 7, promptText: 'Once', options: { maxTokens: 2 } });
  // In a file all candidates have their names.
  const whole = await xray.whole();
  expect([...(whole?.pieces.keys() ?? [])].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(await xray.branch(idOf(' sea'))).toBe(false);
});

it('is of a model by its name, its kind and its size', () => {
  const { insight } = library;
  expect(hasModelOf(insight, tiny())).toBe(true);
  const { model } = tiny();
  for (const more of [{ name: 'other' }, { vocab: 10 }, { layers: 3 }, { architecture: 'qwen3' }])
    expect(hasModelOf(insight, { ...tiny(), model: { ...model, ...more } })).toBe(false);
  expect(
    hasModelOf(insight, { ...tiny(), model: { ...model, layers: null, architecture: null } }),
  ).toBe(true);
});

it('without a model it is not known what the filters left, and with which chance a token was drawn', () => {
  const choice = plainChoice(rawOf(0), 2, 4);
  expect(choice.candidates.map(({ id }) => id)).toEqual([0, 1, 2, 3]);
  expect(choice.candidates.map(({ p }) => p)).toEqual([NaN, NaN, NaN, NaN]);
  expect([choice.nucleus, choice.mass]).toEqual([NaN, NaN]);
});

it('is read, shown and closed; a file that is none says why', async () => {
  const blob = await writeTrace(tiny(), 'eos');
  await openTrace(new File([blob], 'tiny.jsonl'));
  expect(fileOpen.value).toBe(true);
  expect(file.value).toMatchObject({ name: 'tiny.jsonl', cut: false, refused: null });
  expect(file.value?.subject?.file?.tokens).toHaveLength(2);
  await openTrace(new File(['{"event":"trace"}\n'], 'bad.jsonl'));
  expect(file.value?.subject).toBeNull();
  expect(file.value?.refused).toMatchObject({ code: 'field', line: 1, field: 'version' });
  closeTrace();
  expect([file.value, fileOpen.value]).toEqual([null, false]);
});

it('is opened where it is dropped, and another file is not', async () => {
  const blob = await writeTrace(tiny(), 'eos');
  expect(await openIfTrace(new File(['{"event":"other"}\n'], 'other.jsonl'))).toBe(false);
  expect(fileOpen.value).toBe(false);
  expect(await openIfTrace(new File([blob], 'tiny.jsonl'))).toBe(true);
  expect(fileOpen.value).toBe(true);
});

it('of two files the one that was opened last is shown', async () => {
  const blob = await writeTrace(tiny(), 'eos');
  const first = openTrace(new File([blob], 'first.jsonl'));
  const second = openTrace(new File([blob], 'second.jsonl'));
  await Promise.all([first, second]);
  expect(file.value?.name).toBe('second.jsonl');
  const third = openTrace(new File([blob], 'third.jsonl'));
  closeTrace();
  await third;
  expect(file.value).toBeNull();
});
