// What the page's model goes through: loads that end, fail, are replaced, cancelled and paused, and what stays in use.
import { SluiceError, type WeightsView } from '@sluice/engine';
import { describe, expect, it } from 'vitest';
import type { Choice } from '../src/model/choice';
import { BUNDLED, fromAddress, type Source } from '../src/model/source';
import { t } from '../src/texts';
import { noteOf, settled, setUp, type FakeEngine } from './fake-engine';

const A = fromAddress('https://models.example/a.gguf');
const B = fromAddress('https://models.example/b.gguf');
const C = fromAddress('https://models.example/c.gguf');
/** More than fits beside another model. */
const LARGE = 3e9;
const broken = (): SluiceError => new SluiceError('download_failed', 'gone', { facts: {} });
const full = (): SluiceError => new SluiceError('out_of_memory', 'full', { facts: {} });
const { said: words } = t.value.model;

type World = ReturnType<typeof setUp>;

/** Loads a model to its end. */
async function use(at: World, source: Source, bytes = 1000): Promise<FakeEngine> {
  const end = at.models.open(source);
  await settled();
  const engine = at.load().header(undefined, bytes);
  await settled();
  engine.becomeReady();
  await end;
  return engine;
}

/** The phase in short: what it is called, the step of the load, the model in use. */
function now({ models }: World): string {
  const phase = models.phase.value;
  const coming = models.loading.value;
  const of = coming === null ? '' : `${coming.back ? ' back' : ''} ${coming.step}`;
  return `${phase.kind}${of}, ${models.model.value?.info.name ?? 'none'} in use`;
}

describe('a load', () => {
  it('goes from nothing to a model in use', async () => {
    const at = setUp();
    const { models } = at;
    expect(now(at)).toBe('none, none in use');
    expect(models.writable.value).toBe(false);
    const end = models.open(A);
    // At once: what is asked from now on waits for it.
    expect(now(at)).toBe('loading header, none in use');
    expect(models.writable.value).toBe(true);
    await settled();
    expect(at.said).toEqual([words.loading('a')]);
    expect(at.load()).toMatchObject({
      source: 'https://models.example/a.gguf',
      options: { cache: 'opfs', kvType: 'f16', contextSize: undefined, memoryBudget: undefined },
    });
    at.load().progress(400);
    expect(models.loading.value?.progress).toMatchObject({ loaded: 400 });
    const engine = at.load().header('Model A');
    await settled();
    // With no other model in use it is shown when its header is read.
    expect(now(at)).toBe('loading shown, Model A in use');
    expect(models.currentEngine()).toBe(engine);
    expect(models.arriving.value).toBe(false);
    engine.stats = { ...engine.stats, heapBytes: 5, notes: [noteOf('one_thread')] };
    at.load().progress(800);
    expect(models.stats.value?.heapBytes).toBe(5);
    expect(models.loading.value?.notes).toEqual([noteOf('one_thread')]);
    engine.becomeReady();
    await end;
    expect(now(at)).toBe('ready, Model A in use');
    expect(models.phase.value).toMatchObject({ paused: null, problem: null });
    expect(at.said.at(-1)).toBe(words.ready('Model A'));
  });

  it('takes the settings of the time when it begins', async () => {
    const at = setUp();
    at.settings.value = { ...at.settings.value, context: 2048, memory: 700 };
    await use(at, A);
    expect(at.load().options).toMatchObject({ contextSize: 2048, memoryBudget: 700e6 });
    expect(at.models.stale.value).toBe(false);
    at.settings.value = { ...at.settings.value, context: 4096 };
    expect(at.models.stale.value).toBe(true);
    const end = at.models.open(A);
    expect(at.models.stale.value).toBe(false);
    await settled();
    at.load().header().becomeReady();
    await end;
    expect(at.models.model.value?.context).toBe(4096);
    expect(at.models.stale.value).toBe(false);
  });

  it('is replaced by another one before its header is read', async () => {
    const at = setUp();
    void at.models.open(A);
    await settled();
    const end = at.models.open(B);
    expect(at.loads[0]?.options.signal?.aborted).toBe(true);
    await settled();
    expect(now(at)).toBe('loading header, none in use');
    expect(at.models.loading.value?.source).toBe(B);
    // What is still told of the first one is not told of this one.
    at.loads[0]?.progress(999);
    expect(at.models.loading.value?.progress).toBeNull();
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, B in use');
    expect(at.models.problem.value).toBeNull();
    expect(at.said).toEqual([words.loading('a'), words.loading('b'), words.ready('B')]);
  });

  it('is replaced after its header is read: its engine is closed first', async () => {
    const at = setUp();
    void at.models.open(A);
    await settled();
    const first = at.load().header();
    await settled();
    expect(now(at)).toBe('loading shown, A in use');
    const end = at.models.open(B);
    await settled();
    expect(first.closed).toBe(true);
    expect(now(at)).toBe('loading header, none in use');
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, B in use');
  });

  it('does not even begin if a third one comes while the first ends', async () => {
    const at = setUp();
    void at.models.open(A);
    await settled();
    void at.models.open(B);
    const end = at.models.open(C);
    await settled();
    expect(at.loads.map(({ source }) => source)).toEqual([
      'https://models.example/a.gguf',
      'https://models.example/c.gguf',
    ]);
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, C in use');
  });

  it('that fails is told, with what to try again', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    at.load().fail(broken());
    await end;
    expect(now(at)).toBe('failed, none in use');
    expect(at.models.problem.value).toMatchObject({
      code: 'download_failed',
      retry: A,
      name: 'a.gguf',
      also: null,
    });
    expect(at.models.writable.value).toBe(false);
    at.models.closeProblem();
    expect(now(at)).toBe('none, none in use');
    // The very first load failed: the next one has nothing to return to.
    const next = at.models.open(B);
    await settled();
    at.load().fail(broken());
    await next;
    expect(at.loads).toHaveLength(2);
    expect(at.models.problem.value).toMatchObject({ retry: B });
  });

  it('is offered again only where that may help', () => {
    const { models } = setUp();
    models.fail(new SluiceError('unsupported_model', 'odd', { facts: {} }), A);
    expect(models.problem.value?.retry).toBeNull();
    const file: Source = { kind: 'files', files: [new File(['x'], 'x.gguf')] };
    models.fail(new SluiceError('bad_file', 'odd', { facts: {} }), file);
    expect(models.problem.value).toMatchObject({ retry: null, name: 'x.gguf' });
    models.fail(new SluiceError('bad_file', 'odd', { facts: {} }), A);
    expect(models.problem.value?.retry).toBe(A);
    models.fail(new Error('what no code is for'), null);
    expect(models.problem.value).toMatchObject({ code: 'worker_died', retry: null, name: '' });
  });
});

