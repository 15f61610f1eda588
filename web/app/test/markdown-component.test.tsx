// @vitest-environment happy-dom
import { signal } from '@preact/signals';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { expect, it, vi } from 'vitest';
import { Markdown } from '../src/markdown/component';

it('draws what grows as it grows, and less often where that takes long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const text = signal('One');
  const place = document.createElement('div');
  await act(() => render(<Markdown text={text} live={true} />, place));
  expect(place.textContent).toBe('One');
  text.value = 'One *two* three';
  expect(place.textContent).toBe('One two three');
  expect(place.querySelector('em')?.textContent).toBe('two');

  // A drawing that takes ten milliseconds: the next one comes after forty.
  const slow = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(10);
  text.value += ' four';
  slow.mockRestore();
  text.value += ' five';
  text.value += ' six';
  expect(place.textContent).toBe('One two three four');
  vi.advanceTimersByTime(40);
  expect(place.textContent).toBe('One two three four five six');

  // The end is drawn at once, also while a drawing is waited for.
  await act(() => render(<Markdown text="One *two* and all" live={false} />, place));
  expect(place.textContent).toBe('One two and all');
  await act(() => render(<Markdown text="Another" live={false} />, place));
  expect(place.querySelector('.markdown')?.innerHTML).toBe('<p dir="auto">Another</p>');
  vi.useRealTimers();
});
