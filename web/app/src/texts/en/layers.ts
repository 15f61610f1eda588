// The picture of a model's layers.
import { count } from '../format';
import { plural } from './plural';

const layersOf = (n: number): string =>
  `${count(n)} ${plural(n, { one: 'layer', other: 'layers' })}`;

export const layers = {
  title: 'Layers',
  count: layersOf,
  embedding: 'embedding',
  head: 'head',
  headIn: (parts: number) => `head in ${parts} parts`,
  table: 'rest of the embedding',
  whole: (n: number) => `The whole model is in memory: ${layersOf(n)}.`,
  onTheirWay: (n: number) => `The model’s ${layersOf(n)} are on their way.`,
  quarters: (quarters: number, n: number) =>
    `${['', 'A quarter', 'Half', 'Three quarters'][quarters] ?? ''} of the model’s ${layersOf(n)} are in memory; the rest is on its way.`,
  stay: (stay: number, n: number, settled: boolean) => {
    const whose = `${stay === 0 ? 'None' : stay} of the model’s ${layersOf(n)}`;
    if (settled) return `${whose} ${stay > 1 ? 'stay' : 'stays'} in memory.`;
    if (stay === 0) return `${whose} will stay in memory.`;
    return `${whose} will stay in memory, and ${plural(stay, { one: 'is on its way', other: 'are on their way' })}.`;
  },
  /** `layers`: how many layers; 0: they are `parts` other parts. */
  turns: (layers: number, parts: number, amount: string) => {
    const what =
      layers > 0 ? layersOf(layers) : `${parts} ${plural(parts, { one: 'part', other: 'parts' })}`;
    const one = (layers > 0 ? layers : parts) === 1;
    return `${what} ${one ? 'takes its turn' : 'take turns'}: ${amount} are read again for each token.`;
  },
  stillComing: 'The rest of the model is still being downloaded.',
  kinds: { layer: 'Layer', embedding: 'Embedding', head: 'Head', table: 'Rest of the embedding' },
  partOf: (name: string, part: number, parts: number) => `${name}, part ${part} of ${parts}`,
  states: {
    absent: 'not here yet',
    arriving: 'arriving',
    resident: 'in memory',
    computing: 'computing now',
  },
  notNow: 'not here now',
  again: 'read again for each token',
  legend: {
    absent: 'To come',
    arriving: 'Arriving',
    resident: 'In memory',
    again: 'Read again',
    computing: 'Computing',
  },
  network: 'Network',
  device: 'This device',
  ready: 'Layers ready',
  readAgain: 'Read again',
  waited: 'Waited',
  limit: 'Memory limit',
};
