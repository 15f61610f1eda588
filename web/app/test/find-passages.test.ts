// Cutting texts into passages, and reading files of every kind.
import { describe, expect, it } from 'vitest';
import { cut } from '../src/find/passages';
import { MOST_BYTES, filesIn, isHidden, nameOf, readText } from '../src/find/reading';

async function passages(text: string): Promise<string[]> {
  return (await cut(text)).map(({ start, end }) => text.slice(start, end));
}

const sentence = (n: number): string => `This is the sentence with the number ${n} of a long text.`;
const prose = (from: number, n: number): string =>
  Array.from({ length: n }, (_, i) => sentence(from + i)).join(' ');

describe('passages', () => {
  it('of a short text is the text', async () => {
    expect(await cut('\n\n  One.\nTwo.  \n')).toEqual([{ start: 4, end: 13, line: 3 }]);
    expect(await cut(' \n\t ')).toEqual([]);
    expect(await cut('')).toEqual([]);
  });

  it('end at paragraphs, without repeating anything', async () => {
    const paragraphs = Array.from({ length: 6 }, (_, i) => prose(100 * i, 10));
    const found = await passages(paragraphs.join('\n\n'));
    expect(found).toEqual(paragraphs);
  });

  it('hold several short paragraphs', async () => {
    const found = await passages(Array.from({ length: 40 }, (_, i) => sentence(i)).join('\n\n'));
    expect(found.length).toBeLessThan(5);
    for (const one of found) expect(one.length).toBeLessThanOrEqual(900);
  });

  it('end after sentences where a paragraph is long, and begin with the last one again', async () => {
    const text = prose(100, 60);
    const found = await passages(text);
    expect(found.length).toBeGreaterThan(3);
    found.forEach((one, i) => {
      expect(one).toMatch(/^This is .* text\.$/);
      expect(one.length).toBeLessThanOrEqual(900);
      const next = found[i + 1];
      if (next === undefined) return;
      // Begins with a sentence of the one before, and goes on after it.
      expect(one).toContain(next.slice(0, sentence(100).length));
      expect(one.endsWith(next)).toBe(false);
    });
    for (let n = 100; n < 160; ++n)
      expect(found.some((one) => one.includes(sentence(n)))).toBe(true);
  });

  it('know their lines', async () => {
    const text = Array.from({ length: 400 }, (_, i) => `key${i}: value of a line`).join('\n');
    for (const { start, line } of await cut(text))
      expect(text.slice(0, start).split('\n').length).toBe(line);
  });

  it('of one line without an end are cut all the same, never within a character', async () => {
    const found = await passages('🦊'.repeat(5000));
    expect(found.length).toBeGreaterThan(5);
    for (const one of found) expect(one).toMatch(/^(🦊)+$/u);
    expect(found.join('')).toBe('🦊'.repeat(5000));
  });

  it('of scripts whose characters are tokens are shorter', async () => {
    const found = await passages('雨の後、庭は土の匂いがした。'.repeat(200));
    for (const one of found) expect(one.length).toBeLessThanOrEqual(225);
    expect(found[0]).toMatch(/。$/);
  });

  it('of a million short lines take a moment', async () => {
    const text = 'a b\n'.repeat(1_000_000);
    const found = await cut(text);
    expect(found.length).toBeGreaterThan(4000);
    expect(found.at(-1)?.end).toBe(text.length - 1);
    expect(found.at(-1)?.line).toBeGreaterThan(999_000);
  });

  it('go on for ever in no text', async () => {
    for (const part of ['.\n', ' . ', '。', '\n\n', 'a\n\n', '\ud83e', '!?…', '.) ']) {
      const text = part.repeat(3000);
      let last = -1;
      for (const { start, end } of await cut(text)) {
        expect(start).toBeGreaterThan(last);
        expect(end).toBeGreaterThan(start);
        last = start;
      }
    }
  });
});

describe('a file', () => {
  const read = (content: BlobPart, name = 'a.txt') => readText(new File([content], name));
  const utf16 = (text: string): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Uint16Array.from(`\ufeff${text}`, (c) => c.charCodeAt(0)).buffer);

  it('is read in several encodings', async () => {
    expect(await read('Grüße\r\naus Köln\r')).toEqual({ text: 'Grüße\naus Köln\n' });
    expect(await read(utf16('Grüße, 你好'))).toEqual({ text: 'Grüße, 你好' });
    // Without its mark, it has NULs in it.
    expect(await read(utf16('Grusz').slice(2))).toEqual({ why: 'other' });
    const latin = Uint8Array.from('Die Straße ist grün und schön.', (c) => c.charCodeAt(0));
    expect(await read(latin)).toEqual({ text: 'Die Straße ist grün und schön.' });
  });

  it('that is no text is refused', async () => {
    expect(await read('')).toEqual({ why: 'empty' });
    expect(await read(' \n\u200b\ufeff\n')).toEqual({ why: 'empty' });
    expect(await read('text\0and more')).toEqual({ why: 'other' });
    expect(await read('%PDF-1.7 ...')).toEqual({ why: 'pdf' });
    expect(await read('GGUF....')).toEqual({ why: 'model' });
    expect(await read(Uint8Array.of(0xff, 0xfe, 0, 0xd8, 0x20, 0))).toEqual({ why: 'other' });
  });

  it('that is too large is not read', async () => {
    const large = new File(['a'.repeat(1000)], 'a.txt');
    Object.defineProperty(large, 'size', { value: MOST_BYTES + 1 });
    expect(await readText(large)).toEqual({ why: 'long' });
    const pdf = new File(['%PDF-'], 'a.txt');
    Object.defineProperty(pdf, 'size', { value: 100e6 });
    expect(await readText(pdf)).toEqual({ why: 'pdf' });
  });

  it('that is gone is refused', async () => {
    const gone = new File(['text'], 'a.txt');
    gone.arrayBuffer = () => Promise.reject(new DOMException('gone', 'NotFoundError'));
    expect(await readText(gone)).toEqual({ why: 'lost' });
  });

  it('has a name without what turns it around', () => {
    expect(nameOf(new File([''], 'a\u202egnp.txt\u0007\n.md'))).toBe('agnp.txt .md');
    expect(nameOf(new File([''], '\u202e'))).toBe('?');
    expect(nameOf(new File([''], `${'x'.repeat(500)}.md`))).toHaveLength(200);
  });

  it('of a folder has its path for its name', async () => {
    const file = (name: string) => ({
      kind: 'file',
      name,
      getFile: async () => new File([name], name),
    });
    const folder = (name: string, ...entries: object[]) => ({
      kind: 'directory',
      name,
      async *values() {
        yield* entries;
      },
    });
    const all = folder('notes', file('a.md'), file('.hidden'), folder('b', file('c.md')));
    const found = await filesIn([all as unknown as FileSystemDirectoryHandle]);
    expect(found.filter((one) => !isHidden(one)).map(nameOf)).toEqual([
      'notes/a.md',
      'notes/b/c.md',
    ]);
    expect(isHidden(new File([''], '.profile'))).toBe(false);
  });
});
