// In the engine worker: the calls that compute given texts (vectors, masked words), and those that look inside the model. Few
// pages want them, so what does them is a script of its own, which is loaded for the first of them. It has its own copies of what
// it imports: errors pass between the two as data.
import type { EngineHandle } from '../../../../wasm/module.js';
import type { EngineCalls } from '../shared/calls.js';
import { toldError } from '../shared/errors.js';
import { LATER, type Handlers, type Reply } from '../shared/replies.js';
import type { ModelInfo } from '../shared/types.js';
import type { AnalysisRuns } from './analysis-runs.js';
import type { OpenModule } from './module.js';
import type { Runs } from './runs.js';

const NAMES = [
  'embed',
  'fillMask',
  'choice',
  'choiceAt',
  'rawLogits',
  'lens',
  'attention',
  'hiddenStates',
  'pieces',
] as const;

/** The calls' names. */
export type AnalysisName = (typeof NAMES)[number];

/** Where the answer to a call goes. */
export type CallReply<Name extends keyof EngineCalls> = Reply<
  EngineCalls[Name]['result'],
  EngineCalls[Name]['item']
>;

/** What the script exports. */
export interface AnalysisScript {
  AnalysisRuns: typeof AnalysisRuns;
}

export class Analysis {
  #loading: Promise<void> | null = null;
  #runs: AnalysisRuns | null = null;
  #over = false;

  constructor(
    readonly code: Pick<OpenModule, 'module' | 'loadAnalysis'>,
    readonly engine: EngineHandle,
    readonly info: ModelInfo,
    readonly runs: Runs,
    /** There is work, or a session has advanced. */
    readonly moved: () => void,
    /** Runs work; an error that is no SluiceError ends the worker. */
    readonly guard: (work: () => void) => void,
  ) {}

  /** Whether slice() has something to do. */
  get busy(): boolean {
    return this.#runs?.busy === true;
  }

  slice(until: number): void {
    this.#runs?.slice(until);
  }

  /** Answers a call, once the script is there. */
  answer<Name extends AnalysisName>(
    name: Name,
    args: EngineCalls[Name]['args'],
    reply: CallReply<Name>,
  ): void {
    if (this.#runs !== null) return this.#runs.answer(name, args, reply);
    this.#loading ??= this.#load();
    this.#loading.then(
      () => {
        if (!this.#over && !reply.over) this.guard(() => this.#runs?.answer(name, args, reply));
      },
      (error: unknown) => {
        this.#loading = null; // the next call tries again
        reply.fail(error);
      },
    );
  }

  async #load(): Promise<void> {
    const { AnalysisRuns } = await this.code.loadAnalysis();
    const { code, engine, info, runs, moved } = this;
    this.#runs = new AnalysisRuns(code.module, engine, info, runs, moved, toldError);
  }

  /** Frees what is not a session's. */
  end(): void {
    this.#over = true;
    this.#runs?.end();
  }
}

/** The handlers of the calls. */
export function analysisHandlers(
  analysis: () => Pick<Analysis, 'answer'>,
): Pick<Handlers<EngineCalls>, AnalysisName> {
  const handlers = NAMES.map((name) => [
    name,
    (args: never, reply: CallReply<typeof name>) => {
      analysis().answer(name, args, reply);
      return LATER;
    },
  ]);
  return Object.fromEntries(handlers) as Pick<Handlers<EngineCalls>, AnalysisName>;
}
