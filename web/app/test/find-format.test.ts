// Documents as they are kept, and how damage to them is noticed; what lies nearest to a question.
import { expect, it } from 'vitest';
import { decode, encode, type Document, type Mark } from '../src/find/format';
import { rank } from '../src/find/ranking';

const BY: Mark = { name: 'tiny', bytes: 1234, dimensions: 4 };

function documentOf(change: Partial<Document> = {}): Document {
  const text = 'Grüße aus dem Süden.\nZweite Zeile 🦊.';
  return {
    name: 'grüße.txt',
    added: 1_700_000_000_000,
    text,
    by: BY,
    done: 1,
    places: Uint32Array.of(0, 20, 1, 21, text.length, 2),
    vectors: Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0),
    ...change,
  };
}

it('is read back as it was', async () => {
  const document = documentOf();
  expect(await decode(await encode(document))).toEqual(document);
  const unread = documentOf({ by: null, done: 0, vectors: new Float32Array(0) });
  expect(await decode(await encode(unread))).toEqual(unread);
  const marked = documentOf({ text: `\ufeff${documentOf().text}` });
  expect(await decode(await encode(marked))).toEqual(marked);
});

it('is damaged where any byte differs, or is missing', async () => {
  const file = await encode(documentOf());
  for (let at = 0; at < file.length; ++at) {
    const changed = file.slice();
    changed[at] = (changed[at] ?? 0) ^ 0x10;
    // The version alone may be a later one.
    expect(await decode(changed), `byte ${at}`).toBe(at === 6 || at === 7 ? 'newer' : 'damaged');
  }
  for (let length = 0; length < file.length; length += 5)
    expect(await decode(file.slice(0, length))).toBe('damaged');
});

/** A file that says of itself that it is whole. */
async function sealed(
  change: (view: DataView, file: Uint8Array) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const file = await encode(documentOf());
  change(new DataView(file.buffer), file);
  const hash = await crypto.subtle.digest('SHA-256', file.subarray(0, -32));
  file.set(new Uint8Array(hash), file.length - 32);
  return file;
}

it('that says what can’t be is damaged, whatever its hash', async () => {
  const swap = (from: string, to: string) => (_: DataView, file: Uint8Array) => {
    const text = new TextDecoder('latin1').decode(file);
    const at = text.indexOf(from);
    expect(at).toBeGreaterThan(0);
    expect(to).toHaveLength(from.length);
    file.set(new TextEncoder().encode(to), at);
  };
  const bad: ((view: DataView, file: Uint8Array) => void)[] = [
    (view) => view.setUint32(8, 0xffffffff, true),
    (view) => view.setUint32(12, 0xffffffff, true),
    (view) => view.setUint32(8, 0, true),
    swap('"passages":2', '"passages":9'),
    swap('"passages":2', '"passages":-'),
    swap('"done":1', '"done":3'),
    swap('"done":1', '"done":0'),
    swap('"dimensions":4', '"dimensions":9'),
    swap('"bytes":1234', '"bytes":null'),
    swap('"name":"tiny"', '"name":[1,23]'),
    swap('{"name":', '["name":'),
    // The first passage ends before it begins, or beyond the text.
    (view, file) => view.setUint32(placesAt(file) + 4, 0, true),
    (view, file) => view.setUint32(placesAt(file) + 4, 1e9, true),
  ];
  for (const [i, change] of bad.entries())
    expect(await decode(await sealed(change)), `change ${i}`).toBe('damaged');
  expect(await decode(await sealed(() => {}))).toEqual(documentOf());
});

function placesAt(file: Uint8Array): number {
  const view = new DataView(file.buffer);
  return Math.ceil((16 + view.getUint32(8, true) + view.getUint32(12, true)) / 4) * 4;
}

/** A document of passages "0" to "9" in one text, with these vectors. */
function withVectors(vectors: number[][], change: Partial<Document> = {}): Document {
  const text = '0123456789';
  return documentOf({
    text,
    places: Uint32Array.from(vectors.flatMap((_, i) => [i, i + 1, i + 1])),
    vectors: Float32Array.from(vectors.flat()),
    done: vectors.length,
    ...change,
  });
}

it('finds what lies nearest, in order, the first of equals first', () => {
  const a = withVectors([
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0.6, 0.8, 0, 0],
  ]);
  const b = withVectors(
    [
      [0.8, 0.6, 0, 0],
      [-1, 0, 0, 0],
      [1, 0, 0, 0],
    ],
    { name: 'b' },
  );
  const found = rank(
    Float32Array.of(1, 0, 0, 0),
    BY,
    [
      ['a', a],
      ['b', b],
    ],
    4,
  );
  expect(found.map(({ of, text }) => of + text)).toEqual(['a0', 'b2', 'b0', 'a2']);
  expect(found.map(({ score }) => Math.round(score * 100))).toEqual([100, 100, 80, 60]);
  expect(found[1]).toMatchObject({ name: 'b', line: 3, start: 2 });
  expect(rank(Float32Array.of(1, 0, 0, 0), BY, [], 4)).toEqual([]);
});

it('leaves out vectors of other models, those not made yet, and what is no number', () => {
  const one = [
    [1, 0, 0, 0],
    [1, 0, 0, 0],
  ];
  const question = Float32Array.of(1, 0, 0, 0);
  const find = (document: Document, by = BY): number =>
    rank(question, by, [['a', document]], 9).length;
  expect(find(withVectors(one))).toBe(2);
  expect(find(withVectors(one, { done: 1 }))).toBe(1);
  expect(find(withVectors(one, { by: null }))).toBe(0);
  for (const other of [{ name: 'other' }, { bytes: 1 }, { dimensions: 8 }])
    expect(find(withVectors(one, { by: { ...BY, ...other } }))).toBe(0);
  expect(
    find(
      withVectors([
        [NaN, 0, 0, 0],
        [1, 0, 0, 0],
      ]),
    ),
  ).toBe(1);
});
