// What a token was chosen from, as a table and as an image.
import { afterEach, expect, it } from 'vitest';
import type { Choice } from '@sluice/engine';
import { rowsOf, toHtml, toTabs } from '../src/inside/choice-table';
import { draw, heightOf, peaks, type Look, type Pen } from '../src/inside/picture';
import { chosenLanguage, fetchLanguage } from '../src/texts/language';
import { traceOf } from './traces';

afterEach(() => {
  chosenLanguage.value = 'en';
});

const CHOICE: Choice = {
  enough: true,
  steps: [
    { step: 'penalties', left: 1000, mass: 1 },
    { step: 'topK', left: 2, mass: 0.75 },
    { step: 'temperature', left: 2, mass: 0.75 },
  ],
  candidates: [
    { id: 7, logprob: Math.log(0.5), changed: Math.log(0.5), cut: null, p: 0.8 },
    { id: 8, logprob: Math.log(0.25), changed: Math.log(0.125), cut: null, p: 0.2 },
    { id: 9, logprob: Math.log(0.125), changed: -Infinity, cut: 1, p: 0 },
  ],
  nucleus: 2,
  mass: 0.75,
  place: 0.9,
  taken: 8,
};
const PIECES: Record<number, string> = { 7: ' upon', 8: '=1+1\n', 9: '<b>\t"&\u202e' };
const pieceOf = (id: number): string => PIECES[id] ?? '';

it('is a row for each candidate, in the order of the bars', () => {
  const [head, ...rows] = rowsOf(CHOICE, pieceOf);
  expect(head).toHaveLength(7);
  expect(rows).toEqual([
    ['“ upon”', '7', '0.5', '0.5', '0.8', '', ''],
    ['“=1+1↵”', '8', '0.25', '0.125', '0.2', '', 'taken'],
    ['“<b>⇥"&·”', '9', '0.125', '0', '0', 'top-k', ''],
  ]);
});

it('leaves empty what is not known without the model', () => {
  const [one] = CHOICE.candidates;
  if (one === undefined) throw new Error('no candidate');
  const unknown = { ...CHOICE, steps: [], candidates: [{ ...one, changed: NaN, p: NaN }] };
  expect(rowsOf(unknown, pieceOf)[1]).toEqual(['“ upon”', '7', '0.5', '', '', '', '']);
  const { pen, texts, boxes } = recording();
  draw(pen, { trace: traceOf(3), at: 1, choice: unknown, pieceOf, look: LOOK });
  expect(texts).toContain('50.0\u00a0%');
  expect(boxes.flat().filter((side) => !Number.isFinite(side))).toEqual([]);
});

it('has tabs between its cells, and no more lines than rows', () => {
  const lines = toTabs(rowsOf(CHOICE, pieceOf)).split('\n');
  expect(lines.map((line) => line.split('\t').length)).toEqual([7, 7, 7, 7]);
  // No cell begins as a formula does.
  expect(
    lines
      .join('\t')
      .split('\t')
      .filter((cell) => /^[=+\-@]/.test(cell)),
  ).toEqual([]);
  expect(toTabs([['a\tb', 'c\r\nd']])).toBe('a b\tc  d');
});

it('is HTML in which tokens are only texts', () => {
  const html = toHtml(rowsOf(CHOICE, pieceOf));
  expect(html).toContain('<td>“&lt;b&gt;⇥&quot;&amp;·”</td>');
  expect(html.match(/<tr>/g)).toHaveLength(4);
  expect(html.match(/<th>/g)).toHaveLength(7);
});

it('has numbers as the language of the page writes them', async () => {
  await fetchLanguage('de');
  chosenLanguage.value = 'de';
  const [head, first] = rowsOf(CHOICE, pieceOf);
  expect(head?.[2]).toBe('Wahrscheinlichkeit');
  expect(first?.slice(2, 5)).toEqual(['0,5', '0,5', '0,8']);
});

it('keeps the highest of the values that share a pixel', () => {
  expect(peaks([1, 2, 3], 5)).toEqual([1, 2, 3]);
  expect(peaks([1, 9, 2, 3, 0, 4], 3)).toEqual([9, 3, 4]);
  const many = Array.from({ length: 5000 }, (_, i) => (i === 4321 ? 12 : 1));
  expect(peaks(many, 720)).toHaveLength(720);
  expect(Math.max(...peaks(many, 720))).toBe(12);
});

/** A pen that remembers what it writes and where it goes. */
function recording() {
  const texts: string[] = [];
  const places: number[] = [];
  const boxes: number[][] = [];
  const nothing = (): void => {};
  const pen = {
    measureText: (text: string) => ({ width: 7 * text.length }) as TextMetrics,
    fillText: (text: string, x: number, y: number) => void (texts.push(text), places.push(x, y)),
    fillRect: (...box: number[]) => void boxes.push(box),
    strokeRect: (...box: number[]) => void boxes.push(box),
    lineTo: (x: number, y: number) => void places.push(x, y),
    moveTo: (x: number, y: number) => void places.push(x, y),
    beginPath: nothing,
    closePath: nothing,
    fill: nothing,
    stroke: nothing,
  };
  return { pen: pen as unknown as Pen, texts, places, boxes };
}
const LOOK: Look = {
  sheet: '#fff',
  ink: '#000',
  soft: '#333',
  line: '#ddd',
  edge: '#777',
  accent: '#055',
  tint: '#def',
  sans: 'sans-serif',
};

it('is drawn with the line of the text, the text around the token, and a bar for each candidate', () => {
  const trace = traceOf(40);
  const { pen, texts, places, boxes } = recording();
  const pictured = { trace, at: 20, choice: CHOICE, pieceOf, look: LOOK };
  draw(pen, pictured);
  const all = texts.map((text) => text.replaceAll('\u00a0', ' '));
  expect(all[0]).toBe('made up · Token 21 of 40');
  expect(all).toContain(trace.tokens[20]?.text);
  for (const text of ['Entropy', 'Surprise', '␣upon', '80.0 %', 'top-k'])
    expect(all).toContain(text);
  // The bar of the first candidate is four times as long as that of the second.
  const widths = boxes.map(([, , width = 0]) => width);
  expect(widths.some((a) => widths.some((b) => b > 10 && Math.abs(a - 4 * b) < 0.01))).toBe(true);
  // All of it is within the image.
  for (const place of places) expect(place).toBeGreaterThanOrEqual(0);
  for (const [x = 0, y = 0, width = 0, height = 0] of boxes) {
    expect(x + width).toBeLessThanOrEqual(720);
    expect(y + height).toBeLessThanOrEqual(heightOf(pictured));
  }
});

it('is drawn of a text without logits, of one token, and with a long token', () => {
  const trace = traceOf(1);
  const [only] = trace.tokens;
  if (only === undefined) throw new Error('no token');
  only.raw = null;
  only.logprob = NaN;
  only.text = 'long '.repeat(500);
  const { pen, places } = recording();
  draw(pen, { trace, at: 0, choice: CHOICE, pieceOf: () => 'x'.repeat(5000), look: LOOK });
  expect(places.filter((place) => !Number.isFinite(place))).toEqual([]);
});
