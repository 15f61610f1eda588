// How full the context is: the tokens of the conversation and of what is in the field.
import { computed, effect, signal } from '@preact/signals';
import type { Open } from '../history/library';
import { currentEngine, model } from '../model/state';
import { busy } from '../run';
import { contentOf } from './request';
import { answering, attachments, draft, open, shown } from './state';

/** Milliseconds without a key before the field is counted. */
const COUNT_MS = 250;
/** From this share on the reader is warned. */
const NEARLY = 0.85;

/** What was counted last, and in the field of which conversation. */
const counted = signal<{ of: Open; tokens: number } | null>(null);
/** Tokens of what is in the field; 0 while that is empty, or not counted yet. */
const draftTokens = computed(() => (counted.value?.of === open.value ? counted.value.tokens : 0));

/** Tokens of the branch up to its last answer, as that was computed; 0 before the first answer. */
const said = computed(() => {
  const last = shown.value.findLast(({ figures }) => figures !== null)?.figures;
  const now = answering.value;
  const written = now?.in === open.value ? now.tokens.value : 0;
  return (last == null ? 0 : last.promptTokens + last.tokens) + written;
});

export const contextSize = computed(() => model.value?.info.memory?.contextSize ?? 0);
export const used = computed(() => said.value + draftTokens.value);
export const nearlyFull = computed(
  () => contextSize.value > 0 && used.value > contextSize.value * NEARLY,
);

/** Counts the field's tokens when the reader rests. Returns what ends that. */
export function countDraft(): () => void {
  let latest = 0;
  return effect(() => {
    const of = open.value;
    const text = contentOf({ content: draft.value, attachments: attachments.value });
    const mine = ++latest;
    if (text === '' || model.value === null || busy.value) {
      if (text === '') counted.value = null;
      return undefined;
    }
    const timer = setTimeout(() => {
      void currentEngine()
        ?.tokenize(text)
        .then((ids) => {
          if (mine === latest) counted.value = { of, tokens: ids.length };
        })
        // It is only a figure: what is wrong shows when the message is sent.
        .catch(() => undefined);
    }, COUNT_MS);
    return () => clearTimeout(timer);
  });
}
