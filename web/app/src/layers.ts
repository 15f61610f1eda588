// The model as its layers: what each cell of the picture shows, and what is said of it in words.
import type { SlotView, WeightsView } from '@sluice/engine';
import { bytes, count } from './format';

/** The least width of a cell with the gap beside it, in pixels. */
const LEAST_PITCH = 7;

/** How many cells a row has, so that the fewest rows do and all are about equally long. */
export function columnsFor(cells: number, width: number): number {
  const most = Math.max(1, Math.floor(width / LEAST_PITCH));
  const rows = Math.max(1, Math.ceil(cells / most));
  return Math.max(1, Math.ceil(cells / rows));
}

/** How a cell looks. */
export interface Cell {
  /** Its kind and state, for the style sheet: layer resident again. */
  look: string;
  /** How full it is, in percent. */
  fill: number;
}

/** `writing`: whether a text is being written. */
export function cellsOf(view: WeightsView, writing: boolean): Cell[] {
  // When all is in memory, a layer is computed sooner than it can be seen: then none is marked.
  const calm = writing && isWhole(view);
  return view.slots.map((slot) => ({
    look: `${slot.kind} ${calm ? 'resident' : shownState(slot)}${slot.streamed ? ' again' : ''}`,
    fill: fillOf(slot),
  }));
}

/** A part that arrives looks neither empty nor full. */
function fillOf(slot: SlotView): number {
  const { arrived, bytes } = slot;
  const state = shownState(slot);
  if (state === 'absent') return 0;
  if (state !== 'arriving' || bytes <= 0) return 100;
  return Math.min(96, Math.max(8, Math.round((100 * arrived) / bytes)));
}

interface Summary {
  layers: number;
  /** Layers that are in memory and stay there. */
  ready: number;
  /** Parts that are read again for each pass, how many of them are layers, and their bytes. */
  again: number;
  layersAgain: number;
  bytesAgain: number;
  /** Whether all that can stay has arrived. */
  settled: boolean;
}

/** What a reader sees: a part that was asked for, and of which nothing has come, is still to come. */
function shownState({ state, arrived }: SlotView): SlotView['state'] {
  return state === 'arriving' && arrived === 0 ? 'absent' : state;
}

function isHere({ state }: SlotView): boolean {
  return state === 'resident' || state === 'computing';
}

/** Whether all of the model is in memory. */
export function isWhole({ slots }: WeightsView): boolean {
  return slots.every((slot) => isHere(slot) && !slot.streamed);
}

export function summaryOf({ slots }: WeightsView): Summary {
  const layers = slots.filter(({ kind }) => kind === 'layer');
  const again = slots.filter(({ streamed }) => streamed);
  return {
    layers: layers.length,
    ready: layers.filter((slot) => isHere(slot) && !slot.streamed).length,
    again: again.length,
    layersAgain: layers.filter(({ streamed }) => streamed).length,
    bytesAgain: again.reduce((sum, slot) => sum + slot.bytes, 0),
    settled: slots.every((slot) => slot.streamed || isHere(slot)),
  };
}

function layersInWords(n: number): string {
  return `${count(n)} ${n === 1 ? 'layer' : 'layers'}`;
}

/** What the cells are, from first to last: embedding, 30 layers, head in 4 parts. */
export function partsOf({ slots }: WeightsView): string {
  const many = (kind: SlotView['kind']): number => slots.filter((s) => s.kind === kind).length;
  const heads = many('head');
  return [
    many('embedding') > 0 ? 'embedding' : '',
    many('layer') > 0 ? layersInWords(many('layer')) : '',
    heads > 1 ? `head in ${heads} parts` : heads > 0 ? 'head' : '',
    many('table') > 0 ? 'rest of the embedding' : '',
  ]
    .filter(Boolean)
    .join(', ');
}

const QUARTERS = ['', 'A quarter', 'Half', 'Three quarters'] as const;

/**
 * The picture in a sentence or two. It changes a few times in a load and not while a text is written, so that a screen
 * reader can say each change.
 */
export function inWords(view: WeightsView): string {
  const { layers, ready, again, layersAgain, bytesAgain, settled } = summaryOf(view);
  if (layers === 0) return '';
  const whole = layersInWords(layers);
  if (again === 0) {
    if (settled) return `The whole model is in memory: ${whole}.`;
    const part = QUARTERS[Math.min(3, Math.floor((4 * ready) / layers))];
    if (!part) return `The model’s ${whole} are on their way.`;
    return `${part} of the model’s ${whole} are in memory; the rest is on its way.`;
  }
  const turns =
    layersAgain > 0 ? layersInWords(layersAgain) : `${again} ${again === 1 ? 'part' : 'parts'}`;
  const stay = settled
    ? `${layers - layersAgain} of the model’s ${whole} stay in memory.`
    : `${layers - layersAgain} of the model’s ${whole} will stay in memory, and are on their way.`;
  return `${stay} ${turns} take turns: ${bytes(bytesAgain)} are read again for each token.`;
}

const NAMES = { embedding: 'Embedding', head: 'Head', table: 'Rest of the embedding' } as const;
const STATES = {
  absent: 'not here yet',
  arriving: 'arriving',
  resident: 'in memory',
  computing: 'computing now',
} as const;

/** One cell: Layer 12: arriving, 4.10 MB of 21.3 MB. */
export function slotInWords({ slots }: WeightsView, index: number): string {
  const slot = slots[index];
  if (slot === undefined) return '';
  const { kind, streamed, arrived } = slot;
  const state = shownState(slot);
  const alike = slots.filter((other) => other.kind === kind);
  const number = alike.indexOf(slot) + 1;
  const name =
    kind === 'layer'
      ? `Layer ${number}`
      : alike.length > 1
        ? `${NAMES[kind]}, part ${number} of ${alike.length}`
        : NAMES[kind];
  const amount =
    state === 'arriving' ? `${bytes(arrived)} of ${bytes(slot.bytes)}` : bytes(slot.bytes);
  const how = state === 'absent' && streamed ? 'not here now' : STATES[state];
  return `${name}: ${how}, ${amount}${streamed ? ', read again for each token' : ''}`;
}
