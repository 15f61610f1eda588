// @vitest-environment happy-dom
// Files that the page gives the reader.
import { afterEach, expect, it, vi } from 'vitest';
import { fileName, saveFile } from '../src/ui/save-file';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('names files as every system takes them', () => {
  expect(fileName('What: is/this?', 'md')).toBe('What is this.md');
  expect(fileName('..\\..\u202e/etc', 'json')).toBe('etc.json');
  for (const title of ['', '...', 'CON', ' ? ']) expect(fileName(title, 'md')).toBe('sluice.md');
});

it('gives the reader a file by its name, and frees it later', () => {
  vi.useFakeTimers();
  const made = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:x');
  const freed = vi.spyOn(URL, 'revokeObjectURL').mockReturnValue();
  const pressed: string[] = [];
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    pressed.push(`${this.download} ${this.href}`);
  });
  const file = new Blob(['x']);
  saveFile('a.txt', file);
  expect(made).toHaveBeenCalledWith(file);
  expect(pressed).toEqual(['a.txt blob:x']);
  expect(freed).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(freed).toHaveBeenCalledWith('blob:x');
});
