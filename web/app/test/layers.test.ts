import { describe, expect, it } from 'vitest';
import { cellsOf, columnsFor, inWords, partsOf, slotInWords, summaryOf } from '../src/model/cells';
import { arrived, model, turning } from './story/views';

describe('the cells', () => {
  it('stand in as few rows as fit, which are about equally long', () => {
    expect(columnsFor(7, 300)).toBe(7);
    expect(columnsFor(30, 480)).toBe(30);
    // 64 would fit into a row: two rows of 64 look better than 68 and 60.
    expect(columnsFor(128, 480)).toBe(64);
    expect(columnsFor(128, 296)).toBe(32);
  });

  it('are never narrower than can be seen, for 1 to 200 parts and any width', () => {
    for (let cells = 1; cells <= 200; ++cells) {
      for (const width of [200, 296, 480, 700, 1200]) {
        const columns = columnsFor(cells, width);
        expect(columns).toBeGreaterThanOrEqual(1);
        expect(columns).toBeLessThanOrEqual(cells);
        expect(width / columns).toBeGreaterThanOrEqual(7);
      }
    }
  });

  it('are there without any width or part', () => {
    expect(columnsFor(0, 0)).toBe(1);
    expect(columnsFor(5, 0)).toBe(1);
  });

  it('show the state of each part and how much of it has arrived', () => {
    const cells = cellsOf(arrived(model({ layers: 4 }), 3.5, 1), false);
    expect(cells).toEqual([
      { look: 'embedding resident', fill: 100 },
      { look: 'layer computing', fill: 100 },
      { look: 'layer resident', fill: 100 },
      { look: 'layer arriving', fill: 50 },
      { look: 'layer absent', fill: 0 },
      { look: 'head absent', fill: 0 },
    ]);
  });

  it('that arrive look neither empty nor full', () => {
    const fill = (slots: number) => cellsOf(arrived(model({ layers: 1 }), slots), false)[1]?.fill;
    expect(fill(1.0001)).toBeGreaterThan(0);
    expect(fill(1.9999)).toBeLessThan(100);
  });

  it('show as to come what was asked for and has no byte yet', () => {
    const view = model({ layers: 1 });
    const asked = view.slots.map((slot) => ({ ...slot, state: 'arriving' as const }));
    expect(cellsOf({ ...view, slots: asked }, false)[1]).toEqual({ look: 'layer absent', fill: 0 });
    expect(slotInWords({ ...view, slots: asked }, 1)).toBe('Layer 1: not here yet, 20.0 MB');
  });

  it('show what is read again, whatever its state', () => {
    const cells = cellsOf(turning(model({ layers: 6, turns: 3 }), 2), true);
    expect(cells.map(({ look }) => look)).toEqual([
      'embedding resident',
      'layer resident',
      'layer computing again',
      'layer arriving again',
      'layer resident',
      'layer absent again',
      'layer absent again',
      'head absent again',
    ]);
  });

  it('show as to come what is read again and was never here, while the model is downloaded', () => {
    const view = turning(model({ layers: 6, turns: 3 }), 2);
    const slots = view.slots.map((slot, i) => ({ ...slot, fills: i < 5 ? 1 : 0 }));
    const looks = (coming: boolean) =>
      cellsOf({ ...view, slots }, true, coming).map(({ look }) => look);
    expect(looks(true).slice(2)).toEqual([
      'layer computing again',
      'layer arriving again',
      'layer resident',
      'layer absent',
      'layer absent',
      'head absent',
    ]);
    expect(looks(false).at(-1)).toBe('head absent again');
  });

  it('mark no layer while a model that is all in memory writes', () => {
    const whole = arrived(model({ layers: 3 }), 9, 2);
    expect(cellsOf(whole, false)[2]?.look).toBe('layer computing');
    expect(cellsOf(whole, true)[2]?.look).toBe('layer resident');
    const coming = arrived(model({ layers: 3 }), 3, 2);
    expect(cellsOf(coming, true)[2]?.look).toBe('layer computing');
  });
});

const usual = model({ layers: 28, table: true });
const large = model({ layers: 32, heads: 8, bytes: 130e6, turns: 4 });

