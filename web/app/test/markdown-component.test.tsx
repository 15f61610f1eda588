// @vitest-environment happy-dom
import { signal } from '@preact/signals';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { expect, it, vi } from 'vitest';
import { Markdown } from '../src/markdown/component';

it('draws the first words at once, the others once a frame, and all at the end', async () => {
  const frames: FrameRequestCallback[] = [];
  vi.stubGlobal('requestAnimationFrame', (call: FrameRequestCallback) => frames.push(call));
  const text = signal('One');
  const place = document.createElement('div');
  await act(() => render(<Markdown text={text} live={true} />, place));
  expect(place.textContent).toBe('One');
  const before = frames.length;
  text.value = 'One *two';
  text.value = 'One *two* three';
  expect(frames.length - before).toBeLessThanOrEqual(1);
  await act(() => render(<Markdown text={text} live={false} />, place));
  expect(place.textContent).toBe('One two three');
  expect(place.querySelector('em')?.textContent).toBe('two');
  await act(() => render(<Markdown text="Another" live={false} />, place));
  expect(place.querySelector('.markdown')?.innerHTML).toBe('<p dir="auto">Another</p>');
  vi.unstubAllGlobals();
});
