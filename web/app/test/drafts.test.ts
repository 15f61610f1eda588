import { describe, expect, it } from 'vitest';
import { NOTHING, fromJson, toJson, type Field } from '../src/talk/drafts';

function field(more: Partial<Field> = {}): Field {
  return { text: 'A draft', attachments: [], editing: null, aside: NOTHING, refusal: '', ...more };
}
const file = { name: 'notes.txt', text: 'Notes.\n' };

describe('drafts that are kept over a reload', () => {
  it('are read back as they were', () => {
    const fields = new Map([
      ['', field()],
      ['c1', field({ text: '', attachments: [file] })],
      ['c2', field({ editing: 'm1', aside: { text: 'Before', attachments: [file] } })],
    ]);
    const read = fromJson(toJson(fields));
    expect([...read]).toEqual([...fields]);
  });

  it('are checked when they are read', () => {
    const good = { of: 'c1', ...field() };
    const wrong = [
      ...[null, 5, 'text', [], {}],
      ...[
        { ...good, of: 5 },
        { ...good, text: null },
        { ...good, aside: 'x' },
      ],
      { ...good, aside: { text: 7 } },
    ];
    for (const one of wrong) {
      const json = JSON.stringify({ version: 1, fields: [one, { ...good, of: 'c2' }] });
      expect([...fromJson(json).keys()], JSON.stringify(one)).toEqual(['c2']);
    }
    const half = { ...good, editing: 5, attachments: [file, { name: 1, text: 'x' }, 'y'] };
    const json = JSON.stringify({ version: 1, fields: [half] });
    expect(fromJson(json).get('c1')).toEqual(field({ attachments: [file] }));
  });

  it('are none if it is something else that is kept', () => {
    const list = [null, '', '{', '5', 'null', '[]', '{"version":1}', '{"version":2,"fields":[]}'];
    for (const json of list) expect(fromJson(json).size, String(json)).toBe(0);
  });

  it('are given up from the oldest, then the files, where there are too many', () => {
    const large = { name: 'large.txt', text: 'x'.repeat(700_000) };
    const fields = new Map([
      ['a', field({ attachments: [large] })],
      ['b', field({ text: 'two' })],
      ['c', field({ text: 'three', attachments: [large] })],
    ]);
    expect([...fromJson(toJson(fields)).keys()]).toEqual(['b', 'c']);
    const all = field({ attachments: [large, { ...large, name: 'too.txt' }] });
    expect([...fromJson(toJson(new Map([['a', all]])))]).toEqual([['a', field()]]);
  });
});
