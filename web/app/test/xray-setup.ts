// A library that knows nine tokens, and a text that was written with it.
import { signal, type Signal } from '@preact/signals';
import type { Choice, ChoiceOptions, RawLogits } from '@sluice/engine';
import type { Insight } from '../src/inside/library';
import { TokenLog, type Told } from '../src/inside/log';
import type { Subject } from '../src/inside/subject';

const WORDS = ['<s>', 'Once', ' upon', ' a', ' time', ' sea', ' fox', '.', ' the'];

/** The logits of a place: the tokens in an order of their own. */
export function rawOf(place: number, draws: number | null = place): RawLogits {
  const ids = Int32Array.from(WORDS.keys()).map((id) => (id + place) % WORDS.length);
  const logits = Float32Array.from(ids, (_, i) => -i);
  return { logSum: 0.5, entropy: 1 + (place % 4), draws, ids, logits };
}

export const idOf = (word: string): number => WORDS.indexOf(word);

/** What the fake was asked. */
interface Asked {
  choice: { raw: RawLogits; before: number[]; options: ChoiceOptions }[];
  anew: { ids: number[]; options: ChoiceOptions }[];
  raw: { ids: number[]; from: number }[];
}

export class FakeInsight {
  readonly asked: Asked = { choice: [], anew: [], raw: [] };
  readonly info = {
    name: 'tiny',
    architecture: 'llama',
    vocab: 9,
    layers: 2,
    tokenizer: { bos: 0, eos: 7 },
  };
  /** The most top-k for which what is kept suffices. */
  enoughFor = 40;
  /** Of these the raw logits come when the test says so. */
  held: (() => void)[] | null = null;

  #choice(best: Int32Array, enough: boolean): Choice {
    const candidates = [...best].map((id, i) => ({
      id,
      logprob: -i - 0.5,
      changed: -i - 0.5,
      cut: i > 2 ? 0 : null,
      p: i > 2 ? 0 : 1 / 3,
    }));
    const steps = [{ step: 'topK' as const, left: 3, mass: 0.9 }];
    const taken = best[1] ?? -1;
    if (!enough)
      return { enough, steps: [], candidates: [], nucleus: 0, mass: 0, place: null, taken: -1 };
    return { enough, steps, candidates, nucleus: 3, mass: 0.9, place: 0.4, taken };
  }

  get insight(): Insight {
    const tokenize = async (text: string): Promise<number[]> =>
      (text.match(/^Once|\S+| \S+/g) ?? []).map((word) => idOf(word));
    return {
      info: this.info,
      tokenize,
      countTokens: async (text: string) => (await tokenize(text)).length + 1,
      detokenize: async (ids: number[]) => ids.map((id) => (id === 0 ? '' : WORDS[id])).join(''),
      pieces: async (ids: number[]) => ids.map((id) => WORDS[id]),
      choice: async (raw: RawLogits, before: number[], options: ChoiceOptions) => {
        this.asked.choice.push({ raw, before: [...before], options });
        const { topK = 0 } = options;
        return this.#choice(raw.ids, topK > 0 && topK <= this.enoughFor);
      },
      choiceAt: async (ids: number[], options: ChoiceOptions) => {
        this.asked.anew.push({ ids: [...ids], options });
        return this.#choice(rawOf(ids.length - 2).ids, true);
      },
      rawLogits: (ids: number[], options: { from: number; signal: AbortSignal }) =>
        this.#raws([...ids], options),
    } as unknown as Insight;
  }

  async *#raws(ids: number[], { from, signal: stopped }: { from: number; signal: AbortSignal }) {
    this.asked.raw.push({ ids, from });
    for (let i = from; i < ids.length; ++i) {
      if (this.held !== null) await new Promise<void>((resolve) => this.held?.push(resolve));
      if (stopped.aborted) throw new Error('aborted');
      yield rawOf(i - 2, null);
    }
  }
}

/** A text that the test writes. */
export class FakeText {
  readonly prompt: string = 'Once';
  readonly subject: Signal<Subject | null>;
  readonly log: TokenLog;
  text = '';
  readonly branched: unknown[] = [];
  readonly shown: string[] = [];

  constructor(
    readonly id = 'one',
    log = new TokenLog(),
  ) {
    this.log = log;
    this.subject = signal(this.as());
  }

  as(more: Partial<Subject> = {}): Subject {
    const before = (begun: number): string => this.prompt + this.text.slice(0, begun);
    return {
      id: this.id,
      log: this.log,
      growing: false,
      by: 'tiny',
      own: true,
      related: [],
      text: () => this.text,
      before,
      encode: async (by, begun) => [0, ...(await by.tokenize(before(begun)))],
      branch: (...of) => this.branched.push(of) > 0,
      show: (id) => void this.shown.push(id),
      ...more,
    };
  }

  begin(): void {
    this.log.begin(this.text.length, 'text', 'seed=1');
  }

  add(...words: string[]): void {
    for (const word of words) this.tell({ id: idOf(word), text: word, logprob: -1 });
  }

  /** Tokens that somebody looked at. */
  look(...words: string[]): void {
    for (const word of words) {
      const place = this.log.runs.reduce((sum, { ids }) => sum + ids.length, 0);
      this.tell({ id: idOf(word), text: word, logprob: -1, raw: rawOf(place) });
    }
  }

  tell(told: Told): void {
    this.log.add(told);
    this.text += told.text;
  }
}
