// @vitest-environment happy-dom
// The way of a token from the engine to the screen: it is on it with the frame after it came.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, it, vi } from 'vitest';
import type { Open } from '../src/history/open';
import { partsOf } from '../src/history/parts';
import { append, create, message, update } from '../src/history/tree';
import { MessageView } from '../src/talk/message';
import { Answering } from '../src/talk/answering';
import { talk } from '../src/talk/state';
import { FakeClock } from './controllers';

// Without locks each tab may write.
vi.hoisted(() => {
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
});
afterEach(() => {
  vi.restoreAllMocks();
  talk.answering.value = null;
});

it('draws a token in the frame after it came, each part in its place', async () => {
  const clock = new FakeClock();
  // No drawing takes long, however busy the machine is.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const mine = message(create(), 'assistant', '');
  const conversation = append(create(), mine);
  const now = new Answering({} as Open, mine, clock);
  talk.answering.value = now;
  const place = document.createElement('ol');
  const draw = (of = mine): Promise<void> =>
    act(() => render(<MessageView message={of} last={true} />, place));
  const drawn = (): (string | null)[] =>
    [...place.querySelectorAll('.markdown')].map(({ textContent }) => textContent);
  await draw();
  expect(drawn()).toEqual(['']);
  const text = place.querySelector('.markdown');

  // A new part is drawn by the components, and what it grows by is not.
  await act(() => now.add('reasoning', 'Hm'));
  expect(drawn()).toEqual(['Hm', '']);
  expect(place.querySelector('.thinking')?.getAttribute('data-live')).toBe('true');
  now.add('reasoning', ', so');
  now.add('reasoning', '.');
  expect(drawn()).toEqual(['Hm', '']);
  clock.draw();
  expect(drawn()).toEqual(['Hm, so.', '']);
  now.add('text', 'One');
  await act(() => clock.draw());
  expect(place.querySelector('.thinking')?.getAttribute('data-live')).toBe('false');
  now.add('text', ' two');
  clock.draw();
  expect(drawn()).toEqual(['Hm, so.', 'One two']);
  // No frame is waited for.
  expect(clock.waiting.frames).toBe(0);

  // The end: what is drawn stays what it is.
  const parts = partsOf('One two', 'Hm, so.');
  const ended = update(conversation, mine.id, { parts, finish: 'stop' }).messages[mine.id] ?? mine;
  talk.answering.value = null;
  await draw(ended);
  expect(drawn()).toEqual(['Hm, so.', 'One two']);
  expect(place.querySelectorAll('.markdown')[1]).toBe(text);
});
