// dist/wasm/sluice-analysis.mjs: what the engine worker loads for the first call that analyses texts or what is inside its model
// (analysis.ts).
import type { EngineHandle, SluiceModule } from '../../../../wasm/module.js';
import type { EngineCalls } from '../shared/calls.js';
import { SluiceError, toErrorData, type ErrorData } from '../shared/errors.js';
import type { ModelInfo } from '../shared/types.js';
import type { AnalysisName, CallReply } from './analysis.js';
import { InsideRuns } from './inside-runs.js';
import {
  attentionTask,
  choiceOf,
  choiceTask,
  lensTask,
  logitsTask,
  piecesOf,
  statesTask,
} from './inside-tasks.js';
import type { Runs } from './runs.js';
import { TextRuns } from './text-runs.js';

type Answers = {
  readonly [Name in AnalysisName]: (
    args: EngineCalls[Name]['args'],
    reply: CallReply<Name>,
  ) => void;
};

export class AnalysisRuns {
  readonly #texts: TextRuns;
  readonly #inside: InsideRuns;
  readonly #answers: Answers;

  /**
   * `moved`: there is work, or a session has advanced. `told`: makes the worker's own error from this script's, which has
   * copies of what it imports.
   */
  constructor(
    module: SluiceModule,
    engine: EngineHandle,
    info: ModelInfo,
    runs: Runs,
    moved: () => void,
    readonly told: (data: ErrorData) => SluiceError,
  ) {
    const texts = new TextRuns(module, engine, info, runs, moved, told);
    const inside = new InsideRuns(module, engine, runs, moved, told);
    this.#texts = texts;
    this.#inside = inside;
    this.#answers = {
      embed: (args, reply) => texts.embed(args, reply),
      fillMask: (args, reply) => texts.fillMask(args, reply),
      choice: (args, reply) => reply.end(choiceOf(runs.get(0).handle, engine, args)),
      pieces: ({ ids }, reply) => reply.end(piecesOf(engine, ids)),
      choiceAt: (args, reply) => inside.add(reply, choiceTask(args, reply, info, engine)),
      rawLogits: (args, reply) => inside.add(reply, logitsTask(args, reply, info)),
      lens: (args, reply) => inside.add(reply, lensTask(args, reply, info, engine)),
      attention: (args, reply) => inside.add(reply, attentionTask(args, reply)),
      hiddenStates: (args, reply) =>
        inside.add(reply, statesTask(args, reply, info, module, engine)),
    };
  }

  /** Whether slice() has something to do. */
  get busy(): boolean {
    return this.#texts.busy || this.#inside.busy;
  }

  /** Prepares and starts runs until that time. */
  slice(until: number): void {
    this.#texts.slice(until);
    this.#inside.slice(until);
  }

  /** Answers a call: at once, or after those before it. */
  answer<Name extends AnalysisName>(
    name: Name,
    args: EngineCalls[Name]['args'],
    reply: CallReply<Name>,
  ): void {
    try {
      this.#answers[name](args, reply);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      reply.fail(this.told(toErrorData(error)));
    }
  }

  /** Frees what is not a session's. */
  end(): void {
    this.#texts.end();
    this.#inside.end();
  }
}
