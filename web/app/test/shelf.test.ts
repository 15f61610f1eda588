// @vitest-environment happy-dom
import fs from 'node:fs';
import { expect, it } from 'vitest';
import { factsInWords, labelOf } from '../src/model/offered';
import { offerOf, readShelf, recommended, type Device, type ShelfModel } from '../src/model/shelf';

const BASE = 'https://page.example/';
const file = (bytes: number, rest = {}) => ({
  type: 'Q4_K_M',
  address: 'hf:owner/repo:a.gguf',
  bytes,
  sha256: null,
  verified: true,
  ...rest,
});
const entry = (id: string, files: unknown, rest = {}) => ({
  id,
  name: id,
  kind: 'chat',
  first: true,
  recommend: null,
  good_for: { en: 'talk' },
  licence: 'MIT',
  terms: null,
  files,
  ...rest,
});
const read = (...models: unknown[]): ShelfModel[] => readShelf({ models }, BASE);
/** A device of this memory that needs a second for so many bytes. */
const device = (limit: number, bytesPerSecond?: number): Device => ({
  limit,
  speed: ({ bytes }) =>
    bytesPerSecond === undefined
      ? null
      : { tokensPerSecond: bytesPerSecond / bytes, learned: false, rereads: false },
});

it('takes all models of the shelf that comes with the page', () => {
  const text = fs.readFileSync('public/models/shelf.json', 'utf8');
  const given = JSON.parse(text) as { models: { id: string; files: unknown[] }[] };
  const models = readShelf(given, BASE);
  expect(models.map(({ id, files }) => [id, files.length])).toEqual(
    given.models.map(({ id, files }) => [id, files.length]),
  );
  expect(models.every(({ goodFor }) => goodFor['en'] !== undefined)).toBe(true);
});

it('leaves out what is wrong in a file that anyone may have written', () => {
  for (const bad of [null, 3, 'x', [], {}, { models: 'x' }, { models: [null, 1, [], {}] }])
    expect(readShelf(bad, BASE)).toEqual([]);
  const bad = [
    file(0),
    file(-1),
    file(1.5),
    file(1e15),
    file(1, { bytes: '1' }),
    file(1, { address: 'javascript:alert(1)' }),
    file(1, { address: 'data:,x' }),
    file(1, { address: 'https://name:word@host.example/a.gguf' }),
    file(1, { address: 7 }),
    null,
  ];
  expect(read(entry('none', bad), entry('empty', []), entry('text', 'x'))).toEqual([]);
  const good = file(5, { sha256: 'no hash', verified: 'yes' });
  const [model] = read(
    entry('a', [...bad, good], { name: 'A\u202e\u0007B', recommend: '9', first: 1, licence: {} }),
    entry('a', [file(7)]),
  );
  expect(model).toMatchObject({ name: 'A B', recommend: null, first: false, licence: '' });
  expect(model?.files).toEqual([
    { type: 'Q4_K_M', address: 'hf:owner/repo:a.gguf', bytes: 5, sha256: null, sure: false },
  ]);
  expect(read(entry('long', [file(5)], { name: 'x'.repeat(1e5) }))[0]?.name).toHaveLength(300);
  const many = Array.from({ length: 1000 }, (_, i) => entry(`${i}`, [file(5)]));
  expect(read(...many).length).toBeLessThan(100);
});

it('takes addresses of the page’s own site', () => {
  const [model] = read(entry('a', [file(5, { address: 'models/a.gguf' })]));
  expect(model?.files[0].address).toBe('https://page.example/models/a.gguf');
});

it('offers no model whose terms it can’t show', () => {
  const terms = { address: 'https://host.example/terms', short: { en: 'You agree.' } };
  const [model] = read(entry('a', [file(5)], { terms }));
  expect(model?.terms).toEqual(terms);
  for (const wrong of [true, {}, { ...terms, address: 'javascript:1' }, { ...terms, short: {} }])
    expect(read(entry('a', [file(5)], { terms: wrong }))).toEqual([]);
});

it('recommends the best that fits and is quick enough, or else the smallest', () => {
  const models = read(
    entry('small', [file(100e6)], { recommend: 1 }),
    entry('middle', [file(400e6)], { recommend: 2 }),
    entry('large', [file(3e9)], { recommend: 3 }),
    entry('unasked', [file(50e6)]),
    entry('other', [file(1e6)], { kind: 'text', recommend: 9 }),
  );
  const found = (device: Device) => recommended(models, device)?.model.id;
  expect(found(device(1e9))).toBe('middle');
  expect(found(device(8e9))).toBe('large');
  // 30 and 7.5 tokens a second
  expect(found(device(1e9, 3e9))).toBe('small');
  expect(found(device(1e9, 3.3e9))).toBe('middle');
  expect(found(device(1e9, 1e8))).toBe('unasked');
  expect(found(device(1e6))).toBe('unasked');
  expect(recommended([], device(1e9))).toBeNull();
});

it('offers of a model’s files the first that fits', () => {
  const [model] = read(entry('a', [file(900e6), file(600e6), file(300e6)]));
  if (model === undefined) throw new Error('no model');
  const at = (limit: number) => offerOf(model, device(limit));
  expect(at(2e9)).toMatchObject({ file: { bytes: 900e6 }, fits: true });
  expect(at(0.8e9)).toMatchObject({ file: { bytes: 600e6 }, fits: true });
  expect(at(1e6)).toMatchObject({ file: { bytes: 300e6 }, fits: false, speed: null });
});

it('says a size once, and that it is not sure of one that no source confirms', () => {
  const [model] = read(entry('a', [file(397e6, { verified: false })]));
  const of = offerOf(model as ShelfModel, device(1e9, 40 * 397e6));
  expect(labelOf(of, true)).toBe('Download about\u00a0397\u00a0MB');
  expect(factsInWords(of)).toBe('28 to 52 tokens/s · Licence: MIT');
});