describe('cancelling', () => {
  it('before the header, with no other model: there is none', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    at.models.cancel();
    await end;
    expect(now(at)).toBe('none, none in use');
    expect(at.said.at(-1)).toBe(words.cancelled);
    expect(at.models.problem.value).toBeNull();
  });

  it('keeps the model in use, where both fit', async () => {
    const at = setUp();
    const old = await use(at, A);
    old.tell({ bytesPerSecond: 1 });
    const end = at.models.open(B);
    await settled();
    const next = at.load().header();
    await settled();
    expect(now(at)).toBe('loading weights, A in use');
    expect(at.models.arriving.value).toBe(true);
    // The picture is of the weights that come.
    next.tell({ bytesPerSecond: 2 });
    expect(at.models.weights.value?.bytesPerSecond).toBe(2);
    at.models.cancel();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect([old.closed, next.closed]).toEqual([false, true]);
    expect(at.models.weights.value?.bytesPerSecond).toBe(1);
    expect(at.models.currentEngine()).toBe(old);
    expect(at.loads).toHaveLength(2);
  });

  it('loads the previous model again, where it had to go', async () => {
    const at = setUp();
    const old = await use(at, A);
    const end = at.models.open(B);
    await settled();
    const next = at.load().header('B', LARGE);
    await settled();
    expect(old.closed).toBe(true);
    expect(now(at)).toBe('loading shown, B in use');
    at.models.cancel();
    await settled();
    expect(next.closed).toBe(true);
    expect(now(at)).toBe('loading back header, none in use');
    expect(at.load().source).toBe('https://models.example/a.gguf');
    // A second press was meant for the first load.
    at.models.cancel();
    await settled();
    expect(at.load().options.signal?.aborted).toBe(false);
    expect(at.models.pausable.value).toBe(false);
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, A in use');
  });

  it('what comes back is replaced by another choice', async () => {
    const at = setUp();
    await use(at, A);
    void at.models.open(B);
    await settled();
    at.load().header('B', LARGE);
    await settled();
    at.models.cancel();
    await settled();
    const end = at.models.open(C);
    await settled();
    expect(at.load().source).toBe('https://models.example/c.gguf');
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, C in use');
    expect(at.models.problem.value).toBeNull();
  });
});