describe('the picture in words', () => {
  it('names the parts in their order', () => {
    expect(partsOf(usual)).toBe('embedding, 28 layers, head, rest of the embedding');
    expect(partsOf(large)).toBe('embedding, 32 layers, head in 8 parts');
    expect(partsOf(model({ layers: 1 }))).toBe('embedding, 1 layer, head');
  });

  it('says a load in a few steps', () => {
    const said = new Set<string>();
    for (let at = 0; at <= usual.slots.length + 1; at += 0.1) said.add(inWords(arrived(usual, at)));
    expect([...said]).toEqual([
      'The model’s 28 layers are on their way.',
      'A quarter of the model’s 28 layers are in memory; the rest is on its way.',
      'Half of the model’s 28 layers are in memory; the rest is on its way.',
      'Three quarters of the model’s 28 layers are in memory; the rest is on its way.',
      'The whole model is in memory: 28 layers.',
    ]);
  });

  it('says what is read again, and no more of it while a text is written', () => {
    expect(inWords(large)).toContain('8 of the model’s 32 layers will stay in memory');
    const said = new Set(large.slots.map((_, at) => inWords(turning(large, at))));
    expect([...said]).toEqual([
      '8 of the model’s 32 layers stay in memory. 24 layers take turns: 3.64 GB are read again for each token.',
    ]);
  });

  it('says that the rest is still being downloaded', () => {
    expect(inWords(turning(large, 2), true)).toMatch(
      /each token\. The rest of the model is still being downloaded\.$/,
    );
    expect(inWords(turning(large, 2))).not.toContain('downloaded');
  });

  it.each([
    [0, 'None of the model’s 16 layers', 'will stay in memory.', 'stays in memory.'],
    [
      1,
      '1 of the model’s 16 layers',
      'will stay in memory, and is on its way.',
      'stays in memory.',
    ],
    [
      2,
      '2 of the model’s 16 layers',
      'will stay in memory, and are on their way.',
      'stay in memory.',
    ],
  ])('counts %i layers that stay', (stay, whose, before, after) => {
    const { slots, ...view } = model({ layers: 16, turns: 2 });
    let layer = 0;
    const some = slots.map((slot) => ({
      ...slot,
      reread: slot.kind === 'layer' && ++layer > stay,
    }));
    const here = some.map((slot) => ({ ...slot, state: 'resident' as const }));
    expect(inWords({ ...view, slots: some })).toContain(
      `${whose} ${before} ${16 - stay} layers take turns`,
    );
    expect(inWords({ ...view, slots: here })).toContain(
      `${whose} ${after} ${16 - stay} layers take turns`,
    );
  });

  it('says nothing of a model without layers', () => {
    expect(inWords({ ...usual, slots: [] })).toBe('');
  });

  it('names each cell with its state', () => {
    const view = arrived(usual, 12.25, 9);
    expect(slotInWords(view, 0)).toBe('Embedding: in memory, 20.0 KB');
    expect(slotInWords(view, 9)).toBe('Layer 9: computing now, 20.0 MB');
    expect(slotInWords(view, 12)).toBe('Layer 12: arriving, 5.00 MB of 20.0 MB');
    expect(slotInWords(view, 29)).toBe('Head: not here yet, 80.0 MB');
    expect(slotInWords(view, 30)).toBe('Rest of the embedding: not here yet, 80.0 MB');
    expect(slotInWords(view, 31)).toBe('');
    const turn = turning(large, 2);
    expect(slotInWords(turn, 4)).toBe('Layer 4: not here now, 130 MB, read again for each token');
    expect(slotInWords(turn, 35)).toBe(
      'Head, part 3 of 8: not here now, 65.0 MB, read again for each token',
    );
  });
});

describe('the figures', () => {
  it('count the layers that stay apart from those that take turns', () => {
    expect(summaryOf(arrived(usual, 9.5))).toMatchObject({ layers: 28, ready: 8, settled: false });
    expect(summaryOf(turning(large, 20))).toEqual({
      layers: 32,
      ready: 8,
      again: 32,
      layersAgain: 24,
      bytesAgain: 24 * 130e6 + 4 * 130e6,
      settled: true,
    });
  });
});
