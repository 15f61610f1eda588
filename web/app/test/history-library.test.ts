// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from 'vitest';
import type { Open } from '../src/history/open';
import { library } from '../src/history/state';
import { append, message } from '../src/history/tree';
import { watchWrites } from './history-setup';

// Without locks each tab may write.
vi.hoisted(() => {
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
});

const watch = watchWrites();
afterEach(() => {
  watch.full = false;
});

function say(open: Open, text: string): void {
  open.tree.value = append(open.tree.value, message(open.tree.value, 'user', text));
}

const titles = (): string[] => library.summaries.value.map(({ title }) => title);

it('lists what was written here, the last changed first', async () => {
  const [a, b] = [library.take(), library.take()];
  for (const [open, text] of [
    [a, 'a'],
    [b, 'b'],
  ] as const) {
    say(open, text);
    await library.settle();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(titles()).toEqual(['b', 'a']);
  say(a, 'more');
  await library.settle();
  expect(titles()).toEqual(['a', 'b']);
  for (const { tree } of [a, b]) await library.forget(tree.value.id);
  expect(titles()).toEqual([]);
});

it('does not bring back what is deleted while it is written for the last time', async () => {
  const open = library.take();
  const { id } = open.tree.value;
  say(open, 'a');
  await library.settle();
  say(open, 'b');
  open.leave();
  await library.forget(id);
  await library.settle();
  expect(await library.store.get(id)).toBeNull();
  expect(titles()).toEqual([]);
});

it('keeps a conversation open that could not be written', async () => {
  const open = library.take();
  const { id } = open.tree.value;
  watch.full = true;
  say(open, 'a');
  open.leave();
  await library.settle();
  expect(library.trouble.value).toBe('full');
  expect(await library.openById(id)).toBe(open);
  watch.full = false;
  open.leave();
  await library.settle();
  expect(library.trouble.value).toBeNull();
  const again = await library.openById(id);
  expect(again).not.toBe(open);
  expect(again?.tree.value).toEqual(open.tree.value);
});
