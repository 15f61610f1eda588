// The settings as the library's options.
import type { ChatCompletionRequest, GenerateOptions, LoadOptions } from '@sluice/engine';
import { samplersOf } from './presets';
import { TEXT_LENGTH, budgetOf, type Settings } from './settings';

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

export type ChatSampling = Pick<
  ChatCompletionRequest,
  | 'temperature'
  | 'top_k'
  | 'top_p'
  | 'min_p'
  | 'repetition_penalty'
  | 'repeat_last_n'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'max_tokens'
  | 'seed'
  | 'stop'
  | 'reasoning'
>;

/** For `chat.completions.create`. */
export function chatSampling(from: Settings): ChatSampling {
  const { reasoning, reasoningBudget } = from;
  return {
    temperature: from.temperature,
    top_k: from.topK,
    top_p: from.topP,
    min_p: from.minP,
    repetition_penalty: from.repeatPenalty,
    repeat_last_n: from.repeatLastN,
    presence_penalty: from.presencePenalty,
    frequency_penalty: from.frequencyPenalty,
    max_tokens: from.length,
    seed: from.seed,
    stop: from.stop.length > 0 ? from.stop : null,
    reasoning: {
      enabled: reasoning === 'auto' ? null : reasoning === 'on',
      max_tokens: reasoning === 'off' ? null : reasoningBudget,
    },
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
