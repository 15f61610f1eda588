// Surprise and entropy along a text.
import type { Chain } from './chain';
import { bits } from './words';

export type Measure = 'surprise' | 'entropy';

/** In bits, of each token; NaN where it is not known. */
export type Series = Readonly<Record<Measure, Float32Array>>;

export function seriesOf(chain: Chain | null): Series {
  const length = chain?.length ?? 0;
  const series = { surprise: new Float32Array(length), entropy: new Float32Array(length) };
  let at = 0;
  for (const { ids, logprobs, raws } of chain?.runs ?? []) {
    for (let i = 0; i < ids.length; ++i, ++at) {
      series.surprise[at] = -bits(logprobs[i] ?? NaN);
      series.entropy[at] = bits(raws[i]?.entropy ?? NaN);
    }
  }
  return series;
}

/** Points of a line at most: nobody sees more. */
const MOST_POINTS = 480;
/** The picture is at least so many bits high, and at most: what is beyond is drawn at its edge. */
const LEAST_BITS = 6;
const MOST_BITS = 24;

/** Of a picture of 1 by 1, with the first token at its left: the largest values of so many tokens each. */
export interface Drawn {
  /** For the attribute `d` of an SVG path. */
  path: string;
  /** The same closed at the lower edge. */
  area: string;
}

/** The highest value that is shown. */
export function highest(series: Series): number {
  let most = LEAST_BITS;
  for (const values of [series.surprise, series.entropy])
    for (const value of values) if (value > most) most = value;
  return Math.min(MOST_BITS, most);
}

export function draw(values: Float32Array, most: number, width: number, height: number): Drawn {
  const { length } = values;
  const each = Math.max(1, Math.ceil(length / MOST_POINTS));
  let path = '';
  let area = '';
  /** Where the present piece of the line began; NaN: there is none. */
  let begun = NaN;
  let last = 0;
  const close = (): void => {
    if (!Number.isNaN(begun)) area += `L${last} ${height}L${begun} ${height}Z`;
    begun = NaN;
  };
  for (let from = 0; from < length; from += each) {
    let value = NaN;
    const to = Math.min(length, from + each);
    for (let i = from; i < to; ++i) {
      const one = values[i] ?? NaN;
      if (!(one <= value)) value = Number.isNaN(one) ? value : one;
    }
    if (Number.isNaN(value)) {
      close();
      continue;
    }
    const x = Math.round((100 * width * ((from + to) / 2)) / length) / 100;
    const y = Math.round(100 * height * (1 - Math.min(1, value / most))) / 100;
    const point = `${Number.isNaN(begun) ? 'M' : 'L'}${x} ${y}`;
    path += point;
    area += point;
    if (Number.isNaN(begun)) begun = x;
    last = x;
  }
  close();
  return { path, area };
}

/** How strongly a token is shaded, from 0 to 4. */
export function levelOf(value: number | undefined): number {
  if (value === undefined || Number.isNaN(value) || value < 1) return 0;
  return value < 2 ? 1 : value < 4 ? 2 : value < 7 ? 3 : 4;
}
