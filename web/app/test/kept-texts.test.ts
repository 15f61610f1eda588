import { describe, expect, it } from 'vitest';
import { MOST_TEXTS, bounded, fromJson, toJson, type Written } from '../src/writing/kept-texts';

function text(more: Partial<Written> = {}): Written {
  return {
    id: '00000000-0000-4000-8000-000000000001',
    prompt: 'Once',
    text: ' there was',
    tokens: 2,
    finish: 'length',
    seed: 7,
    begun: 0,
    by: { name: 'Stories', kind: 'bundled', url: null },
    settings: 'temperature=0.5',
    runs: [
      {
        begun: 0,
        from: 'text',
        ids: [5, 6],
        lengths: [6, 4],
        seed: 7,
        settings: 'temperature=0.5',
      },
    ],
    branch: null,
    ...more,
  };
}

describe('texts that are kept over a reload', () => {
  it('are read back as they were', () => {
    const url = 'https://models.example/m.gguf';
    const texts = [
      text(),
      text({ finish: null, seed: null, by: null }),
      text({ prompt: '', begun: 4, by: { name: 'M', kind: 'address', url } }),
      text({ by: { name: 'm.gguf', kind: 'files', url: null } }),
    ];
    for (const at of [0, 2, 3]) expect(fromJson(toJson({ texts, at }))).toEqual({ texts, at });
  });

  it('are checked when they are read', () => {
    const wrong: [keyof Written, unknown][] = [
      ['prompt', 5],
      ['prompt', 'x'.repeat(20_001)],
      ['text', ''],
      ['text', ['a']],
      ['tokens', -1],
      ['tokens', 1.5],
      ['finish', 'done'],
      ['seed', '7'],
      ['seed', 1e300],
      ['begun', 11],
      ['settings', {}],
      ['by', 'Stories'],
      ['by', { name: 1, kind: 'bundled', url: null }],
      ['by', { name: 'M', kind: 'other', url: null }],
      ['by', { name: 'M', kind: 'address', url: 'javascript:alert(1)' }],
      ['by', { name: 'M', kind: 'address', url: null }],
    ];
    for (const [name, value] of wrong) {
      const json = JSON.stringify({
        version: 1,
        at: 1,
        texts: [{ ...text(), [name]: value }, text({ prompt: 'kept' })],
      });
      expect(fromJson(json), `${name}: ${JSON.stringify(value)}`).toEqual({
        texts: [text({ prompt: 'kept' })],
        at: 0,
      });
    }
  });

  it('have no tokens, and no text that they come from, where what is kept of these is wrong', () => {
    const run = { begun: 0, from: 'text', ids: [5], lengths: [6], seed: null, settings: '' };
    const read = (more: object): Written | undefined =>
      fromJson(JSON.stringify({ version: 1, at: 0, texts: [{ ...text(), ...more }] })).texts[0];
    expect(read({ runs: [run] })?.runs).toEqual([run]);
    for (const wrong of [
      { from: 'nothing' },
      { begun: -1 },
      // Beyond the text's end.
      { begun: 5 },
      { ids: [] },
      { ids: [5, 6] },
      { ids: [-5] },
      { lengths: ['6'] },
      { seed: 'x' },
      { settings: 5 },
    ])
      expect(read({ runs: [run, { ...run, ...wrong }] })?.runs, JSON.stringify(wrong)).toEqual([]);
    for (const runs of [undefined, null, 'x', [null]]) expect(read({ runs })?.runs).toEqual([]);
    const of = '00000000-0000-4000-8000-000000000002';
    expect(read({ branch: { of, at: 3 } })?.branch).toEqual({ of, at: 3 });
    for (const branch of [{ of, at: 10 }, { of: '__proto__', at: 3 }, { of }, 5, undefined])
      expect(read({ branch })?.branch).toBeNull();
    // Of an older version of the page: without an id.
    expect(read({ id: undefined })?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('are none if it is something else that is kept', () => {
    const none = { texts: [], at: 0 };
    for (const json of [
      null,
      '',
      '{',
      'null',
      '5',
      '[]',
      '{"version":1}',
      '{"version":1,"texts":5}',
      '{"version":1,"texts":[null,1,[]]}',
      '{"version":2,"at":0,"texts":[]}',
      ' '.repeat(2e6),
    ])
      expect(fromJson(json)).toEqual(none);
    const at = (place: unknown): number =>
      fromJson(JSON.stringify({ version: 1, at: place, texts: [text(), text()] })).at;
    expect([0, 1, 2, -1, 0.5, '0', null].map(at)).toEqual([0, 1, 1, 1, 1, 1, 1]);
  });

  it('are the newest ones, and the one that is shown', () => {
    const texts = Array.from({ length: MOST_TEXTS + 3 }, (_, i) => text({ seed: i }));
    const seeds = (at: number): (number | null)[] => {
      const now = bounded({ texts, at });
      expect(now.texts).toHaveLength(MOST_TEXTS);
      expect(now.texts[now.at]?.seed).toBe(at);
      return now.texts.map(({ seed }) => seed);
    };
    expect(seeds(22)[0]).toBe(3);
    expect(seeds(5)[0]).toBe(3);
    expect(seeds(1).slice(0, 2)).toEqual([1, 4]);
    expect(seeds(0).slice(0, 2)).toEqual([0, 4]);
  });

  it('take no more than a megabyte', () => {
    const texts = Array.from({ length: 5 }, (_, i) => text({ seed: i, text: 'x'.repeat(150_000) }));
    const kept = bounded({ texts, at: 4 });
    expect(kept.texts.map(({ seed }) => seed)).toEqual([2, 3, 4]);
    expect(toJson(kept).length).toBeLessThan(500_200);
    expect(bounded({ texts: [text({ text: 'x'.repeat(600_000) })], at: 0 }).texts).toEqual([]);
  });
});
