// What the layers of a model hold of a text: computed when the reader asks for it, and never while the model writes.
import { computed, effect, untracked, type ReadonlySignal } from '@preact/signals';
import type { Attention, InsideCalls, Lens } from '@sluice/engine';
import { OnDemand } from './on-demand';

/** What is asked of an engine. */
export type LayerCalls = Pick<InsideCalls, 'lens' | 'attention' | 'pieces'>;

/** The text that is looked at. */
export interface Reader {
  /** How many tokens its prompt has. */
  readonly prompt: readonly number[];
  /** The ids of prompt and text, so many of the text's. */
  ids(tokens: number): number[];
}

export interface LayersNeeds {
  /** The engine of the model that wrote the text; null: there is none. */
  readonly engine: ReadonlySignal<LayerCalls | null>;
  readonly busy: ReadonlySignal<boolean>;
  /** Null: nothing is looked at. Another text is another object. */
  readonly chain: ReadonlySignal<Reader | null>;
  /** How many tokens the text has, and which of them is looked at. */
  readonly length: ReadonlySignal<number>;
  readonly at: ReadonlySignal<number>;
  /** Looks at another token. */
  to(token: number): void;
}

/** What each layer would have said in the place of some tokens of the text. */
export interface LensMap {
  /** The first of these tokens. The others follow it. */
  from: number;
  /** What was chosen in the end, in words. */
  chosen: string[];
  /** [layer][token], as Lens has them. */
  layers: number[];
  cells: Lens['cells'];
  /** The texts of all tokens in the cells. */
  pieces: ReadonlyMap<number, string>;
}

/** What a model looked at when it chose a token. */
export interface Looks {
  token: number;
  /** The texts of the tokens before it, of the prompt as well. */
  words: string[];
  /** Of the token itself. */
  chosen: string;
  attention: Attention;
}

/** Tokens of a map: a long text's are those around the one that is looked at. */
export const MOST_COLUMNS = 24;
/** Tokens that each cell tells. */
const TOP = 3;

/** The tokens of a map around one of them: the first, and the one after the last. `least`: the first one that can be in it. */
export function windowAround(at: number, length: number, least: number): [number, number] {
  const begin = Math.max(least, Math.min(at - MOST_COLUMNS / 2, length - MOST_COLUMNS));
  return [begin, Math.min(length, begin + MOST_COLUMNS)];
}

/** The texts of tokens, each asked for once. */
async function piecesOf(
  by: LayerCalls,
  ids: Iterable<number>,
  signal: AbortSignal,
): Promise<Map<number, string>> {
  const unique = [...new Set(ids)];
  const texts = await by.pieces(unique, { signal });
  return new Map(unique.map((id, i) => [id, texts[i] ?? '']));
}

export class LayersController {
  readonly lens = new OnDemand<LensMap>();
  readonly looks = new OnDemand<Looks>();
  readonly #needs: LayersNeeds;

  constructor(needs: LayersNeeds) {
    this.#needs = needs;
  }

  get at(): ReadonlySignal<number> {
    return this.#needs.at;
  }

  /** Whether something can be computed now. */
  readonly able = computed(() => {
    const { engine, busy, chain, length } = this.#needs;
    return engine.value !== null && chain.value !== null && length.value > 0 && !busy.value;
  });

  /** Whether the model writes, so that this has to wait. */
  get busy(): ReadonlySignal<boolean> {
    return this.#needs.busy;
  }

  /** Whether anything stands before the token that is looked at: else nothing has led to it. */
  readonly led = computed(() => {
    const { chain, at } = this.#needs;
    return (chain.value?.prompt.length ?? 0) + at.value > 0;
  });

  to(token: number): void {
    this.#needs.to(token);
  }

  /** Looks from now on. Returns what ends that. */
  start(): () => void {
    const { engine, busy, chain } = this.#needs;
    const ends = [
      effect(() => {
        void chain.value;
        void engine.value;
        untracked(() => {
          this.lens.forget();
          this.looks.forget();
        });
      }),
      effect(() => {
        if (busy.value) untracked(() => this.stop());
      }),
    ];
    return () => {
      for (const end of ends) end();
      this.stop();
    };
  }

  stop(): void {
    this.lens.stop();
    this.looks.stop();
  }

  /** Computes the map around the token that is looked at. */
  async computeLens(): Promise<void> {
    const now = this.#now();
    if (now === null) return;
    const { by, chain } = now;
    const prompt = chain.prompt.length;
    // Nothing says what stands at the very beginning.
    const [from, to] = windowAround(now.at, this.#needs.length.peek(), prompt === 0 ? 1 : 0);
    if (from >= to) return;
    const ids = chain.ids(to);
    const positions = Array.from({ length: to - from }, (_, i) => prompt + from + i - 1);
    await this.lens.run(async (signal, tell) => {
      // What follows the last position is not computed.
      const { layers, cells } = await by.lens(ids.slice(0, prompt + to - 1), {
        positions,
        top: TOP,
        signal,
        onProgress: tell,
      });
      const chosen = ids.slice(prompt + from, prompt + to);
      const told = cells.flatMap((row) => row.flatMap(({ top }) => top.map(([id]) => id)));
      const pieces = await piecesOf(by, [...chosen, ...told], signal);
      return { from, chosen: chosen.map((id) => pieces.get(id) ?? ''), layers, cells, pieces };
    });
  }

  /** Computes what the model looked at when it chose the token that is looked at. */
  async computeLooks(): Promise<void> {
    const now = this.#now();
    if (now === null) return;
    const { by, chain, at: token } = now;
    const ids = chain.ids(token + 1);
    const before = ids.slice(0, chain.prompt.length + token);
    if (before.length === 0) return;
    await this.looks.run(async (signal) => {
      const attention = await by.attention(before, { signal });
      const pieces = await piecesOf(by, ids, signal);
      const textOf = (id: number): string => pieces.get(id) ?? '';
      const chosen = textOf(ids[before.length] ?? -1);
      return { token, words: before.map(textOf), chosen, attention };
    });
  }

  #now(): { by: LayerCalls; chain: Reader; at: number } | null {
    const { engine, chain, at } = this.#needs;
    const [by, of] = [engine.peek(), chain.peek()];
    return !this.able.peek() || by === null || of === null
      ? null
      : { by, chain: of, at: at.peek() };
  }
}
