// Engines that texts and answers borrow: what they wait for, and what happens to them when a load or an engine fails.
import { SluiceError } from '@sluice/engine';
import { expect, it } from 'vitest';
import { fromAddress, type Source } from '../src/model/source';
import { settled, setUp, type FakeEngine } from './fake-engine';

const A = fromAddress('https://models.example/a.gguf');
const B = fromAddress('https://models.example/b.gguf');
const C = fromAddress('https://models.example/c.gguf');
const LARGE = 3e9;
/** Of a prompt of which nothing was computed before. */
const NEW = { reused: 0, cached: 0 };
const dead = (): SluiceError => new SluiceError('worker_died', 'gone', { facts: {} });
const broken = (): SluiceError => new SluiceError('download_failed', 'gone', { facts: {} });

type World = ReturnType<typeof setUp>;

/** Begins to load a model, up to its header. */
async function begin(at: World, source: Source, bytes = 1000): Promise<FakeEngine> {
  void at.models.open(source);
  await settled();
  const engine = at.load().header(undefined, bytes);
  await settled();
  return engine;
}

async function use(at: World, source: Source): Promise<FakeEngine> {
  const engine = await begin(at, source);
  engine.becomeReady();
  await settled();
  return engine;
}

/** A text that is written with the engines that it gets, until the test ends it. */
function write(at: World, from = at.lender.engineWhenReady) {
  const by: string[] = [];
  let end = (_: Error | null): void => undefined;
  let outcome = null as Awaited<ReturnType<typeof at.lender.withEngine>> | null;
  void at.runs.begin(async (signal) => {
    outcome = await at.lender.withEngine(
      signal,
      (engine) =>
        new Promise((done, failed) => {
          by.push(engine.info.name ?? '');
          end = (why) => (why === null ? done() : failed(why));
          signal.addEventListener('abort', () => failed(signal.reason as Error));
        }),
      from,
    );
  });
  return {
    by,
    /** null: well. */
    end: async (why: Error | null = null) => {
      end(why);
      await settled();
    },
    outcome: () => outcome,
  };
}

it('a text waits for the header of the first model, and is written while its weights come', async () => {
  const at = setUp();
  const text = write(at);
  await settled();
  expect(text.outcome()).toEqual({ kind: 'none' });
  void at.models.open(A);
  const second = write(at);
  await settled();
  expect(at.runs.run.value).toBe('waiting');
  const engine = at.load().header();
  await settled();
  expect(at.runs.run.value).toBe('reading');
  at.lender.onReading({ computed: 1, total: 9, secondsLeft: null, waiting: true, ...NEW });
  expect(at.runs.reading.value).toMatchObject({ computed: 1 });
  engine.stats = { ...engine.stats, seed: 7 };
  at.lender.onToken(engine);
  expect([at.runs.run.value, at.runs.reading.value]).toEqual(['writing', null]);
  expect(at.models.stats.value?.seed).toBe(7);
  engine.stats = { ...engine.stats, seed: 8 };
  // Only the first token begins the writing.
  at.lender.onToken(engine);
  expect(at.models.stats.value?.seed).toBe(7);
  await second.end();
  expect(second.outcome()).toEqual({ kind: 'done', by: engine });
  expect(at.models.stats.value?.seed).toBe(8);
  expect(at.runs.run.value).toBe('idle');
});

it('a text whose model’s load fails is begun anew with the model that comes back', async () => {
  const at = setUp();
  const old = await use(at, A);
  const next = await begin(at, B, LARGE);
  expect(old.closed).toBe(true);
  const text = write(at);
  await settled();
  expect(text.by).toEqual(['B']);
  next.fail(broken());
  await settled();
  await text.end(broken());
  expect(at.runs.run.value).toBe('waiting');
  at.load().header('A again').becomeReady();
  await settled();
  expect(text.by).toEqual(['B', 'A again']);
  await text.end();
  expect(text.outcome()).toMatchObject({ kind: 'done' });
  // It is the load that was told, and not the text.
  expect(at.models.problem.value).toMatchObject({ code: 'download_failed', retry: B });
});

