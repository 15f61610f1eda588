// The states of a model's slots, as onWeights gets them.
import type { SlotView } from '../shared/progress-types.js';

/** Numbers for each slot (EngineHandle.slots). */
const FIELDS = 6;
const KINDS = ['embedding', 'layer', 'head', 'table'] as const;
const STATES = ['absent', 'arriving', 'resident', 'computing'] as const;

/** The slots from the numbers of EngineHandle.slots. */
export function slotViews(slots: Float64Array): SlotView[] {
  return Array.from({ length: slots.length / FIELDS }, (_, i) => {
    const at = FIELDS * i;
    const [kind = 0, bytes = 0, arrived = 0, state = 0, turns = 0, fills = 0] = slots.subarray(at);
    return {
      kind: KINDS[kind] ?? 'layer',
      bytes,
      arrived,
      state: STATES[state] ?? 'absent',
      reread: turns !== 0,
      streamed: turns !== 0,
      fills,
    };
  });
}

/** Bytes of these slots that were read again, or are being read again. */
export function sumReread(slots: readonly SlotView[]): number {
  return slots.reduce((sum, { bytes, arrived, state, fills }) => {
    if (fills === 0) return sum;
    return sum + Math.round((fills - 1) * bytes) + (state === 'arriving' ? arrived : 0);
  }, 0);
}
