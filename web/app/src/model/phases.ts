// What the page's model can be at: one union, and the questions that are asked of it. The controller goes from one to another.
import type { LoadProgress, ModelInfo, Note } from '@sluice/engine';
import type { LoadSettings } from '../settings/use';
import type { Failure } from './advice';
import type { Choice } from './choice';
import type { Source } from './source';

/** A model that is asked for, with the settings of that time. */
export interface Wanted extends LoadSettings {
  source: Source;
}

export interface Model extends Wanted {
  info: ModelInfo;
}

interface Coming {
  source: Source;
  progress: LoadProgress | null;
  /** What the library has to say of the model that is coming. */
  notes: readonly Note[];
  /** The previous model is being loaded again, after a load that failed or was cancelled. */
  back: boolean;
  /** When it began, in milliseconds since 1970. */
  since: number;
}

/** A load. `info`: what the model's header says; null until it is read. */
export type Loading = Coming &
  (
    | { step: 'header'; info: null }
    /**
     * 'weights': they come, and another model is shown; 'waits': they are here, and that one is still writing a text.
     * 'shown': this model is shown, and texts are written with it; 'rest': it is ready besides, and what doesn't stay in
     * memory is still being downloaded.
     */
    | { step: 'weights' | 'waits' | 'shown' | 'rest'; info: ModelInfo }
  );

/** A load that the reader has paused. */
export interface Paused {
  source: Source;
  /** How far it was; null after a reload. */
  progress: LoadProgress | null;
}

export interface Problem extends Failure {
  /** What the message's button "Try again" loads; null: there is no button. */
  retry: Source | null;
  /** Of the file or address that it is about; ''. */
  name: string;
  /** The previous model could not be loaded again either: its name, and why. */
  also: { name: string; why: Failure } | null;
}

/** What earlier loads and texts have left behind. It stays while something else goes on. */
interface Left {
  paused: Paused | null;
  problem: Problem | null;
}

export type Phase = Readonly<
  Left &
    (
      | { kind: 'none'; paused: null; problem: null }
      /** The page looks whether the model of the last visit is still there. */
      | { kind: 'seeking'; choice: Choice }
      /** `shown`: the model in use meanwhile, which is the one that is coming once that is shown; null: none. */
      | { kind: 'loading'; coming: Loading; shown: Model | null }
      | { kind: 'ready'; shown: Model }
      /** Nothing is in use: a load was paused. */
      | { kind: 'paused'; paused: Paused; problem: null }
      /** Nothing is in use: it could not be loaded, or its engine has stopped working. */
      | { kind: 'failed'; problem: Problem }
    )
>;

export const NONE: Phase = { kind: 'none', paused: null, problem: null };

/** The model in use; null: there is none. */
export function shownIn(phase: Phase): Model | null {
  return phase.kind === 'loading' || phase.kind === 'ready' ? phase.shown : null;
}

/** The load that goes on; null: there is none. */
export function loadingIn(phase: Phase): Loading | null {
  return phase.kind === 'loading' ? phase.coming : null;
}

/** The model that is looked for; null: there is none. */
export function soughtIn(phase: Phase): Choice | null {
  return phase.kind === 'seeking' ? phase.choice : null;
}

/** Whether the model of this load is the one that is shown. Else that is another one, or there is none. */
export function isInUse({ step }: Loading): boolean {
  return step === 'shown' || step === 'rest';
}

/** The phase in which nothing goes on. */
export function settled(shown: Model | null, { paused, problem }: Left): Phase {
  if (shown !== null) return { kind: 'ready', shown, paused, problem };
  if (problem !== null) return { kind: 'failed', paused, problem };
  return paused === null ? NONE : { kind: 'paused', paused, problem };
}

/** The same phase with another model in use. */
export function showing(phase: Phase, shown: Model | null): Phase {
  return phase.kind === 'loading' ? { ...phase, shown } : settled(shown, phase);
}

/** The same phase with other things left behind. */
export function leaving(phase: Phase, left: Partial<Left>): Phase {
  const { paused = phase.paused, problem = phase.problem } = left;
  if (phase.kind === 'loading' || phase.kind === 'seeking' || phase.kind === 'ready')
    return { ...phase, paused, problem };
  return settled(null, { paused, problem });
}

/** A load that begins. */
export function beginning(source: Source, back: boolean): Loading {
  return {
    source,
    back,
    progress: null,
    notes: [],
    since: Date.now(),
    step: 'header',
    info: null,
  };
}
