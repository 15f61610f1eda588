// The line of a text and the bars of one of its tokens as an image. It is drawn by hand: the page's policy lets no image in
// from elsewhere, not even one that the page has made of its own elements.
import type { Choice } from '@sluice/engine';
import { count } from '../texts/format';
import type { Trace } from './trace';
import { seen, share } from './words';
import { xrayTexts } from './texts';

/** Pixels of the image, as the page counts them; and of the screen for each. */
const WIDTH = 720;
const SCALE = 2;
const PAD = 28;
const LINE = 96;
const ROW = 26;
const LABEL = 150;
const NUMBERS = 150;
/** Candidates that are drawn. */
const MOST_BARS = 12;
/** Letters that may fit into a line. */
const MOST_LETTERS = 200;
/** Tokens before and after the one that is shown whose texts are drawn. */
const AROUND = 12;

/** The colours and fonts of the page as it is now. */
export interface Look {
  sheet: string;
  ink: string;
  soft: string;
  line: string;
  edge: string;
  accent: string;
  tint: string;
  sans: string;
}

const LOOKS = ['sheet', 'ink', 'soft', 'line', 'edge', 'accent', 'tint', 'sans'] as const;

export function lookOf(element: Element): Look {
  const style = getComputedStyle(element);
  const found = LOOKS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]);
  return Object.fromEntries(found) as unknown as Look;
}

export interface Pictured {
  trace: Trace;
  /** The place of the token that is shown. */
  at: number;
  choice: Choice;
  pieceOf(id: number): string;
  look: Look;
}

/** What is drawn with. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | 'beginPath'
  | 'clip'
  | 'closePath'
  | 'fill'
  | 'fillRect'
  | 'fillStyle'
  | 'fillText'
  | 'font'
  | 'globalAlpha'
  | 'lineTo'
  | 'lineWidth'
  | 'measureText'
  | 'moveTo'
  | 'rect'
  | 'restore'
  | 'save'
  | 'scale'
  | 'stroke'
  | 'strokeRect'
  | 'strokeStyle'
  | 'textAlign'
  | 'textBaseline'
>;

/** How high the image is. */
export function heightOf({ choice }: Pick<Pictured, 'choice'>): number {
  return PAD * 2 + 64 + LINE + 36 + Math.min(MOST_BARS, choice.candidates.length) * ROW;
}

/** The largest value of each of `columns` parts of a list that may be longer: a single high token stays seen. */
export function peaks(values: readonly number[], columns: number): number[] {
  if (values.length <= columns) return [...values];
  const found = Array.from({ length: columns }, () => 0);
  values.forEach((value, i) => {
    const at = Math.floor((i * columns) / values.length);
    found[at] = Math.max(found[at] ?? 0, value);
  });
  return found;
}

function finite(value: number): number {
  return Number.isFinite(value) ? Math.max(0, value) : 0;
}

/** Draws the image into a space of WIDTH and heightOf(). */
export function draw(pen: Pen, pictured: Pictured): void {
  const { look, trace, at, choice } = pictured;
  const { entropy, surprise, tokenOf } = xrayTexts.peek();
  const height = heightOf(pictured);
  pen.fillStyle = look.sheet;
  pen.fillRect(0, 0, WIDTH, height);
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  const title = [trace.model.name, tokenOf(count(at + 1), count(trace.tokens.length))]
    .filter(Boolean)
    .join(' · ');
  write(pen, look, title, PAD, PAD + 8, { colour: look.soft, size: 13 });
  drawText(pen, pictured, PAD + 36);
  const top = PAD + 64;
  const entropies = trace.tokens.map(({ raw }) => finite(raw?.entropy ?? 0));
  const surprises = trace.tokens.map(({ logprob }) => finite(-logprob));
  const most = Math.max(1, ...peaks(entropies, WIDTH), ...peaks(surprises, WIDTH));
  drawLine(pen, peaks(entropies, WIDTH), most, top, { fill: look.tint, stroke: null });
  drawLine(pen, peaks(surprises, WIDTH), most, top, { fill: null, stroke: look.accent });
  const x = PAD + ((at + 0.5) * (WIDTH - 2 * PAD)) / Math.max(1, trace.tokens.length);
  pen.fillStyle = look.ink;
  pen.fillRect(x - 0.75, top, 1.5, LINE);
  const legend = top + LINE + 16;
  const next = write(pen, look, surprise, PAD, legend, { colour: look.accent, size: 12 });
  pen.fillStyle = look.tint;
  pen.fillRect(next + 16, legend - 6, 12, 12);
  write(pen, look, entropy, next + 34, legend, { colour: look.soft, size: 12 });
  choice.candidates.slice(0, MOST_BARS).forEach((_, i) => {
    drawBar(pen, pictured, i, top + LINE + 36 + i * ROW);
  });
}

/** A text that is as wide at most: its beginning, if all of it is wider. */
function fitting(pen: Pen, text: string, most: number): string {
  if (pen.measureText(text).width <= most) return text;
  const letters = [...text.slice(0, MOST_LETTERS)];
  while (letters.length > 0 && pen.measureText(`${letters.join('')}…`).width > most) letters.pop();
  return letters.length === 0 ? '' : `${letters.join('')}…`;
}

