// What Talk and Writing see of the model: they are lent its engine for a run.
import type { ReadonlySignal } from '@preact/signals';
import type { Engine, PromptProgress } from '@sluice/engine';
import { canWrite } from './makes';
import { modelParts } from './parts';
import type { Ran } from './reads';
import { refOf } from './source';
import {
  closeProblem,
  loading,
  model,
  modelName,
  problem,
  shownName,
  stats,
  type Loading,
  type Model,
  type Problem,
} from './state';
import { chosenModel, onReading, onToken, withEngine, type Outcome } from './use';

/** What a model is called. */
export interface Names {
  /** As it names itself. */
  name: string;
  /** As the reader sees it. */
  shown: string;
  /** Which one it is (refOf in source.ts). */
  ref: string;
}

export interface Lender {
  /** The model that is shown; null: there is none. */
  readonly model: ReadonlySignal<Model | null>;
  /** The one that is being loaded. */
  readonly loading: ReadonlySignal<Loading | null>;
  /** Whether there is a model that writes, or one is coming that may. */
  readonly canWrite: ReadonlySignal<boolean>;
  /** What went wrong last, as the page shows it, until that is taken back. */
  readonly problem: ReadonlySignal<Problem | null>;
  closeProblem(): void;
  /** The seed of the last run; null before the first. */
  lastSeed(): number | null;
  /** What the model that is shown is called. */
  names(): Names | null;
  /**
   * Calls `work` with an engine, and again with another one if a load fails that had brought the first. `which`: 'chosen': that
   * of the model that the reader has chosen, whose load is waited for; 'ready': the first that can be used. Never rejects.
   */
  lend(
    signal: AbortSignal,
    which: 'chosen' | 'ready',
    work: (by: Engine) => Promise<void>,
  ): Promise<Outcome>;
  /** How far the prompt is. */
  onReading(progress: PromptProgress): void;
  /** To be called when tokens have come: with the first, reading ends. */
  onToken(by: Engine): void;
  /** Learns how quick the device is. */
  learn(from: Omit<Ran, 'eightBits'>): void;
}

/** That of the page. */
export const lender: Lender = {
  model,
  loading,
  canWrite,
  problem,
  closeProblem,
  lastSeed: () => stats.peek()?.seed ?? null,
  names: () => {
    const current = model.peek();
    if (current === null) return null;
    return { name: modelName(current), shown: shownName(current), ref: refOf(current.source) };
  },
  lend: (signal, which, work) =>
    which === 'chosen' ? withEngine(signal, work, chosenModel()) : withEngine(signal, work),
  onReading,
  onToken,
  learn: (from) => void modelParts.fetch().then((later) => later?.learnFrom(from)),
};
