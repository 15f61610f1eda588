// System prompts that the reader has saved, on this device.
import { signal } from '@preact/signals';
import { isObject } from '../history/records';
import { titleOf } from '../history/tree';

export interface SavedPrompt {
  name: string;
  text: string;
}

const KEY = 'sluice-system-prompts';
/** The longest system prompt, and how many are kept. */
export const MAX_SYSTEM = 20_000;
const MOST = 50;

/** What is kept as prompts; what is none is left out. Never throws. */
export function fromJson(json: string | null): SavedPrompt[] {
  let value: unknown;
  try {
    value = JSON.parse(json ?? '[]');
  } catch {
    return [];
  }
  const read = new Map<string, SavedPrompt>();
  for (const one of Array.isArray(value) ? value.filter(isObject) : []) {
    const { name, text } = one;
    if (typeof name !== 'string' || typeof text !== 'string' || text === '') continue;
    const clean = titleOf(name);
    if (clean !== '' && text.length <= MAX_SYSTEM) read.set(clean, { name: clean, text });
  }
  return [...read.values()].slice(-MOST);
}

function kept(): SavedPrompt[] {
  try {
    return fromJson(localStorage.getItem(KEY));
  } catch {
    return [];
  }
}

export const prompts = signal(kept());

// Another tab has saved or deleted one.
window.addEventListener('storage', ({ key }) => {
  if (key === KEY || key === null) prompts.value = kept();
});

function keep(all: SavedPrompt[]): void {
  prompts.value = all.slice(-MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(prompts.value));
  } catch {
    // Without a place for them they stay until the tab is closed.
  }
}

/** Saves a prompt under a name, in place of one that had it. */
export function savePrompt(name: string, text: string): void {
  const clean = titleOf(name);
  if (clean === '' || text.trim() === '') return;
  keep([...prompts.peek().filter((one) => one.name !== clean), { name: clean, text }]);
}

export function removePrompt(name: string): void {
  keep(prompts.peek().filter((one) => one.name !== name));
}
