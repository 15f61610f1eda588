// What a reader chose for this device: it comes from the browser's storage, where anything may stand.
import { afterEach, expect, it, vi } from 'vitest';
import { keepPersonal, loadPersonal, readPersonal, type Personal } from '../src/settings/choices';

const NOTHING: Personal = { language: null, theme: null, view: null, preset: null };
const ALL: Personal = { language: 'de', theme: 'dark', view: 'write', preset: 'wild' };

function store(over: Partial<Storage> = {}): Map<string, string> {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
    ...over,
  });
  return kept;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

it('comes back as it was kept', () => {
  const kept = store();
  keepPersonal(ALL);
  expect(loadPersonal()).toEqual(ALL);
  expect(kept.size).toBe(1);
  keepPersonal(NOTHING);
  expect(kept.size).toBe(0);
  expect(loadPersonal()).toEqual(NOTHING);
});

it('is left out where it can’t be used, and the rest is taken', () => {
  for (const text of [
    null,
    '',
    '{',
    'null',
    '1',
    '"de"',
    '[]',
    '[1]',
    'true',
    '{"__proto__":{"language":"de"}}',
  ])
    expect(readPersonal(text), String(text)).toEqual(NOTHING);
  expect(
    readPersonal(
      '{"language":"xx","theme":{"light":1},"view":["talk"],"preset":"own","script":"x"}',
    ),
  ).toEqual(NOTHING);
  expect(readPersonal('{"language":"de","theme":"Dark","view":null}')).toEqual({
    ...NOTHING,
    language: 'de',
  });
});

it('is that of the visit where the browser keeps nothing', () => {
  const refuse = (): never => {
    throw new DOMException('no', 'SecurityError');
  };
  store({ getItem: refuse, setItem: refuse, removeItem: refuse });
  expect(() => keepPersonal(ALL)).not.toThrow();
  expect(() => keepPersonal(NOTHING)).not.toThrow();
  expect(loadPersonal()).toEqual(NOTHING);
  vi.stubGlobal('localStorage', undefined);
  expect(loadPersonal()).toEqual(NOTHING);
});