describe('a pause', () => {
  it('ends the load and remembers it, until it is gone on with', async () => {
    const at = setUp();
    const { models } = at;
    let end = models.open(A);
    await settled();
    at.load().progress(300);
    expect(models.pausable.value).toBe(true);
    models.pause();
    await end;
    expect(now(at)).toBe('paused, none in use');
    expect(models.paused.value).toMatchObject({ source: A, progress: { loaded: 300 } });
    expect(at.said.at(-1)).toBe(words.paused);
    end = models.open(A);
    await settled();
    expect(models.paused.value).toBeNull();
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(models.paused.value).toBeNull();
  });

  it('leaves the model in use, and what is paused stays while its text fails', async () => {
    const at = setUp();
    await use(at, A);
    const end = at.models.open(B);
    await settled();
    at.load().header();
    await settled();
    at.models.pause();
    await end;
    expect(now(at)).toBe('ready, A in use');
    at.models.fail(broken(), null);
    expect(at.models.phase.value).toMatchObject({
      kind: 'ready',
      paused: { source: B },
      problem: { code: 'download_failed' },
    });
    at.models.forgetPaused();
    at.models.closeProblem();
    expect(at.models.phase.value).toMatchObject({ kind: 'ready', paused: null, problem: null });
  });

  it('is not offered for what isn’t kept', async () => {
    const files: Source = { kind: 'files', files: [new File(['x'], 'x.gguf')] };
    for (const source of [files, fromAddress('https://models.example/a.gguf', false)]) {
      const at = setUp();
      void at.models.open(source);
      await settled();
      expect(at.models.pausable.value).toBe(false);
      at.models.pause();
      await settled();
      expect(at.load().options.signal?.aborted).toBe(false);
    }
    const nowhere = setUp({ canKeep: false });
    void nowhere.models.open(A);
    expect(nowhere.models.pausable.value).toBe(false);
    const told = setUp();
    const end = told.models.open(A);
    await settled();
    const engine = told.load().header();
    engine.stats = { ...engine.stats, notes: [noteOf('model_not_kept')] };
    await settled();
    told.load().progress(100);
    expect(told.models.pausable.value).toBe(false);
    engine.becomeReady();
    await end;
    expect(told.models.unkept.value).toBe(true);
  });

  it('stays while the page opens its own model, and goes with the reader’s next choice', async () => {
    const at = setUp();
    at.models.putAside(B);
    expect(now(at)).toBe('paused, none in use');
    at.models.seek({ ref: A.kind === 'address' ? A.url : '', name: 'A' });
    expect(at.models.phase.value).toMatchObject({ kind: 'seeking', paused: { source: B } });
    await use(at, A);
    expect(at.models.paused.value).toMatchObject({ source: B });
    void at.models.open(C);
    await settled();
    expect(at.models.paused.value).toBeNull();
  });

  it('that comes when all of it is here pauses nothing', async () => {
    const at = setUp();
    const old = await use(at, A);
    let closed = (): void => undefined;
    old.closing = new Promise((done) => (closed = done));
    const end = at.models.open(B);
    await settled();
    const engine = at.load().header();
    engine.becomeReady();
    await settled();
    // The old engine is being closed.
    at.models.pause();
    expect(at.models.paused.value).toMatchObject({ source: B });
    closed();
    await end;
    expect(now(at)).toBe('ready, B in use');
    expect(at.models.paused.value).toBeNull();
    expect(engine.closed).toBe(false);
  });

  it('in the moment when the last of it arrives closes its engine', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    const engine = at.load().header();
    await settled();
    engine.becomeReady({ rest: true });
    await settled();
    engine.arrive();
    at.models.pause();
    await end;
    expect(engine.closed).toBe(true);
    expect(now(at)).toBe('paused, none in use');
    expect(at.models.currentEngine()).toBeNull();
  });
});

