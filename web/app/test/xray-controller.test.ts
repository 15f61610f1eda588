// What the x-ray does: it follows a text, steps, plays, computes afterwards, asks what if, and branches.
import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Insight } from '../src/inside/library';
import { XrayController } from '../src/inside/controller';
import { tellStep } from '../src/inside/told';
import { announcement } from '../src/ui/announce';
import { FakeClock, settled } from './controllers';
import { FakeInsight, FakeText, idOf, rawOf } from './xray-setup';

let library: FakeInsight;
let text: FakeText;
let clock: FakeClock;
let xray: XrayController;
const busy = signal(false);
const engine = signal<Insight | null>(null);
let end = (): void => undefined;

function open(): void {
  xray = new XrayController({ subject: text.subject, engine, busy, clock });
  end = xray.start();
}

/** All that is due has happened, and a frame is drawn; of a text that grows there may be some between two draws. */
async function drawn(): Promise<void> {
  await settled();
  clock.draw(100);
  await settled();
}

beforeEach(() => {
  library = new FakeInsight();
  text = new FakeText();
  clock = new FakeClock();
  busy.value = false;
  engine.value = library.insight;
});
afterEach(() => end());

/** A text that was written while somebody looked. */
async function written(...words: string[]): Promise<void> {
  text.begin();
  text.look(...words);
  text.log.end(7);
  open();
  await drawn();
}

it('says why there is nothing to see', async () => {
  open();
  expect(xray.nothing.value).toBe('tokens');
  text.subject.value = text.as({ growing: true });
  expect(xray.nothing.value).toBeNull();
  text.subject.value = text.as({ own: false });
  expect(xray.nothing.value).toBe('other');
  text.subject.value = null;
  expect(xray.nothing.value).toBe('text');
  text.subject.value = text.as();
  engine.value = null;
  expect(xray.nothing.value).toBe('model');
});

it('follows a text while it is written, with a choice for the newest token', async () => {
  busy.value = true;
  text.subject.value = text.as({ growing: true });
  open();
  text.begin();
  text.look(' upon', ' a');
  await drawn();
  expect([xray.length.value, xray.at.value, xray.following.value]).toEqual([2, 1, true]);
  const [first] = library.asked.choice.slice(-1);
  expect(first).toMatchObject({
    before: [0, idOf('Once'), idOf(' upon')],
    options: { promptTokens: 2, temperature: 0.8, topK: 40, most: 40 },
  });
  expect(xray.shown.value).toMatchObject({ token: 1, anew: false, moved: false });
  expect(xray.pieces.get(idOf(' sea'))).toBe(' sea');
  // Ten tokens in one frame: one of them is asked for.
  const asked = library.asked.choice.length;
  text.look(...Array.from({ length: 10 }, () => ' fox'));
  await drawn();
  expect(xray.at.value).toBe(11);
  expect(library.asked.choice.length - asked).toBeLessThanOrEqual(2);
  // While it grows it is not drawn with each frame.
  text.look(' fox');
  await settled();
  clock.draw(16);
  expect(xray.length.value).toBe(12);
  clock.draw(64);
  expect(xray.length.value).toBe(13);
  // Who steps back stays there.
  xray.step(-3);
  text.look(' sea');
  await drawn();
  expect([xray.at.value, xray.following.value, xray.length.value]).toEqual([9, false, 14]);
  xray.toTheEnd();
  text.look(' sea');
  await drawn();
  expect(xray.at.value).toBe(14);
});

it('a text that is there begins with its first token; the seed and its numbers are known', async () => {
  await written(' upon', ' a', ' time');
  expect([xray.length.value, xray.at.value]).toEqual([3, 0]);
  xray.step(2);
  await drawn();
  expect(library.asked.choice.at(-1)?.options).toMatchObject({ seed: 7, draws: 2 });
  xray.step(5);
  expect(xray.at.value).toBe(2);
  xray.step(-9);
  expect(xray.at.value).toBe(0);
});

it('computes what nobody looked at, and not beside a text that is written', async () => {
  library.held = [];
  text.begin();
  text.add(' upon', ' a', ' time');
  text.log.end(7);
  busy.value = true;
  open();
  await drawn();
  expect(xray.shown.value).toBeNull();
  expect(library.asked.raw).toEqual([]);
  busy.value = false;
  await drawn();
  expect(library.asked.raw).toEqual([{ ids: [0, 1, 2, 3, 4], from: 2 }]);
  expect(xray.computing.progress.value).toEqual({ done: 0, total: 3 });
  library.held.shift()?.();
  await drawn();
  expect(xray.computing.progress.value).toEqual({ done: 1, total: 3 });
  expect(xray.token()?.raw).toEqual(rawOf(0, null));
  expect(xray.shown.value).toMatchObject({ token: 0 });
  // The probability by the raw logits.
  const place = [...rawOf(0).ids].indexOf(idOf(' upon'));
  expect(xray.token()?.logprob).toBeCloseTo(-place - 0.5);
  // A text begins: it stops, and goes on afterwards with what is missing.
  busy.value = true;
  library.held.shift()?.();
  await drawn();
  expect(xray.computing.progress.value).toBeNull();
  library.held = null;
  busy.value = false;
  await drawn();
  expect(library.asked.raw.at(-1)?.from).toBe(3);
  expect(xray.chain.value?.missing()).toBeNull();
  expect(xray.computing.progress.value).toBeNull();
});

