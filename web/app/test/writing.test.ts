// @vitest-environment happy-dom
// A text that is being written, while the model that is shown changes.
import type { Engine } from '@sluice/engine';
import { afterEach, expect, it, vi } from 'vitest';
import { BUNDLED } from '../src/model/source';
import { model, type Model } from '../src/model/state';
import type { Outcome } from '../src/model/use';
import { busy } from '../src/run';
import { texts, write, written } from '../src/writing/state';

type Work = (by: Engine) => Promise<void>;

const lends = vi.hoisted(() => ({
  /** In place of withEngine. */
  run: null as ((work: Work) => Promise<Outcome>) | null,
}));
vi.mock('../src/model/use', () => ({
  onReading: () => {},
  onToken: () => {},
  withEngine: (_: AbortSignal, work: Work) => lends.run?.(work),
}));

afterEach(() => {
  model.value = null;
});

function named(name: string): Model {
  const info = { name, makes: ['text'], metadata: {} };
  return { source: BUNDLED, info } as unknown as Model;
}

/** An engine that writes these words. */
function engineOf(...words: string[]): Engine {
  return {
    async *generate() {
      for (const text of words) yield { text };
    },
    stats: { finish: 'length', seed: 5 },
  } as unknown as Engine;
}

/** Writes a text with what `run` lends. */
async function writes(run: (work: Work) => Promise<Outcome>): Promise<void> {
  model.value = named('A');
  lends.run = run;
  write();
  await vi.waitFor(() => expect(busy.value).toBe(false));
}

it('is begun anew by another engine, and told as that one’s, where the first one’s load fails', async () => {
  const second = engineOf('Once', ' more');
  await writes(async (work) => {
    await work(engineOf('Half', ' of', ' it'));
    model.value = named('B');
    await work(second);
    return { kind: 'done', by: second };
  });
  expect(written.value).toMatchObject({ text: 'Once more', tokens: 2, by: { name: 'B' } });
  expect(texts.value.texts.at(-1)).toEqual(written.value);
});

it('that is cut short stays the work of its model, though that is gone', async () => {
  await writes(async (work) => {
    await work(engineOf('Half'));
    model.value = null;
    return { kind: 'failed' };
  });
  expect(written.value).toMatchObject({ text: 'Half', finish: null, by: { name: 'A' } });
});