describe('memory', () => {
  it('that is full is tried again without the old model', async () => {
    const at = setUp();
    const old = await use(at, A);
    const stopped: boolean[] = [];
    void at.runs.begin(
      (signal) =>
        new Promise((done) =>
          signal.addEventListener('abort', () => {
            stopped.push(old.closed);
            done();
          }),
        ),
    );
    at.runs.run.value = 'writing';
    const end = at.models.open(B);
    await settled();
    at.load().fail(full());
    await settled();
    // The text was stopped before its engine went.
    expect(stopped).toEqual([false]);
    expect(old.closed).toBe(true);
    expect(now(at)).toBe('loading header, none in use');
    expect(at.loads).toHaveLength(3);
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, B in use');
    expect(at.models.problem.value).toBeNull();
  });

  it('that is full nevertheless: the old model comes back, and the reader is told', async () => {
    const at = setUp();
    await use(at, A);
    const end = at.models.open(B);
    await settled();
    at.load().fail(full());
    await settled();
    at.load().fail(full());
    await settled();
    expect(now(at)).toBe('loading back header, none in use');
    expect(at.models.problem.value).toMatchObject({ code: 'out_of_memory', retry: B });
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(at.models.problem.value).toMatchObject({ code: 'out_of_memory', retry: B, also: null });
  });

  it('that is full without another model is a failure like others', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    at.load().fail(full());
    await end;
    expect(at.loads).toHaveLength(1);
    expect(at.models.problem.value).toMatchObject({ code: 'out_of_memory' });
  });

  it('too little of it for both: the old model goes when the header is read', async () => {
    const at = setUp();
    at.device.gib = undefined;
    const old = await use(at, A);
    const end = at.models.open(B);
    await settled();
    expect(old.closed).toBe(false);
    // Of four GiB, which are assumed, a quarter is for models.
    const engine = at.load().header('B', 1.1e9);
    await settled();
    expect(old.closed).toBe(true);
    expect(at.models.currentEngine()).toBe(engine);
    engine.becomeReady();
    await end;
    expect(now(at)).toBe('ready, B in use');
  });
});

describe('a failure', () => {
  it('returns to the previous model, which was never away', async () => {
    const at = setUp();
    const old = await use(at, A);
    const end = at.models.open(B);
    await settled();
    const engine = at.load().header();
    await settled();
    engine.fail(broken());
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(at.models.currentEngine()).toBe(old);
    expect(at.models.problem.value).toMatchObject({ code: 'download_failed', retry: B });
    expect(at.loads).toHaveLength(2);
  });

  it('after which the previous model fails, too, tells both', async () => {
    const at = setUp();
    await use(at, A);
    const end = at.models.open(B);
    await settled();
    at.load().header('B', LARGE).fail(broken());
    await settled();
    expect(now(at)).toBe('loading back header, none in use');
    at.load().fail(full());
    await end;
    expect(now(at)).toBe('failed, none in use');
    expect(at.models.problem.value).toMatchObject({
      code: 'download_failed',
      retry: B,
      name: 'b.gguf',
      also: { name: 'A', why: { code: 'out_of_memory' } },
    });
    // Nothing to return to any more.
    const next = at.models.open(C);
    await settled();
    at.load().fail(broken());
    await next;
    expect(at.loads).toHaveLength(4);
    expect(at.models.problem.value).toMatchObject({ retry: C, also: null });
  });

  it('of the previous model after a load that was cancelled is told as its own', async () => {
    const at = setUp();
    await use(at, A);
    const end = at.models.open(B);
    await settled();
    at.load().header('B', LARGE);
    await settled();
    at.models.cancel();
    await settled();
    at.load().fail(broken());
    await end;
    expect(now(at)).toBe('failed, none in use');
    expect(at.models.problem.value).toMatchObject({ retry: A, also: null });
  });

  it('of what replaced the first load comes back to the first load', async () => {
    const at = setUp();
    void at.models.open(A);
    await settled();
    const end = at.models.open(B);
    await settled();
    at.load().fail(broken());
    await settled();
    expect(now(at)).toBe('loading back header, none in use');
    expect(at.load().source).toBe('https://models.example/a.gguf');
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(at.models.problem.value).toMatchObject({ retry: B });
  });
});

describe('taking over', () => {
  /** A text is being written; `end()` ends it. */
  function writes({ runs }: World): () => void {
    let end = (): void => undefined;
    void runs.begin(() => new Promise((done) => (end = done)));
    runs.run.value = 'writing';
    return () => end();
  }

  it('waits until the text is written', async () => {
    const at = setUp();
    const old = await use(at, A);
    const endText = writes(at);
    const end = at.models.open(B);
    await settled();
    at.load().header().becomeReady();
    await settled();
    expect(now(at)).toBe('loading waits, A in use');
    expect(old.closed).toBe(false);
    endText();
    await end;
    expect(now(at)).toBe('ready, B in use');
    expect(old.closed).toBe(true);
  });

  it('is at once where what runs waits for a model', async () => {
    const at = setUp();
    await use(at, A);
    writes(at);
    at.runs.run.value = 'waiting';
    const end = at.models.open(B);
    await settled();
    at.load().header().becomeReady();
    await end;
    expect(now(at)).toBe('ready, B in use');
    expect(at.runs.busy.value).toBe(true);
  });

  it('is given up by a cancel in the meantime', async () => {
    const at = setUp();
    const old = await use(at, A);
    const endText = writes(at);
    const end = at.models.open(B);
    await settled();
    const engine = at.load().header();
    engine.becomeReady();
    await settled();
    at.models.cancel();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect([old.closed, engine.closed]).toEqual([false, true]);
    endText();
    await settled();
    expect(at.models.currentEngine()).toBe(old);
  });

  it('fails if the engine dies while it waits', async () => {
    const at = setUp();
    await use(at, A);
    const endText = writes(at);
    const end = at.models.open(B);
    await settled();
    const engine = at.load().header();
    engine.becomeReady({ rest: true });
    await settled();
    engine.fail(broken());
    endText();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(at.models.problem.value).toMatchObject({ code: 'download_failed', retry: B });
  });
});