it('stops computing when the reader says so, and goes on', async () => {
  library.held = [];
  text.begin();
  text.add(' upon', ' a');
  open();
  await drawn();
  xray.stop();
  expect(xray.computing.progress.value).toBeNull();
  library.held = null;
  xray.compute();
  await drawn();
  expect(xray.chain.value?.missing()).toBeNull();
});

it('asks what if on the same logits; what does not suffice is computed anew, and said so', async () => {
  await written(' upon', ' a');
  xray.move('topK', 5);
  await drawn();
  expect(xray.shown.value).toMatchObject({ moved: true, anew: false });
  expect(library.asked.choice.at(-1)?.options).toMatchObject({ topK: 5, temperature: 0.8 });
  expect(library.asked.anew).toEqual([]);
  xray.move('topK', 50);
  await drawn();
  expect(xray.shown.value).toMatchObject({ moved: true, anew: true });
  expect(library.asked.anew.at(-1)).toMatchObject({
    ids: [0, 1],
    options: { topK: 50, seed: 7, draws: 0 },
  });
  // As it was: no longer moved.
  xray.move('topK', 40);
  await drawn();
  expect(xray.whatIf.value).toEqual({});
  expect(xray.shown.value).toMatchObject({ moved: false, anew: false });
  // Another text begins with its own settings.
  xray.move('topK', 5);
  const other = new FakeText('two');
  other.begin();
  other.look(' upon');
  text.subject.value = other.as();
  await drawn();
  expect(xray.whatIf.value).toEqual({});
  expect(xray.shown.value).toMatchObject({ moved: false, samplers: { topK: 40 } });
});

it('a step is told to who does not see it, and what moves by itself is not', async () => {
  await written(...Array.from({ length: 20 }, () => ' fox'));
  tellStep(xray, () => xray.step(1));
  expect(announcement.value).toBe('Token 2 of 20: “fox”, surprise 1.4 bits');
  tellStep(xray, () => xray.toTheEnd());
  expect(announcement.value).toContain('Token 20 of 20');
  xray.playOrPause();
  clock.draw(1000);
  expect(xray.at.value).toBeGreaterThan(0);
  expect(announcement.value).toContain('Token 20 of 20');
  end();
  announcement.value = '';
  text.subject.value = new FakeText('two').as({ growing: true });
  open();
  await drawn();
  tellStep(xray, () => xray.step(1));
  expect(announcement.value).toBe('');
});

it('plays at a speed, and stops at the end', async () => {
  await written(...Array.from({ length: 20 }, () => ' fox'));
  xray.player.speed.value = 4;
  xray.playOrPause();
  clock.draw(250);
  expect(xray.at.value).toBe(1);
  clock.draw(100);
  expect(xray.at.value).toBe(1);
  xray.player.change(2);
  expect(xray.player.speed.value).toBe(16);
  clock.draw(125);
  expect(xray.at.value).toBeGreaterThanOrEqual(3);
  xray.playOrPause();
  expect(xray.player.playing.value).toBe(false);
  const at = xray.at.value;
  clock.draw(1000);
  expect(xray.at.value).toBe(at);
  xray.playOrPause();
  clock.draw(5000);
  expect([xray.at.value, xray.player.playing.value]).toEqual([19, false]);
  // From the end it begins anew.
  xray.playOrPause();
  expect(xray.at.value).toBe(0);
});

it('branches with the ids of all before, and the text of the token', async () => {
  await written(' upon', ' a', ' time');
  xray.to(2);
  await drawn();
  expect(await xray.branch(idOf(' sea'))).toBe(true);
  const raw = rawOf(2);
  const logprob = (raw.logits[[...raw.ids].indexOf(idOf(' sea'))] ?? 0) - raw.logSum;
  expect(text.branched).toEqual([[0, 2, { id: idOf(' sea'), text: ' sea', logprob }, [0, 1]]]);
});

it('goes to the token at which another text parts from this one', async () => {
  await written(' upon', ' a', ' time');
  const other = new FakeText('two');
  other.begin();
  other.look(' upon', ' the', ' sea');
  xray.show({ id: 'two', at: 5, text: ' the', kind: 'branch' });
  expect(text.shown).toEqual(['two']);
  text.subject.value = other.as();
  await drawn();
  expect([xray.length.value, xray.at.value]).toEqual([3, 1]);
});

it('a run that was begun from a text of other tokens has these before it', async () => {
  text.begin();
  text.add(' upon');
  text.log.end(1);
  text.begin();
  text.add(' a');
  text.log.end(2);
  // The same text, and another token than was written.
  const [first] = text.log.runs;
  if (first === undefined) throw new Error('no run');
  open();
  await drawn();
  expect(xray.chain.value).toMatchObject({ first: 0, prompt: [0, 1] });
  expect(xray.length.value).toBe(2);
  end();
  first.ids[0] = idOf(' fox');
  open();
  await drawn();
  expect(xray.chain.value).toMatchObject({ first: 1, prompt: [0, 1, 2] });
  expect(xray.length.value).toBe(1);
});

it('gives all that it knows as a trace', async () => {
  await written(' upon', ' a');
  expect(xray.trace()).toMatchObject({
    model: { name: 'tiny', architecture: 'llama', vocab: 9, layers: 2 },
    promptText: 'Once',
    promptIds: [0, 1],
    tokens: [
      { id: 2, text: ' upon', logprob: -1, raw: rawOf(0) },
      { id: 3, text: ' a', logprob: -1, raw: rawOf(1) },
    ],
    options: { temperature: 0.8, topK: 40 },
    seed: 7,
  });
});
