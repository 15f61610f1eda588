// What the layers hold of a text: what is asked of the engine, and when it is stopped and forgotten.
import { afterEach, expect, it, vi } from 'vitest';
import { MOST_COLUMNS, windowAround } from '../src/inside/layers-controller';
import { FakeLayers, FakeText, looking } from './fake-layers';

afterEach(() => {
  vi.restoreAllMocks();
});

it('takes a window of the tokens around one', () => {
  expect(windowAround(3, 10, 0)).toEqual([0, 10]);
  expect(windowAround(0, 10, 1)).toEqual([1, 10]);
  expect(windowAround(0, 5000, 0)).toEqual([0, MOST_COLUMNS]);
  expect(windowAround(2500, 5000, 0)).toEqual([2488, 2512]);
  expect(windowAround(4999, 5000, 0)).toEqual([5000 - MOST_COLUMNS, 5000]);
});

it('maps what the layers would have said in the place of the tokens around', async () => {
  const fake = new FakeLayers();
  const { of, needs } = looking(fake, 100);
  needs.at.value = 50;
  await of.computeLens();
  // The position of a token's choice is that of the one before it; nothing behind the last one is asked for.
  const positions = Array.from({ length: MOST_COLUMNS }, (_, i) => 3 + 38 + i - 1);
  expect(fake.asked).toEqual([{ call: 'lens', ids: new FakeText().ids(61), positions }]);
  const map = of.lens.result.value;
  expect(map?.from).toBe(38);
  expect(map?.chosen[0]).toBe(' w41');
  // The last layer says what was chosen.
  const last = map?.cells[2]?.[0]?.top[0]?.[0] ?? -1;
  expect(map?.pieces.get(last)).toBe(' w41');
});

it('tells what the model looked at when it chose a token', async () => {
  const fake = new FakeLayers();
  const { of, needs } = looking(fake, 10);
  needs.at.value = 4;
  await of.computeLooks();
  expect(fake.asked).toEqual([{ call: 'attention', ids: new FakeText().ids(4), positions: [6] }]);
  expect(of.looks.result.value).toMatchObject({ token: 4, chosen: ' w7' });
  expect(of.looks.result.value?.words).toHaveLength(7);
});

it('asks nothing of the first token of all', async () => {
  const fake = new FakeLayers();
  const { of, needs } = looking(fake, 1, 0);
  expect(of.led.value).toBe(false);
  await of.computeLooks();
  await of.computeLens();
  expect(fake.asked).toEqual([]);
  needs.length.value = 5;
  await of.computeLens();
  expect(fake.asked[0]?.positions).toEqual([0, 1, 2, 3]);
  expect(of.lens.result.value?.from).toBe(1);
});

it('never computes while the model writes, and stops when it begins to', async () => {
  const fake = new FakeLayers();
  const { of, needs } = looking(fake, 10);
  needs.busy.value = true;
  expect(of.able.value).toBe(false);
  await of.computeLens();
  await of.computeLooks();
  expect(fake.asked).toEqual([]);
  needs.busy.value = false;
  fake.holds = true;
  const work = of.computeLens();
  expect(of.lens.progress.value).toEqual({ done: 1, total: 4 });
  needs.busy.value = true;
  await work;
  expect([of.lens.progress.value, of.lens.failed.value, of.lens.result.value]).toEqual([
    null,
    false,
    null,
  ]);
});

it('stops when the reader wants that, and keeps the map of before', async () => {
  const fake = new FakeLayers();
  const { of, needs } = looking(fake, 100);
  await of.computeLens();
  needs.at.value = 90;
  fake.holds = true;
  const work = of.computeLens();
  of.lens.stop();
  await work;
  expect(of.lens.result.value?.from).toBe(0);
  expect(of.lens.progress.value).toBeNull();
});

it('shows only what was asked for last', async () => {
  const fake = new FakeLayers();
  const { of, needs } = looking(fake, 100);
  fake.holds = true;
  const first = of.computeLens();
  fake.holds = false;
  needs.at.value = 90;
  await of.computeLens();
  await first;
  expect(of.lens.result.value?.from).toBe(76);
});

it('forgets it all when another text is looked at, or another model is in use', async () => {
  const fake = new FakeLayers();
  const { of, needs, end } = looking(fake, 10);
  const both = async (): Promise<void> => {
    await of.computeLens();
    await of.computeLooks();
    expect([of.lens.result.value, of.looks.result.value]).not.toContain(null);
  };
  await both();
  needs.chain.value = new FakeText();
  expect([of.lens.result.value, of.looks.result.value]).toEqual([null, null]);
  await both();
  needs.engine.value = new FakeLayers();
  expect([of.lens.result.value, of.looks.result.value]).toEqual([null, null]);
  end();
});

it('says that it failed, and tries again', async () => {
  const errors = vi.spyOn(console, 'error').mockImplementation(() => {});
  const fake = new FakeLayers();
  const { of } = looking(fake, 10);
  fake.fails = true;
  await of.computeLens();
  expect([of.lens.failed.value, of.lens.progress.value]).toEqual([true, null]);
  expect(errors).toHaveBeenCalledOnce();
  fake.fails = false;
  await of.computeLens();
  expect([of.lens.failed.value, of.lens.result.value === null]).toEqual([false, false]);
});
