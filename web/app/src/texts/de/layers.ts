// The German of ../en/layers.ts.
import { count } from '../../format';
import type { layers as english } from '../en/layers';

const layersOf = (n: number): string => `${count(n)} ${n === 1 ? 'Schicht' : 'Schichten'}`;

export const layers: typeof english = {
  title: 'Schichten',
  count: layersOf,
  embedding: 'Einbettung',
  head: 'Kopf',
  headIn: (parts) => `Kopf in ${parts} Teilen`,
  table: 'Rest der Einbettung',
  whole: (n) => `Das ganze Modell ist im Speicher: ${layersOf(n)}.`,
  onTheirWay: (n) =>
    n === 1
      ? 'Die Schicht des Modells ist unterwegs.'
      : `Die ${layersOf(n)} des Modells sind unterwegs.`,
  quarters: (quarters, n) =>
    `${['', 'Ein Viertel', 'Die Hälfte', 'Drei Viertel'][quarters] ?? ''} der ${layersOf(n)} des Modells ${quarters === 3 ? 'sind' : 'ist'} im Speicher; der Rest ist unterwegs.`,
  stay: (stay, n, settled) => {
    const whose = `${stay === 0 ? 'Keine' : stay === 1 ? 'Eine' : stay} der ${layersOf(n)} des Modells`;
    if (settled) return `${whose} ${stay > 1 ? 'bleiben' : 'bleibt'} im Speicher.`;
    if (stay === 0) return `${whose} wird im Speicher bleiben.`;
    return `${whose} ${stay === 1 ? 'wird im Speicher bleiben und ist' : 'werden im Speicher bleiben und sind'} unterwegs.`;
  },
  turns: (layers, parts, amount) => {
    const what = layers > 0 ? layersOf(layers) : `${parts} ${parts === 1 ? 'Teil' : 'Teile'}`;
    const one = (layers > 0 ? layers : parts) === 1;
    return `${what} ${one ? 'kommt und geht' : 'wechseln sich ab'}: ${amount} werden für jedes Token neu gelesen.`;
  },
  stillComing: 'Der Rest des Modells wird noch heruntergeladen.',
  kinds: {
    layer: 'Schicht',
    embedding: 'Einbettung',
    head: 'Kopf',
    table: 'Rest der Einbettung',
  },
  partOf: (name, part, parts) => `${name}, Teil ${part} von ${parts}`,
  states: {
    absent: 'noch nicht hier',
    arriving: 'kommt an',
    resident: 'im Speicher',
    computing: 'rechnet gerade',
  },
  notNow: 'gerade nicht hier',
  again: 'für jedes Token neu gelesen',
  legend: {
    absent: 'Kommt noch',
    arriving: 'Kommt an',
    resident: 'Im Speicher',
    again: 'Neu gelesen',
    computing: 'Rechnet',
  },
  network: 'Netz',
  device: 'Dieses Gerät',
  ready: 'Schichten hier',
  readAgain: 'Neu gelesen',
  waited: 'Gewartet',
  limit: 'Grenze',
};