describe('the rest of a model', () => {
  it('comes while the model is used already', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    const engine = at.load().header();
    await settled();
    engine.becomeReady({ rest: true });
    await settled();
    expect(now(at)).toBe('loading rest, A in use');
    expect(at.models.resting.value).toBe(true);
    expect(at.said.at(-1)).toBe(words.rest('A'));
    at.load().progress(900);
    expect(at.models.resting.value).toBe(true);
    engine.arrive();
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(at.models.resting.value).toBe(false);
    expect(at.said.at(-1)).toBe(words.ready('A'));
  });

  it('is not spoken of where all has come', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    at.load().header().becomeReady();
    await end;
    expect(at.said).toEqual([words.loading('a'), words.ready('A')]);
  });

  it('that fails returns to the previous model, which was kept until then', async () => {
    const at = setUp();
    const old = await use(at, A);
    const end = at.models.open(B);
    await settled();
    const engine = at.load().header();
    engine.becomeReady({ rest: true });
    await settled();
    expect(now(at)).toBe('loading rest, B in use');
    expect(old.closed).toBe(false);
    engine.fail(broken());
    await end;
    expect(now(at)).toBe('ready, A in use');
    expect(at.models.currentEngine()).toBe(old);
    expect(at.models.problem.value).toMatchObject({ retry: B });
  });

  it('is paused as a load is', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    const engine = at.load().header();
    await settled();
    engine.becomeReady({ rest: true });
    await settled();
    at.models.pause();
    await end;
    // A load's signal doesn't reach what is ready: the controller closes it.
    expect(engine.closed).toBe(true);
    expect(now(at)).toBe('paused, none in use');
  });
});

describe('the page', () => {
  const last: Choice = { ref: 'https://models.example/a.gguf', name: 'A' };

  it('looks for the model of the last visit, and is writable meanwhile', async () => {
    const at = setUp();
    at.models.seek(last);
    expect(now(at)).toBe('seeking, none in use');
    expect(at.models.sought.value).toBe(last);
    expect(at.models.writable.value).toBe(true);
    at.models.seekNoMore();
    expect(now(at)).toBe('none, none in use');
    at.models.seekNoMore();
    await use(at, A);
    at.models.seekNoMore();
    at.models.seek(last);
    expect(now(at)).toBe('ready, A in use');
  });

  it('says what it found while a load goes on, and the load takes that back only when it begins', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    at.models.fail(broken(), null);
    expect(now(at)).toBe('loading header, none in use');
    expect(at.models.problem.value).not.toBeNull();
    at.load().header().becomeReady();
    await end;
    expect(at.models.phase.value).toMatchObject({ kind: 'ready', problem: {} });
    void at.models.open(B);
    await settled();
    expect(at.models.problem.value).toBeNull();
  });

  it('opens its own model without ending what is paused', async () => {
    const at = setUp();
    at.models.putAside(B);
    // The address of the page's own model is relative to the page.
    Object.assign(globalThis, { document: { baseURI: 'https://page.example/' } });
    try {
      await use(at, BUNDLED);
    } finally {
      Reflect.deleteProperty(globalThis, 'document');
    }
    expect(at.load()).toMatchObject({
      source: 'https://page.example/models/stories-q8_0.gguf',
      options: { cache: 'none' },
    });
    expect(at.models.paused.value).toMatchObject({ source: B });
  });

  it('pictures the weights that an engine told before it was there', async () => {
    const at = setUp();
    const end = at.models.open(A);
    await settled();
    at.load().options.onWeights?.({ bytesPerSecond: 7 } as WeightsView);
    expect(at.models.weights.value).toBeNull();
    at.load().header().becomeReady();
    await end;
    expect(at.models.weights.value?.bytesPerSecond).toBe(7);
  });
});
