// The writing view's state: a prompt, the text that continues it, and the texts of this visit.
import { batch, computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Engine, Finish, Prompt } from '@sluice/engine';
import { newId } from '../history/tree';
import { TokenLog } from '../inside/log';
import type { Looks } from '../inside/looks';
import type { Lender } from '../model/lender';
import type { Runs } from '../model/run';
import type { Model } from '../model/state';
import { settingsText } from '../settings/text';
import type { Settings } from '../settings/settings';
import { sampling } from '../settings/use';
import { bounded, type By, type Texts, type Written } from './kept-texts';

export interface WritingNeeds {
  /** The prompt's field, which is there before this is. */
  prompt: Signal<string>;
  lender: Lender;
  runs: Pick<Runs, 'begin' | 'busy'>;
  settings: ReadonlySignal<Settings>;
  /** Where texts are kept over a reload. */
  kept: { read(): Texts; keep(texts: Texts): void };
  /** Hears of the page's end. */
  window: EventTarget;
  /** Tells screen readers that a text begins, or how it ended: with so many tokens. */
  announce(what: 'begun' | 'done' | 'stopped', tokens: number): void;
  /** What is asked of each token beside its text: what it was chosen from, while somebody looks. */
  looks(): Looks;
}

function without(prompt: string): Written {
  return {
    id: newId(),
    prompt,
    text: '',
    tokens: 0,
    finish: null,
    seed: null,
    by: null,
    begun: 0,
    settings: '',
    runs: [],
    branch: null,
  };
}

export class WritingController {
  readonly prompt: Signal<string>;
  /** The text that is shown: the prompt it continues, what came so far, and how it ended. */
  readonly written = signal<Written | null>(null);
  /** Whether the run that the model is busy with is a text's; otherwise it is an answer's. */
  readonly writingNow = signal(false);
  /** The texts of this visit that have ended, and the place of the one that is shown or grows. */
  readonly texts = signal<Texts>({ texts: [], at: 0 });
  /** The whole text, as the prompt that goes on with it; null: it has come to its end. */
  readonly further = computed(() => {
    const so = this.written.value;
    if (so === null || so.text === '' || so.finish === 'eos' || so.finish === 'context')
      return null;
    // A character that the end cut in two is written anew.
    return (so.prompt + so.text).replace(/\uFFFD$/, '');
  });
  readonly #needs: WritingNeeds;
  /** What was typed into the field beside a text that is not its prompt: it comes back with the text. */
  readonly #typed = new WeakMap<Written, string>();
  /** The tokens of the texts, by their ids. */
  readonly #logs = new Map<string, TokenLog>();

  constructor(needs: WritingNeeds) {
    this.#needs = needs;
    this.prompt = needs.prompt;
  }

