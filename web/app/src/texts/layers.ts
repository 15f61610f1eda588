// The picture of a model's layers.
import { count } from '../format';

const layersEn = (n: number): string => `${count(n)} ${n === 1 ? 'layer' : 'layers'}`;
const layersDe = (n: number): string => `${count(n)} ${n === 1 ? 'Schicht' : 'Schichten'}`;

const en = {
  title: 'Layers',
  count: layersEn,
  embedding: 'embedding',
  head: 'head',
  headIn: (parts: number) => `head in ${parts} parts`,
  table: 'rest of the embedding',
  whole: (n: number) => `The whole model is in memory: ${layersEn(n)}.`,
  onTheirWay: (n: number) => `The model’s ${layersEn(n)} are on their way.`,
  quarters: (quarters: number, n: number) =>
    `${['', 'A quarter', 'Half', 'Three quarters'][quarters] ?? ''} of the model’s ${layersEn(n)} are in memory; the rest is on its way.`,
  stay: (stay: number, n: number, settled: boolean) => {
    const whose = `${stay === 0 ? 'None' : stay} of the model’s ${layersEn(n)}`;
    if (settled) return `${whose} ${stay > 1 ? 'stay' : 'stays'} in memory.`;
    if (stay === 0) return `${whose} will stay in memory.`;
    return `${whose} will stay in memory, and ${stay === 1 ? 'is on its way' : 'are on their way'}.`;
  },
  /** `layers`: how many layers; 0: they are `parts` other parts. */
  turns: (layers: number, parts: number, amount: string) => {
    const what = layers > 0 ? layersEn(layers) : `${parts} ${parts === 1 ? 'part' : 'parts'}`;
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

const de: typeof en = {
  title: 'Schichten',
  count: layersDe,
  embedding: 'Einbettung',
  head: 'Kopf',
  headIn: (parts) => `Kopf in ${parts} Teilen`,
  table: 'Rest der Einbettung',
  whole: (n) => `Das ganze Modell ist im Speicher: ${layersDe(n)}.`,
  onTheirWay: (n) =>
    n === 1
      ? 'Die Schicht des Modells ist unterwegs.'
      : `Die ${layersDe(n)} des Modells sind unterwegs.`,
  quarters: (quarters, n) =>
    `${['', 'Ein Viertel', 'Die Hälfte', 'Drei Viertel'][quarters] ?? ''} der ${layersDe(n)} des Modells ${quarters === 3 ? 'sind' : 'ist'} im Speicher; der Rest ist unterwegs.`,
  stay: (stay, n, settled) => {
    const whose = `${stay === 0 ? 'Keine' : stay === 1 ? 'Eine' : stay} der ${layersDe(n)} des Modells`;
    if (settled) return `${whose} ${stay > 1 ? 'bleiben' : 'bleibt'} im Speicher.`;
    if (stay === 0) return `${whose} wird im Speicher bleiben.`;
    return `${whose} ${stay === 1 ? 'wird im Speicher bleiben und ist' : 'werden im Speicher bleiben und sind'} unterwegs.`;
  },
  turns: (layers, parts, amount) => {
    const what = layers > 0 ? layersDe(layers) : `${parts} ${parts === 1 ? 'Teil' : 'Teile'}`;
    const one = (layers > 0 ? layers : parts) === 1;
    return `${what} ${one ? 'kommt und geht' : 'wechseln sich ab'}: ${amount} werden für jedes Token neu gelesen.`;
  },
  stillComing: 'Der Rest des Modells wird noch geholt.',
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

export const layers = { en, de };
