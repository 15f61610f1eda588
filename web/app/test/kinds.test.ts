import { describe, expect, it } from 'vitest';
import { kindOf, textIn } from '../src/talk/kinds';

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0));

describe('a file', () => {
  it('is text by what is in it', () => {
    const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
    expect(textIn(encode('Grüße\r\nund 日本語'))).toBe('Grüße\nund 日本語');
    expect(textIn(encode('\ufeffwith a mark'))).toBe('with a mark');
    expect(textIn(new Uint8Array())).toBe('');
    expect(textIn(bytes('\xff\xfeh\0i\0'))).toBe('hi');
    expect(textIn(bytes('\xfe\xff\0h\0i'))).toBe('hi');
    // Windows-1252. (Node decodes its signs otherwise than browsers; letters are the same.)
    expect(textIn(bytes('Gr\xfc\xdfe f\xfcr alle'))).toBe('Grüße für alle');
    // UTF-8 with one damaged character
    const damaged = [...encode('Grüße für alle, überall, höchst schön'), 0xc3, 0x20];
    expect(textIn(Uint8Array.from(damaged))).toBe('Grüße für alle, überall, höchst schön\ufffd ');
  });

  it('is no text if it has what stands in none', () => {
    for (const none of ['a\0b', '\xff\xfe\0', '\xff\xff\xff\xff', 'text \x01', '\x81 is no letter'])
      expect(textIn(bytes(none)), JSON.stringify(none)).toBeNull();
  });

  it('has a kind by its first bytes', () => {
    const zip = `PK\x03\x04${'\0'.repeat(26)}`;
    for (const [start, kind] of [
      ['%PDF-1.7', 'pdf'],
      ['\x89PNG\r\n', 'picture'],
      ['\xff\xd8\xff\xe0', 'picture'],
      ['RIFF\0\0\n\0WEBP', 'picture'],
      ['\0\0\0\x20ftypheic', 'picture'],
      [`${zip}[Content_Types].xml`, 'office'],
      [`${zip}mimetypeapplication/vnd.oasis`, 'office'],
      ['\xd0\xcf\x11\xe0\xa1', 'office'],
      ['{\\rtf1', 'office'],
      [`${zip}notes.txt`, 'archive'],
      ['\x1f\x8b\x08', 'archive'],
      [`${'x'.repeat(257)}ustar`, 'archive'],
      ['ID3\x03', 'sound'],
      ['RIFF\0\0\n\0WAVE', 'sound'],
      ['\0\0\0\x20ftypisom', 'film'],
      ['\x40\0\0\0\0\0\0\0{"a":{"dtype":"F32"', 'weights'],
      ['GGUF\x03\0\0\0', 'model'],
      ['Once upon a time', null],
      ['BMW is a car maker', null],
      ['', null],
    ] as const)
      expect(kindOf(bytes(start)), JSON.stringify(start)).toBe(kind);
  });
});
