// Made-up moments of loads, for the story page and the tests.
import type { SlotView, WeightsView } from '@sluice/engine';

interface Shape {
  layers: number;
  heads?: number;
  /** A layer's bytes. */
  bytes?: number;
  /** The rest of the embedding has a slot. */
  table?: boolean;
  /** Every so many layers stay, the others take turns; 0: all stay. */
  turns?: number;
}

/** A model of which nothing has arrived. */
export function model({ layers, heads = 1, bytes = 20e6, table, turns = 0 }: Shape): WeightsView {
  const slot = (kind: SlotView['kind'], bytes: number, reread = false): SlotView => ({
    kind,
    bytes,
    arrived: 0,
    state: 'absent',
    reread,
    streamed: reread,
    fills: 0,
  });
  return {
    slots: [
      slot('embedding', bytes / 1000),
      ...Array.from({ length: layers }, (_, i) =>
        slot('layer', bytes, turns > 0 && i % turns !== 0),
      ),
      ...Array.from({ length: heads }, () => slot('head', (4 * bytes) / heads, turns > 0)),
      ...(table ? [slot('table', 4 * bytes)] : []),
    ],
    bytesPerSecond: 0,
    source: 'network',
    rereadBytes: 0,
    streamedBytes: 0,
    waitedMs: 0,
  };
}

/** The same model after so many slots and a part of the next one have arrived. */
export function arrived(view: WeightsView, slots: number, computing = -1): WeightsView {
  const part = slots % 1;
  return {
    ...view,
    slots: view.slots.map((slot, i) => {
      const fill = Math.min(1, Math.max(0, slots - i));
      const state =
        i === computing
          ? 'computing'
          : fill === 1
            ? 'resident'
            : fill > 0 && part > 0
              ? 'arriving'
              : 'absent';
      return { ...slot, arrived: fill * slot.bytes, state, fills: fill === 1 ? 1 : 0 };
    }),
  };
}

/** A model whose layers take turns, in the middle of a pass: slot `at` computes, the next one is read. */
export function turning(view: WeightsView, at: number): WeightsView {
  const next = view.slots.findIndex(({ reread }, i) => reread && i > at);
  return {
    ...view,
    slots: view.slots.map((slot, i) => {
      if (i === at) return { ...slot, arrived: slot.bytes, state: 'computing', fills: 9 };
      if (!slot.reread) return { ...slot, arrived: slot.bytes, state: 'resident', fills: 1 };
      if (i === next) return { ...slot, arrived: slot.bytes * 0.6, state: 'arriving', fills: 8 };
      return { ...slot, arrived: 0, state: 'absent', fills: 8 };
    }),
  };
}