  #rememberTyped(): void {
    const so = this.written.value;
    if (so !== null && this.prompt.value !== so.prompt) this.#typed.set(so, this.prompt.value);
  }

  /** Shows the texts that this tab had before it was loaded again. */
  readKept(): void {
    const { kept, window, lender } = this.#needs;
    const read = kept.read();
    batch(() => {
      this.texts.value = read;
      this.written.value = read.texts[read.at] ?? null;
    });
    // A text that is being written when the page goes is kept as far as it came.
    window.addEventListener('pagehide', () => {
      const so = this.written.value;
      if (!this.writingNow.value || so === null || so.text === '') return;
      const seed = lender.lastSeed();
      const runs = this.logOf(so).kept(seed);
      kept.keep(this.#withText({ ...so, finish: 'aborted', seed, runs }));
    });
  }

  #writer(): By | null {
    const by = this.#needs.lender.model.value;
    const names = this.#needs.lender.names();
    return by === null || names === null ? null : writerOf(by, names.name);
  }

  /** Whether the model that is shown wrote this. */
  isByModel({ by }: Written): boolean {
    const now = this.#writer();
    return by !== null && by.name === now?.name && by.kind === now.kind && by.url === now.url;
  }

  /** The tokens of a text of this visit. */
  logOf({ id, runs }: Pick<Written, 'id' | 'runs'>): TokenLog {
    const log = this.#logs.get(id) ?? new TokenLog(runs);
    this.#logs.set(id, log);
    return log;
  }

  /** The texts with the one that has grown, in its place. */
  #withText(text: Written): Texts {
    const { texts: all, at } = this.texts.value;
    const grown = [...all];
    grown[at] = text;
    return bounded({ texts: grown, at });
  }

  /** Shows another text of this visit, with its prompt. */
  show(at: number): void {
    const { texts: all } = this.texts.value;
    const next = all[at];
    if (this.#needs.runs.busy.value || next === undefined || next === this.written.value) return;
    this.#rememberTyped();
    batch(() => {
      this.texts.value = { texts: all, at };
      this.written.value = next;
      this.prompt.value = this.#typed.get(next) ?? next.prompt;
    });
    this.#needs.kept.keep(this.texts.value);
  }

  /** Whether a text can be begun. */
  #able(): boolean {
    return !this.#needs.runs.busy.value && this.#needs.lender.canWrite.value;
  }

  /** Writes a text from the prompt on. Waits for a model that is being loaded. */
  write(): void {
    if (!this.#able()) return;
    const { texts: all, at } = this.texts.value;
    batch(() => {
      this.texts.value = { texts: all, at: all.length };
      this.#start(without(this.prompt.value), this.prompt.value, at);
    });
  }

  /** Writes another text from the prompt of the one that is shown. */
  again(): void {
    const so = this.written.value;
    if (this.#needs.runs.busy.value || so === null) return;
    this.#rememberTyped();
    this.prompt.value = so.prompt;
    this.write();
  }

  /** Goes on with the text that is shown. What was computed for it is not computed again. */
  goOn(): void {
    const so = this.written.value;
    const all = this.further.value;
    if (!this.#able() || so === null || all === null) return;
    const text = all.slice(so.prompt.length);
    this.#start({ ...so, text, begun: text.length, finish: null }, all, this.texts.value.at);
  }

  /**
   * Writes another text: the one that is shown up to so many characters, and from there on `chosen`. `ids`: all tokens up to that
   * one; `log`: those of them that are the text's. False: not now.
   */
  branch(at: number, chosen: string, ids: readonly number[], log: TokenLog): boolean {
    const so = this.written.value;
    if (!this.#able() || so === null) return false;
    this.#rememberTyped();
    const text = so.text.slice(0, at) + chosen;
    const tokens = log.runs.reduce((sum, run) => sum + run.ids.length, 0);
    const branch = { ...without(so.prompt), text, tokens, begun: text.length, runs: log.kept() };
    const { texts: all, at: place } = this.texts.value;
    this.#logs.set(branch.id, log);
    batch(() => {
      this.prompt.value = so.prompt;
      this.texts.value = { texts: all, at: all.length };
      this.#start({ ...branch, branch: { of: so.id, at } }, ids, place);
    });
    return true;
  }

  /** Begins a run that adds to `so`. If nothing is added, the text that is shown now, at `place`, is shown again. */
  #start(so: Written, from: Prompt, place: number): void {
    const { lender, runs, settings } = this.#needs;
    const shown = this.written.value;
    const begun = { ...so, settings: settingsText(settings.value) };
    batch(() => {
      lender.closeProblem();
      this.written.value = begun;
      this.writingNow.value = true;
      void runs
        .begin((signal) => this.#run(signal, so, begun, from, shown, place))
        .then(() => {
          this.writingNow.value = false;
        });
    });
  }

  /** `so`: what it adds to; `begun`: the same with the settings of now; `shown`, `place`: what was shown before. */
  async #run(
    signal: AbortSignal,
    so: Written,
    begun: Written,
    from: Prompt,
    shown: Written | null,
    place: number,
  ): Promise<void> {
    const { lender } = this.#needs;
    const outcome = await lender.lend(signal, 'ready', (by) => {
      // Where the load of an engine fails, another one begins anew.
      this.written.value = { ...begun, by: this.#writer() };
      return this.#stream(by, from, signal);
    });
    const by = 'by' in outcome ? outcome.by : null;
    const finish = finishOf(outcome.kind, by);
    if (by !== null) lender.learn(by.stats);
    const seed = by?.stats.seed ?? null;
    batch(() => {
      this.logOf(so).end(seed);
      const now = this.written.value;
      // A branch has a token that its parent has not, though nothing follows it.
      const branched = outcome.kind === 'done' && so.branch !== null && so.id !== shown?.id;
      if (now !== null && (now.text !== so.text || branched)) {
        this.#ended({ ...now, finish, seed });
      } else if (outcome.kind !== 'done') {
        this.written.value = shown;
        this.texts.value = { ...this.texts.value, at: place };
      } else if (so.text === '') {
        this.written.value = { ...so, finish };
      } else if (shown !== null) {
        this.#ended({ ...shown, finish });
      }
      this.#announce(finish);
    });
  }

  async #stream(by: Engine, from: Prompt, signal: AbortSignal): Promise<void> {
    const { lender, settings, looks } = this.#needs;
    this.#needs.announce('begun', 0);
    const begun = this.written.value;
    if (begun === null) return;
    const log = this.logOf(begun);
    log.begin(begun.text.length, typeof from === 'string' ? 'text' : 'ids', begun.settings);
    const text = by.generate(from, {
      ...sampling(settings.value),
      ...looks(),
      signal,
      onPromptProgress: (progress) => lender.onReading(progress),
    });
    for await (const token of text) {
      const so = this.written.value;
      if (so === null) break;
      // The view draws it with the next frame (text.tsx).
      batch(() => {
        lender.onToken(by);
        log.add(token);
        this.written.value = { ...so, text: so.text + token.text, tokens: so.tokens + 1 };
      });
    }
  }

  #ended(text: Written): void {
    const ended = { ...text, runs: this.logOf(text).kept() };
    this.texts.value = this.#withText(ended);
    this.written.value = ended;
    const stay = new Set(this.texts.value.texts.map(({ id }) => id));
    for (const id of this.#logs.keys()) if (!stay.has(id)) this.#logs.delete(id);
    this.#needs.kept.keep(this.texts.value);
  }

  /** `finish`: null if it failed, which the reader is told elsewhere. */
  #announce(finish: Finish | null): void {
    if (finish === null) return;
    const what = finish === 'aborted' ? 'stopped' : 'done';
    this.#needs.announce(what, this.written.value?.tokens ?? 0);
  }
}

function writerOf({ source }: Model, name: string): By {
  return { name, kind: source.kind, url: source.kind === 'address' ? source.url : null };
}

/** How a run ended; null: it failed, or there was no model. */
function finishOf(kind: 'done' | 'aborted' | 'none' | 'failed', by: Engine | null): Finish | null {
  if (kind === 'done') return by?.stats.finish ?? 'length';
  return kind === 'aborted' ? 'aborted' : null;
}