it('an engine that dies is buried, with the model to try again', async () => {
  const at = setUp();
  const engine = await use(at, A);
  const text = write(at);
  await settled();
  await text.end(dead());
  expect(text.outcome()).toEqual({ kind: 'failed' });
  expect(engine.closed).toBe(true);
  expect(at.models.phase.value).toMatchObject({
    kind: 'failed',
    problem: { code: 'worker_died', retry: A, name: 'a.gguf' },
  });
  expect(at.models.stats.value).toBeNull();
  // What died is no model to return to.
  void at.models.open(B);
  await settled();
  at.load().fail(broken());
  await settled();
  expect(at.loads).toHaveLength(2);
  expect(at.models.phase.value).toMatchObject({ kind: 'failed', problem: { retry: B } });
});

it('any other failure of a text leaves the model as it is', async () => {
  const at = setUp();
  const engine = await use(at, A);
  const text = write(at);
  await settled();
  await text.end(new SluiceError('context_full', 'long', { facts: {} }));
  expect(text.outcome()).toEqual({ kind: 'failed' });
  expect(engine.closed).toBe(false);
  expect(at.models.phase.value).toMatchObject({
    kind: 'ready',
    problem: { code: 'context_full', retry: null },
  });
});

it('a stop ends a text that waits, and one that is written', async () => {
  const at = setUp();
  void at.models.open(A);
  const waiting = write(at);
  await settled();
  await at.runs.finish();
  expect(waiting.outcome()).toEqual({ kind: 'aborted', by: null });
  const engine = at.load().header();
  engine.becomeReady();
  await settled();
  const text = write(at);
  await settled();
  at.runs.stop();
  expect(at.runs.run.value).toBe('stopping');
  await settled();
  expect(text.outcome()).toEqual({ kind: 'aborted', by: engine });
  expect(at.models.problem.value).toBeNull();
  // Nothing runs: nothing is stopped.
  at.runs.stop();
  expect(at.runs.run.value).toBe('idle');
});

it('an interruption stops what is written, and leaves what waits', async () => {
  const at = setUp();
  void at.models.open(A);
  const text = write(at);
  await at.runs.interrupt();
  await settled();
  expect(at.runs.run.value).toBe('waiting');
  at.load().header().becomeReady();
  await settled();
  await at.runs.interrupt();
  expect(text.outcome()).toMatchObject({ kind: 'aborted' });
});

it('an answer waits for the model that the reader has chosen, over its pause and the choice of another', async () => {
  const at = setUp();
  await use(at, A);
  void at.models.open(B);
  await settled();
  const answer = write(at, at.lender.chosenModel());
  await settled();
  expect(at.runs.run.value).toBe('waiting');
  at.load().header();
  await settled();
  at.models.pause();
  await settled();
  // A is in use, and is no substitute.
  expect(at.runs.run.value).toBe('waiting');
  void at.models.open(B);
  await settled();
  void at.models.open(C);
  await settled();
  at.load().header().becomeReady();
  await settled();
  expect(answer.by).toEqual(['C']);
  await answer.end();
});

it('an answer is not written by the model that comes back in place of the chosen one', async () => {
  const at = setUp();
  await use(at, A);
  void at.models.open(B);
  await settled();
  const answer = write(at, at.lender.chosenModel());
  at.load().header('B', LARGE);
  await settled();
  expect(answer.by).toEqual(['B']);
  at.load().engine?.fail(broken());
  await settled();
  await answer.end(broken());
  expect(answer.outcome()).toEqual({ kind: 'none' });
  at.load().header().becomeReady();
  await settled();
  expect(answer.by).toEqual(['B']);
});

it('an answer asked for while the page looks for the last model waits for that', async () => {
  const at = setUp();
  at.models.seek({ ref: 'https://models.example/a.gguf', name: 'A' });
  const answer = write(at, at.lender.chosenModel());
  const other = at.lender.engineWhenReady(new AbortController().signal);
  await settled();
  expect(at.runs.run.value).toBe('waiting');
  const engine = await use(at, A);
  expect(answer.by).toEqual(['A']);
  expect(await other).toBe(engine);
  await answer.end();
});

it('of what was looked for in vain there is no engine', async () => {
  const at = setUp();
  at.models.seek({ ref: 'https://models.example/a.gguf', name: 'A' });
  const answer = write(at, at.lender.chosenModel());
  await settled();
  at.models.seekNoMore();
  await settled();
  expect(answer.outcome()).toEqual({ kind: 'none' });
});