/** Writes a text, cut to `most` pixels. Returns where it ends. */
function write(
  pen: Pen,
  { sans }: Look,
  text: string,
  x: number,
  y: number,
  { colour, size, weight = 400, most = WIDTH - PAD - x }: WriteOptions,
): number {
  pen.font = `${weight} ${size}px ${sans}`;
  pen.fillStyle = colour;
  const shown = fitting(pen, text, most);
  pen.fillText(shown, x, y);
  return x + pen.measureText(shown).width;
}

interface WriteOptions {
  colour: string;
  size: number;
  weight?: number;
  most?: number;
}

/** The text around the token, which is marked. */
function drawText(pen: Pen, { trace, at, look }: Pictured, y: number): void {
  const flat = (text: string): string => text.replace(/\s+/g, ' ');
  const texts = (from: number, to: number): string =>
    flat(
      trace.tokens
        .slice(Math.max(0, from), to)
        .map(({ text }) => text)
        .join(''),
    );
  const size = 15;
  pen.font = `400 ${size}px ${look.sans}`;
  const own = flat(trace.tokens[at]?.text ?? '') || '␣';
  const letters = [...texts(at - AROUND, at).slice(-MOST_LETTERS)];
  // The token stays in sight.
  while (letters.length > 0 && pen.measureText(letters.join('')).width > (WIDTH - 2 * PAD) * 0.6)
    letters.shift();
  const before = letters.join('');
  const middle = write(pen, look, before, PAD, y, { colour: look.soft, size });
  const width = Math.min(pen.measureText(own).width, WIDTH - PAD - middle);
  pen.fillStyle = look.tint;
  pen.fillRect(middle, y - 12, width, 24);
  const end = write(pen, look, own, middle, y, { colour: look.ink, size });
  if (end < WIDTH - PAD)
    write(pen, look, texts(at + 1, at + 1 + AROUND), end, y, { colour: look.soft, size });
}

function drawLine(
  pen: Pen,
  values: readonly number[],
  most: number,
  top: number,
  { fill, stroke }: { fill: string | null; stroke: string | null },
): void {
  if (values.length === 0) return;
  const step = (WIDTH - 2 * PAD) / values.length;
  const path = (): void => {
    values.forEach((value, i) => {
      pen.lineTo(PAD + (i + 0.5) * step, top + LINE - (value / most) * (LINE - 4));
    });
  };
  if (fill !== null) {
    pen.beginPath();
    pen.moveTo(PAD + 0.5 * step, top + LINE);
    path();
    pen.lineTo(PAD + (values.length - 0.5) * step, top + LINE);
    pen.closePath();
    pen.fillStyle = fill;
    pen.fill();
  }
  if (stroke === null) return;
  pen.beginPath();
  path();
  pen.strokeStyle = stroke;
  pen.lineWidth = 1.5;
  pen.stroke();
}

/** A candidate: before (an outline) and as it is drawn (filled). */
function drawBar(pen: Pen, pictured: Pictured, i: number, y: number): void {
  const { choice, look, pieceOf } = pictured;
  const one = choice.candidates[i];
  if (one === undefined) return;
  const middle = y + ROW / 2 - 2;
  const taken = one.id === choice.taken;
  write(pen, look, seen(pieceOf(one.id)), PAD, middle, {
    colour: one.cut === null ? look.ink : look.soft,
    size: 14,
    weight: taken ? 700 : 400,
    most: LABEL - 12,
  });
  const room = WIDTH - 2 * PAD - LABEL - NUMBERS;
  const [left, high] = [PAD + LABEL, ROW - 10];
  const before = Math.min(1, Math.exp(one.logprob));
  pen.fillStyle = taken ? look.accent : look.edge;
  pen.globalAlpha = taken ? 1 : 0.6;
  const drawn = Math.min(1, finite(one.p));
  pen.fillRect(left, y + 3, Math.max(drawn > 0 ? 1 : 0, room * drawn), high);
  pen.globalAlpha = 1;
  pen.strokeStyle = look.edge;
  pen.lineWidth = 1;
  pen.strokeRect(left + 0.5, y + 3.5, Math.max(1, room * before), high - 1);
  const step = one.cut === null ? undefined : choice.steps[one.cut]?.step;
  // Without the model only its own probability is known.
  const known = Number.isNaN(one.p) ? before : one.p;
  const said = step === undefined ? share(known) : xrayTexts.peek().step[step];
  write(pen, look, said, left + room + 10, middle, {
    colour: look.soft,
    size: 13,
    most: NUMBERS - 10,
  });
}

/** The image as a PNG file; null where the browser can't make one. */
export function pictureOf(pictured: Pictured): Promise<Blob | null> {
  const canvas = document.createElement('canvas');
  canvas.width = WIDTH * SCALE;
  canvas.height = heightOf(pictured) * SCALE;
  const pen = canvas.getContext('2d');
  if (pen === null) return Promise.resolve(null);
  pen.scale(SCALE, SCALE);
  draw(pen, pictured);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}
