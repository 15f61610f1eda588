// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from 'vitest';
import { forget, openById, settle, store, summaries, take, trouble } from '../src/history/library';
import { type Open } from '../src/history/library';
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

const titles = (): string[] => summaries.value.map(({ title }) => title);

it('lists what was written here, the last changed first', async () => {
  const [a, b] = [take(), take()];
  for (const [open, text] of [
    [a, 'a'],
    [b, 'b'],
  ] as const) {
    say(open, text);
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(titles()).toEqual(['b', 'a']);
  say(a, 'more');
  await settle();
  expect(titles()).toEqual(['a', 'b']);
  for (const { tree } of [a, b]) await forget(tree.value.id);
  expect(titles()).toEqual([]);
});

it('does not bring back what is deleted while it is written for the last time', async () => {
  const open = take();
  const { id } = open.tree.value;
  say(open, 'a');
  await settle();
  say(open, 'b');
  open.leave();
  await forget(id);
  await settle();
  expect(await (await store()).get(id)).toBeNull();
  expect(titles()).toEqual([]);
});

it('keeps a conversation open that could not be written', async () => {
  const open = take();
  const { id } = open.tree.value;
  watch.full = true;
  say(open, 'a');
  open.leave();
  await settle();
  expect(trouble.value).toBe('full');
  expect(await openById(id)).toBe(open);
  watch.full = false;
  open.leave();
  await settle();
  expect(trouble.value).toBeNull();
  const again = await openById(id);
  expect(again).not.toBe(open);
  expect(again?.tree.value).toEqual(open.tree.value);
});
