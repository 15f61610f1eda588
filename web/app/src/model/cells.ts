// The model as its layers: what each cell of the picture shows, and what is said of it in words.
import type { SlotView, WeightsView } from '@sluice/engine';
import { bytes, ofWhole } from '../texts/format';
import { t } from '../texts';
import { layersTexts } from './layers-texts';

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

/** `writing`: whether a text is being written; `coming`: whether the model is still being downloaded. */
export function cellsOf(view: WeightsView, writing: boolean, coming = false): Cell[] {
  // When all is in memory, a layer is computed sooner than it can be seen: then none is marked.
  const calm = writing && isWhole(view);
  return view.slots.map((slot) => ({
    look: `${slot.kind} ${calm ? 'resident' : shownState(slot)}${slot.reread && !(coming && isNew(slot)) ? ' again' : ''}`,
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

/** Nothing of it was ever in memory. */
function isNew(slot: SlotView): boolean {
  return slot.fills === 0 && shownState(slot) === 'absent';
}

function isHere({ state }: SlotView): boolean {
  return state === 'resident' || state === 'computing';
}

/** Whether all of the model is in memory. */
export function isWhole({ slots }: WeightsView): boolean {
  return slots.every((slot) => isHere(slot) && !slot.reread);
}

export function summaryOf({ slots }: WeightsView): Summary {
  const layers = slots.filter(({ kind }) => kind === 'layer');
  const again = slots.filter(({ reread }) => reread);
  return {
    layers: layers.length,
    ready: layers.filter((slot) => isHere(slot) && !slot.reread).length,
    again: again.length,
    layersAgain: layers.filter(({ reread }) => reread).length,
    bytesAgain: again.reduce((sum, slot) => sum + slot.bytes, 0),
    settled: slots.every((slot) => slot.reread || isHere(slot)),
  };
}

/** What the cells are, from first to last: embedding, 30 layers, head in 4 parts. */
export function partsOf({ slots }: WeightsView): string {
  const words = layersTexts.value;
  const many = (kind: SlotView['kind']): number => slots.filter((s) => s.kind === kind).length;
  const heads = many('head');
  return [
    many('embedding') > 0 ? words.embedding : '',
    many('layer') > 0 ? words.count(many('layer')) : '',
    heads > 1 ? words.headIn(heads) : heads > 0 ? words.head : '',
    many('table') > 0 ? words.table : '',
  ]
    .filter(Boolean)
    .join(', ');
}

/**
 * The picture in a sentence or two. It changes a few times in a load and not while a text is written, so that a screen
 * reader can say each change. `coming`: as above.
 */
export function inWords(view: WeightsView, coming = false): string {
  const words = layersTexts.value;
  const { layers, ready, again, layersAgain, bytesAgain, settled } = summaryOf(view);
  if (layers === 0) return '';
  if (again === 0) {
    if (settled) return words.whole(layers);
    const quarters = Math.min(3, Math.floor((4 * ready) / layers));
    return quarters === 0 ? words.onTheirWay(layers) : words.quarters(quarters, layers);
  }
  return [
    words.stay(layers - layersAgain, layers, settled),
    words.turns(layersAgain, again, bytes(bytesAgain)),
    coming ? words.stillComing : '',
  ]
    .filter(Boolean)
    .join(' ');
}

/** One cell: Layer 12: arriving, 4.10 MB of 21.3 MB. */
export function slotInWords({ slots }: WeightsView, index: number): string {
  const slot = slots[index];
  if (slot === undefined) return '';
  const words = layersTexts.value;
  const { kind, reread, arrived } = slot;
  const state = shownState(slot);
  const alike = slots.filter((other) => other.kind === kind);
  const number = alike.indexOf(slot) + 1;
  const kindName = words.kinds[kind];
  const name =
    kind === 'layer'
      ? `${kindName} ${number}`
      : alike.length > 1
        ? words.partOf(kindName, number, alike.length)
        : kindName;
  const amount =
    state === 'arriving' ? ofWhole(bytes(arrived), bytes(slot.bytes)) : bytes(slot.bytes);
  const how = state === 'absent' && reread ? words.notNow : words.states[state];
  return t.value.page.named(name, `${how}, ${amount}${reread ? `, ${words.again}` : ''}`);
}
