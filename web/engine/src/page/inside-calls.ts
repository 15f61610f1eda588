// The calls of Engine that look inside its model: what a token was chosen from, the lens, attention, hidden states. The engine
// worker does the work (engine/inside-runs.ts).
import type { Ask } from '../shared/caller.js';
import type { ChoiceArgs, EngineCalls } from '../shared/calls.js';
import type {
  AttentionOptions,
  ChoiceOptions,
  HiddenStatesOptions,
  InsideCalls,
  LensOptions,
  RawLogits,
  RawLogitsOptions,
} from '../shared/inside-types.js';
import { GENERATE_RULES, type Rule } from '../shared/option-table.js';
import { callBack } from '../shared/promises.js';
import type { ModelInfo } from '../shared/types.js';
import {
  choiceRule,
  invalid,
  reading,
  show,
  takeDetokenizeOptions,
  takeGenerateOptions,
  takeIds,
  takeOptions,
  takeText,
  wholeRule,
} from './options.js';
import { failedReader, lazyReader } from './read-queue.js';
import { takeKnownIds } from './text-calls.js';

/** What these calls use of their engine. */
export interface InsideHooks {
  /** Throws if the engine has ended, or if its model makes no text. */
  admitText(): void;
  info(): ModelInfo;
  ask: Ask<EngineCalls>;
}

const LONGEST = Number.MAX_SAFE_INTEGER;
/** The most logits that a token comes with. */
const MOST_RAW = GENERATE_RULES.trace.most;
const { signal, onPromptProgress: callback } = GENERATE_RULES;
const list: Rule = { kind: 'object', expected: 'an array of whole numbers, ascending' };

const CHOICE_RULES = {
  ...GENERATE_RULES,
  most: wholeRule(1, 1000),
  promptTokens: wholeRule(0, LONGEST),
  draws: wholeRule(0, LONGEST),
} as const satisfies Record<keyof ChoiceOptions, Rule>;
const RAW_RULES = {
  from: wholeRule(1, LONGEST),
  top: wholeRule(1, MOST_RAW),
  signal,
} as const satisfies Record<keyof RawLogitsOptions, Rule>;
const LENS_RULES = {
  positions: list,
  layers: list,
  top: wholeRule(1, 100),
  signal,
  onProgress: callback,
} as const satisfies Record<keyof LensOptions, Rule>;
const ATTENTION_RULES = {
  position: wholeRule(0, LONGEST),
  signal,
} as const satisfies Record<keyof AttentionOptions, Rule>;
const STATES_RULES = {
  layers: list,
  positions: choiceRule('last', 'all', 'mean'),
  at: choiceRule('residual', 'attention', 'ffn'),
  signal,
  onProgress: callback,
} as const satisfies Record<keyof HiddenStatesOptions, Rule>;

/** Checks ids for a call that needs a model that makes text. */
function takeTextIds({ admitText, info }: InsideHooks, given: unknown): number[] {
  admitText();
  return takeKnownIds(given, info());
}

/** Checks a list of layers or positions. The engine worker checks that they ascend, and that there are such. */
function takeList(given: unknown, name: string): number[] | undefined {
  return given === undefined ? undefined : takeIds(given, name, name);
}

function takeChoiceOptions(
  given: ChoiceOptions,
  drawn: number,
): ChoiceArgs & { signal: AbortSignal | undefined } {
  const { most = 40, promptTokens = 0, draws = drawn, ...rest } = takeOptions(given, CHOICE_RULES);
  const { json, signal } = takeGenerateOptions(rest, false);
  return { options: json, most, promptTokens, draws, signal };
}

/** Checks what a token was chosen from, which may come from a file. Returns a copy. */
function takeRaw({ info }: InsideHooks, given: RawLogits | null): RawLogits {
  return reading('raw', () => {
    const { ids, logits, logSum, entropy, draws } = given ?? ({} as RawLogits);
    const n = ids instanceof Int32Array && logits instanceof Float32Array ? ids.length : 0;
    const drawn = draws ?? 0;
    const right = n > 0 && n <= MOST_RAW && logits.length === n && Number.isFinite(logSum);
    if (!right || !Number.isSafeInteger(drawn) || drawn < 0)
      throw invalid(`raw is ${show(given)}; give what a token has as \`raw\` with \`trace\``);
    takeKnownIds(Array.from(ids), info(), 'raw.ids');
    return { ids: ids.slice(), logits: logits.slice(), logSum, entropy, draws };
  });
}

