// Puts the page's model into a phase, without an engine.
import type { Signal } from '@preact/signals';
import { NONE, type Model, type Phase } from '../src/model/phases';
import type { models as Models } from '../src/model/state';

export function setPhase(of: Pick<typeof Models, 'phase'>, phase: Phase): void {
  (of.phase as Signal<Phase>).value = phase;
}

/** A model is in use; null: there is none. */
export function showModel(of: Pick<typeof Models, 'phase'>, shown: Model | null): void {
  setPhase(of, shown === null ? NONE : { kind: 'ready', shown, paused: null, problem: null });
}
