// The settings as the library's options.
import type { AnswerRequest, GenerateOptions, LoadOptions } from '@sluice/engine';
import { samplersOf } from './presets';
import { TEXT_LENGTH, budgetOf, type SamplerName, type Settings } from './settings';

/** For `generate`. */
export function sampling(from: Settings): GenerateOptions {
  const { length, seed, stop } = from;
  return {
    ...samplersOf(from),
    maxTokens: length ?? TEXT_LENGTH,
    seed: seed ?? undefined,
    stop: stop.length > 0 ? stop : undefined,
  };
}

export type AnswerSampling = Pick<
  AnswerRequest,
  SamplerName | 'maxTokens' | 'seed' | 'stop' | 'thinking' | 'thinkingTokens'
>;

/** For `answer`. */
export function answerSampling(from: Settings): AnswerSampling {
  const { length, seed, stop, reasoning, reasoningBudget } = from;
  return {
    ...samplersOf(from),
    maxTokens: length ?? undefined,
    seed: seed ?? undefined,
    stop: stop.length > 0 ? stop : undefined,
    thinking: reasoning === 'auto' ? undefined : reasoning === 'on',
    thinkingTokens: reasoning === 'off' ? undefined : (reasoningBudget ?? undefined),
  };
}

/** The settings that count when a model is loaded. */
export type LoadSettings = Pick<Settings, 'context' | 'kvType' | 'threads' | 'memory'>;

export function loadSettings({ context, kvType, threads, memory }: LoadSettings): LoadSettings {
  return { context, kvType, threads, memory };
}

/** For `Engine.load` and `Engine.probe`. */
export function loadOptions(
  from: LoadSettings,
): Pick<LoadOptions, 'contextSize' | 'kvType' | 'threads' | 'memoryBudget'> {
  return {
    contextSize: from.context ?? undefined,
    kvType: from.kvType,
    threads: from.threads ?? undefined,
    memoryBudget: budgetOf(from),
  };
}

/** Whether two loads would be the same. `sharing`: whether threads can be chosen here. */
export function sameLoad(a: LoadSettings, b: LoadSettings, sharing: boolean): boolean {
  return (
    a.context === b.context &&
    a.kvType === b.kvType &&
    a.memory === b.memory &&
    (!sharing || a.threads === b.threads)
  );
}
