// How full the context is: the tokens of the conversation and of what is in the field.
import { computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ChatMessage, Engine } from '@sluice/engine';
import type { Open } from '../history/open';
import type { Message } from '../history/tree';
import type { Lender } from '../model/lender';
import type { Does } from '../model/makes';
import type { Runs } from '../model/run';
import type { Source } from '../model/source';
import { kvBytes } from '../settings/context';
import type { Settings } from '../settings/settings';
import type { Clock } from '../ui/clock';
import type { TalkController } from './controller';
import { contentOf, messagesOf } from './request';

/** Milliseconds without a key before the field is counted. */
const COUNT_MS = 250;
/** From this share on the reader is warned. */
const NEARLY = 0.85;
/** Tokens of a larger context that are left for the answer. */
const ANSWER = 256;

export interface FullnessNeeds {
  talk: TalkController;
  lender: Pick<Lender, 'model' | 'loading'>;
  runs: Pick<Runs, 'busy'>;
  /** What the model in use is for; null: there is none. */
  does: ReadonlySignal<Does | null>;
  settings: Signal<Settings>;
  /** The engine of the model that is shown. */
  engine(): Pick<Engine, 'countTokens'> | null;
  /** Loads a model with the settings as they are. */
  load(source: Source): void;
  clock: Clock;
}

interface Counted {
  of: Open;
  text: string;
  tokens: number;
  /** With the system prompt, as the model reads it. */
  alone: number;
}

export class Fullness {
  readonly #needs: FullnessNeeds;
  /** What is in the field, with its files; '' while that is empty. */
  readonly #inField = computed(() => {
    const { draft, attachments } = this.#needs.talk.field;
    return contentOf(draft.value.trim(), attachments.value);
  });
  /** What was counted last, and in the field of which conversation. */
  readonly #counted = signal<Counted | null>(null);
  /** The count of the field as it is, or as it was before the last keys; null while it is empty or not counted yet. */
  readonly #field = computed(() => {
    const counted = this.#counted.value;
    return this.#inField.value !== '' && counted?.of === this.#needs.talk.open.value
      ? counted
      : null;
  });
  /** The branch up to a last message that has no figures: an answer that was stopped, or one that did not come. */
  readonly #upTo = signal<{ to: Message; tokens: number } | null>(null);
  /** Tokens of the branch up to its last answer, as that was computed; 0 before the first answer. */
  readonly #said = computed(() => {
    const { shown, answeringHere } = this.#needs.talk;
    const upTo = this.#upTo.value;
    if (upTo !== null && upTo.to === shown.value.at(-1) && answeringHere.value === null)
      return upTo.tokens;
    const last = shown.value.findLast(({ figures }) => figures !== null)?.figures;
    const written = answeringHere.value?.tokens.value ?? 0;
    return (last == null ? 0 : last.promptTokens + last.tokens) + written;
  });

  /** Tokens; 0: there is no model that writes. */
  readonly contextSize = computed(() => {
    const { does, lender } = this.#needs;
    return does.value === 'writes' ? (lender.model.value?.info.memory?.contextSize ?? 0) : 0;
  });
  readonly used = computed(() => this.#said.value + (this.#field.value?.tokens ?? 0));
  readonly nearlyFull = computed(
    () => this.contextSize.value > 0 && this.used.value > this.contextSize.value * NEARLY,
  );
  /** A text of more characters than the context has tokens is sent only when it has been counted. */
  readonly uncounted = computed(
    () =>
      this.contextSize.value > 0 &&
      this.#inField.value.length > this.contextSize.value &&
      this.#field.value?.text !== this.#inField.value,
  );
  /** By how many tokens what is in the field is too long for the context; 0: it fits. */
  readonly tooLong = computed(() => this.#over(this.#field.value?.alone));
  /** By how many tokens the conversation with what is in the field is too long. The oldest messages can be left out. */
  readonly outgrown = computed(() =>
    this.#over(this.#field.value === null ? undefined : this.used.value),
  );
  /** A context that holds all of it, and the bytes that it takes more; null where the model has none. */
  readonly larger = computed(() => {
    const info = this.#needs.lender.model.value?.info;
    const plan = info?.memory;
    const trained = info?.contextLength;
    const alone = this.#field.value?.alone;
    if (plan == null || trained == null || alone === undefined) return null;
    const all = Math.max(this.used.value, alone) + ANSWER;
    const size = Math.min(2 ** Math.ceil(Math.log2(all)), trained);
    if (size <= plan.contextSize || size <= alone) return null;
    return { size, more: Math.max(0, kvBytes(plan, size, plan.kvType) - plan.kv) };
  });

  constructor(needs: FullnessNeeds) {
    this.#needs = needs;
  }

  #over(tokens: number | undefined): number {
    const size = this.contextSize.value;
    return size === 0 || tokens === undefined ? 0 : Math.max(0, tokens + 1 - size);
  }

  /** Sets the larger context, and loads the model again with it. What is in the field stays. */
  takeLarger(): void {
    const { lender, settings, load } = this.#needs;
    const larger = this.larger.peek();
    const model = lender.model.peek();
    if (larger === null || model === null || lender.loading.peek() !== null) return;
    settings.value = { ...settings.value, context: larger.size };
    load(model.source);
  }

  /** Counts what has no figures. Returns what ends that. */
  count(): () => void {
    const ends = [this.#countDraft(), this.#countStopped()];
    return () => ends.forEach((end) => end());
  }

  /** The engine; null where there is none, or it has a run. */
  #idle(): Pick<Engine, 'countTokens'> | null {
    const { lender, runs, engine } = this.#needs;
    return lender.model.value === null || runs.busy.value ? null : engine();
  }

  /** Counts the branch if its last answer was stopped. */
  #countStopped(): () => void {
    const { talk } = this.#needs;
    return effect(() => {
      const to = talk.shown.value.at(-1);
      const by = this.#idle();
      if (to === undefined || to.figures !== null || by === null) return undefined;
      return counting(async (signal) => {
        const tokens = await by.countTokens(messagesOf(talk.open.value.tree.value), { signal });
        this.#upTo.value = { to, tokens };
      });
    });
  }

  /** Counts the field's tokens when the reader rests. */
  #countDraft(): () => void {
    const { talk, clock } = this.#needs;
    return effect(() => {
      const of = talk.open.value;
      const text = this.#inField.value;
      const system = of.tree.value.system.trim();
      if (text === '') this.#counted.value = null;
      const by = this.#idle();
      if (text === '' || by === null) return undefined;
      return counting(async (signal) => {
        await new Promise<void>((rested) => clock.after(COUNT_MS, rested));
        const mine = { role: 'user', content: text };
        // It is only a figure: what is wrong shows when the message is sent.
        const count = (...messages: ChatMessage[]): Promise<number> =>
          by.countTokens(messages, { signal }).catch(() => 0);
        const tokens = await count(mine);
        const alone = system && (await count({ role: 'system', content: system }, mine));
        if (!signal.aborted) this.#counted.value = { of, text, tokens, alone: alone || tokens };
      });
    });
  }
}

/** Starts a count. Returns what ends it: an answer must not wait for it. */
function counting(count: (signal: AbortSignal) => Promise<void>): () => void {
  const ended = new AbortController();
  count(ended.signal).catch(() => {});
  return () => ended.abort();
}
