// What was seen of a text is kept, and known at the next visit without being computed again.
import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HistoryError } from '../src/history/errors';
import { Traces, type TraceOwner } from '../src/history/traces';
import { XrayController } from '../src/inside/controller';
import { Keeping } from '../src/inside/keeping';
import type { Insight } from '../src/inside/library';
import { TokenLog } from '../src/inside/log';
import type { Subject } from '../src/inside/subject';
import { FakeClock, settled } from './controllers';
import { databases } from './history-setup';
import { FakeInsight, FakeText } from './xray-setup';

const OWNER: TraceOwner = { conversation: null, id: 'one' };
const busy = signal(false);
const engine = signal<Insight | null>(null);
let factory: IDBFactory;
let library: FakeInsight;
let ends: (() => void)[] = [];

beforeEach(() => {
  factory = databases();
  library = new FakeInsight();
  engine.value = library.insight;
  busy.value = false;
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** The room of one visit: it looks at a text. Returns what ends the visit. */
function visit(text: FakeText, more: Partial<Subject> = {}) {
  const clock = new FakeClock();
  const keeping = new Keeping(() => new Traces(factory));
  text.subject.value = text.as({ keptAs: OWNER, ...more });
  const xray = new XrayController({ subject: text.subject, engine, busy, clock, keeping });
  const end = xray.start();
  ends.push(end);
  return { xray, keeping, clock, end };
}

/** Waits until so many tokens of the text are kept. */
async function kept(tokens: number): Promise<void> {
  const keeping = new Keeping(() => new Traces(factory));
  await vi.waitFor(async () => {
    const known = await keeping.fetch(OWNER);
    expect(known?.trace.tokens.filter(({ raw }) => raw !== null)).toHaveLength(tokens);
  });
}

/** A text of an earlier visit, of which the page knows the tokens but not what they were chosen from. */
function again(text: FakeText): FakeText {
  const other = new FakeText(text.id, new TokenLog(text.log.kept()));
  other.text = text.text;
  return other;
}

it('is kept when a text has ended, and taken from there at the next visit', async () => {
  const text = new FakeText();
  text.begin();
  text.look(' upon', ' a');
  const { xray, end } = visit(text, { growing: true });
  await settled();
  // While it is written nothing is kept.
  expect(await new Keeping(() => new Traces(factory)).fetch(OWNER)).toBeNull();
  text.log.end(7);
  text.subject.value = text.as({ keptAs: OWNER });
  await kept(2);
  const seen = [xray.chain.value?.at(0)?.raw, xray.chain.value?.at(1)?.raw];
  end();

  const next = visit(again(text));
  await vi.waitFor(() => expect(next.xray.chain.value?.at(1)?.raw).toEqual(seen[1]));
  expect(next.xray.chain.value?.at(0)?.raw).toEqual(seen[0]);
  expect(library.asked.raw).toEqual([]);
});

it('what was computed afterwards is kept as well', async () => {
  const text = new FakeText();
  text.begin();
  text.add(' upon', ' a');
  text.log.end(7);
  visit(text);
  await kept(2);
  expect(library.asked.raw).toHaveLength(1);
});

it('gives an answer of another visit the tokens that it was written with', async () => {
  const text = new FakeText();
  text.begin();
  text.look(' upon', ' a');
  text.log.end(7);
  const first = visit(text);
  await kept(2);
  first.end();
  const other = new FakeText('one');
  other.text = text.text;
  const retell = vi.fn(async () => false);
  const { xray } = visit(other, { retell });
  await vi.waitFor(() => expect(xray.chain.value?.length).toBe(2));
  expect(retell).not.toHaveBeenCalled();
  expect(other.log.runs[0]).toMatchObject({ ids: text.log.runs[0]?.ids, seed: 7 });
});

it('is not taken for another text: that is told anew', async () => {
  const text = new FakeText();
  text.begin();
  text.look(' upon', ' a');
  text.log.end(7);
  const first = visit(text);
  await kept(2);
  first.end();
  const other = new FakeText('one');
  other.text = ' upon time';
  const retell = vi.fn(async () => false);
  visit(other, { retell });
  await vi.waitFor(() => expect(retell).toHaveBeenCalled());
});

it('is taken only as far as the tokens are the same', async () => {
  const text = new FakeText();
  text.begin();
  text.look(' upon', ' a');
  text.log.end(7);
  const first = visit(text);
  await kept(2);
  first.end();
  const other = new FakeText('one');
  other.begin();
  other.add(' upon', ' time');
  other.log.end(7);
  visit(other);
  await vi.waitFor(() => expect(library.asked.raw).toHaveLength(1));
  // Only the second one is computed: 0 and the prompt stand before them.
  expect(library.asked.raw[0]?.from).toBe(3);
});

it('takes what is damaged for nothing', async () => {
  const traces = new Traces(factory);
  const keeping = new Keeping(() => traces);
  for (const value of ['x', { version: 1 }, null]) {
    await traces.put(OWNER, value, 1);
    expect(await keeping.fetch(OWNER)).toBeNull();
  }
  const text = new FakeText();
  text.begin();
  text.look(' upon', ' a');
  text.log.end(7);
  visit(text);
  await kept(2);
  const good = (await traces.get(OWNER)) as { runs: { ids: number[] }[] };
  for (const runs of [undefined, [], [{ ...good.runs[0], ids: [1, 2] }], [{ begun: -1 }]]) {
    await traces.put(OWNER, { ...good, runs }, 1);
    expect(await keeping.fetch(OWNER)).toBeNull();
  }
});

it('says why it could not be kept', async () => {
  const text = new FakeText();
  text.begin();
  text.look(' upon');
  text.log.end(7);
  const { keeping } = visit(text);
  await kept(1);
  const known = await keeping.fetch(OWNER);
  if (known === null) throw new Error('not kept');
  const full = new Keeping(() => {
    throw new HistoryError('none');
  });
  expect(await full.fetch(OWNER)).toBeNull();
  await full.keep(OWNER, known);
  expect(full.trouble.value).toBe('none');
  const small = new Keeping(() => new Traces(factory, 10));
  await small.keep(OWNER, known);
  expect(small.trouble.value).toBe('large');
  // Of an answer that is not there nothing is kept: that is no trouble.
  expect(await keeping.keep({ conversation: 'c', id: 'm' }, known)).toBe(false);
  expect(keeping.trouble.value).toBeNull();
});