/** Hands a call's progress to the caller, if that is wanted. */
function told<T>(onProgress: ((progress: T) => void) | undefined): (progress: T) => null {
  return (progress) => {
    if (onProgress !== undefined) callBack(onProgress, progress);
    return null;
  };
}

/** A prompt, as of a list with this name. */
function takeOne({ info }: InsideHooks, given: unknown, name: string): string | number[] {
  if (typeof given === 'string') return takeText(given, name);
  if (!reading(name, () => Array.isArray(given)))
    throw invalid(`${name} is ${show(given)}; give a text, or an array of token ids`);
  return takeKnownIds(given, info(), name);
}

/** Whether these are several prompts, not the ids of one. */
function areSeveral(given: unknown): given is readonly unknown[] {
  return reading('the prompts', () => {
    if (!Array.isArray(given)) return false;
    const first: unknown = given[0];
    return typeof first === 'string' || Array.isArray(first);
  });
}

/** The calls of an engine. */
export function insideCalls(hooks: InsideHooks): InsideCalls {
  const { admitText, ask, info } = hooks;
  return {
    async choice(given, before, options = {}) {
      admitText();
      const { ids, logits, logSum, draws } = takeRaw(hooks, given);
      const known = takeKnownIds(before, info(), 'before');
      const { signal, ...args } = takeChoiceOptions(options, draws ?? 0);
      return ask('choice', { ...args, raw: { ids, logits, logSum }, before: known }, { signal });
    },

    async choiceAt(given, options = {}) {
      const ids = takeTextIds(hooks, given);
      const { signal, ...args } = takeChoiceOptions(options, 0);
      return ask('choiceAt', { ...args, ids }, { signal });
    },

    rawLogits(given, options = {}) {
      try {
        const ids = takeTextIds(hooks, given);
        const { from = 1, top = MOST_RAW, signal } = takeOptions(options, RAW_RULES);
        return lazyReader(
          async (out, stop) => {
            const onItem = (raws: RawLogits[]): Promise<void> | null => {
              for (const raw of raws) out.push(raw);
              return out.room();
            };
            await ask('rawLogits', { ids, from, top }, { signal: stop, onItem });
          },
          () => {},
          signal,
        );
      } catch (error) {
        return failedReader<RawLogits, void>(error);
      }
    },

    async lens(given, options = {}) {
      const ids = takeTextIds(hooks, given);
      const { top = 3, signal, onProgress, ...rest } = takeOptions(options, LENS_RULES);
      const layers = takeList(rest.layers, 'layers');
      const positions = takeList(rest.positions, 'positions');
      const onItem = told(onProgress);
      return ask('lens', { ids, layers, positions, top }, { signal, onItem });
    },

    async attention(given, options = {}) {
      const ids = takeTextIds(hooks, given);
      const { position, signal } = takeOptions(options, ATTENTION_RULES);
      return ask('attention', { ids, position }, { signal });
    },

    // What comes back is of the kind that was given.
    hiddenStates: (async (given: unknown, options: HiddenStatesOptions = {}) => {
      const several = areSeveral(given);
      const prompts = several
        ? reading('the prompts', () => Array.from(given)).map((one, i) =>
            takeOne(hooks, one, `prompts[${i}]`),
          )
        : [takeOne(hooks, given, 'prompt')];
      const taken = takeOptions(options, STATES_RULES);
      const { positions: of = 'last', at = 'residual', signal, onProgress } = taken;
      const layers = takeList(taken.layers, 'layers');
      const all: Float32Array[] = [];
      const tell = told(onProgress);
      const onItem = (states: Float32Array[]): null => {
        all.push(...states);
        return tell({ done: all.length, total: prompts.length });
      };
      await ask('hiddenStates', { prompts, layers, of, at }, { signal, onItem });
      return several ? all : all[0];
    }) as InsideCalls['hiddenStates'],

    async pieces(given, options = {}) {
      const { signal } = takeDetokenizeOptions(options);
      return ask('pieces', { ids: takeKnownIds(given, info()) }, { signal });
    },
  };
}
