// How full the context is: the tokens of the conversation and of what is in the field.
import { computed, effect, signal } from '@preact/signals';
import type { ChatMessage, Engine } from '@sluice/engine';
import type { Open } from '../history/library';
import { does } from '../model/makes';
import { currentEngine, loading, model, open as load } from '../model/state';
import { busy } from '../run';
import { kvBytes } from '../settings/context';
import { settings } from '../settings/settings';
import { contentOf } from './request';
import { answering, attachments, draft, open, shown } from './state';

/** Milliseconds without a key before the field is counted. */
const COUNT_MS = 250;
/** From this share on the reader is warned. */
const NEARLY = 0.85;
/** Tokens of a larger context that are left for the answer. */
const ANSWER = 256;

/** What is in the field, with its files; '' while that is empty. */
const inField = computed(() =>
  contentOf({ content: draft.value.trim(), attachments: attachments.value }),
);

/** What was counted last, and in the field of which conversation. `alone`: with the system prompt, as the model reads it. */
const counted = signal<{ of: Open; text: string; tokens: number; alone: number } | null>(null);
/** The count of the field as it is, or as it was before the last keys; null while it is empty or not counted yet. */
const field = computed(() =>
  inField.value !== '' && counted.value?.of === open.value ? counted.value : null,
);

/** Tokens of the branch up to its last answer, as that was computed; 0 before the first answer. */
const said = computed(() => {
  const last = shown.value.findLast(({ figures }) => figures !== null)?.figures;
  const now = answering.value;
  const written = now?.in === open.value ? now.tokens.value : 0;
  return (last == null ? 0 : last.promptTokens + last.tokens) + written;
});

/** 0: there is no model that writes. */
export const contextSize = computed(() =>
  does.value === 'writes' ? (model.value?.info.memory?.contextSize ?? 0) : 0,
);
export const used = computed(() => said.value + (field.value?.tokens ?? 0));
export const nearlyFull = computed(
  () => contextSize.value > 0 && used.value > contextSize.value * NEARLY,
);

/** A text of more characters than the context has tokens is sent only when it has been counted. */
export const uncounted = computed(
  () =>
    contextSize.value > 0 &&
    inField.value.length > contextSize.value &&
    field.value?.text !== inField.value,
);
/** By how many tokens what is in the field is too long for the context; 0: it fits. */
export const tooLong = computed(() =>
  contextSize.value === 0 || field.value === null
    ? 0
    : Math.max(0, field.value.alone + 1 - contextSize.value),
);
/** By how many tokens the conversation with what is in the field is too long. The oldest messages can be left out. */
export const outgrown = computed(() =>
  contextSize.value === 0 || field.value === null
    ? 0
    : Math.max(0, used.value + 1 - contextSize.value),
);

/** A context that holds all of it, and the bytes that it takes more; null where the model has none. */
export const larger = computed(() => {
  const plan = model.value?.info.memory;
  const trained = model.value?.info.contextLength;
  if (plan == null || trained == null || field.value === null) return null;
  const all = Math.max(used.value, field.value.alone) + ANSWER;
  const size = Math.min(2 ** Math.ceil(Math.log2(all)), trained);
  if (size <= plan.contextSize || size <= field.value.alone) return null;
  return { size, more: Math.max(0, kvBytes(plan, size, plan.kvType) - plan.kv) };
});

/** Sets the larger context, and loads the model again with it. What is in the field stays. */
export function takeLarger(): void {
  if (larger.value === null || model.value === null || loading.value !== null) return;
  settings.value = { ...settings.value, context: larger.value.size };
  void load(model.value.source);
}

async function countIt(by: Engine, text: string, system: string): Promise<[number, number]> {
  const count = (messages: ChatMessage[]): Promise<number> => by.countTokens(messages);
  const mine = { role: 'user', content: text };
  const tokens = await count([mine]);
  if (system === '') return [tokens, tokens];
  return [tokens, await count([{ role: 'system', content: system }, mine])];
}

/** Counts the field's tokens when the reader rests. Returns what ends that. */
export function countDraft(): () => void {
  let latest = 0;
  return effect(() => {
    const of = open.value;
    const text = inField.value;
    const system = of.tree.value.system.trim();
    const mine = ++latest;
    if (text === '') counted.value = null;
    const by = model.value === null ? null : currentEngine();
    if (text === '' || by === null || busy.value) return undefined;
    const timer = setTimeout(() => {
      void countIt(by, text, system)
        // It is only a figure: what is wrong shows when the message is sent.
        .catch(() => [0, 0] as const)
        .then(([tokens, alone]) => {
          if (mine === latest) counted.value = { of, text, tokens, alone };
        });
    }, COUNT_MS);
    return () => clearTimeout(timer);
  });
}
