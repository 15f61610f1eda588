// What the reader looks at: a token of a text, what it was chosen from, and what would have been chosen with other settings.
import { batch, computed, effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import type { Choice } from '@sluice/engine';
import type { Samplers } from '../settings/settings';
import type { Clock } from '../ui/clock';
import { chainOf, samplersOfRun, type Chain, type ChainToken } from './chain';
import { Computing } from './computing';
import { fileWith } from './file-subject';
import { isOf, type Keeping, type Known } from './keeping';
import type { Insight } from './library';
import { plainChoice } from './plain-choice';
import { Player } from './player';
import type { Related, Subject } from './subject';
import type { Trace } from './trace';

export interface XrayNeeds {
  readonly subject: ReadonlySignal<Subject | null>;
  /** The engine of the model in use; null: there is none that can be asked. */
  readonly engine: ReadonlySignal<Insight | null>;
  /** Whether a text or an answer is being written. */
  readonly busy: ReadonlySignal<boolean>;
  readonly clock: Clock;
  /** Keeps what is seen; undefined: nothing is kept. */
  readonly keeping?: Keeping;
}

/** The samplers that can be moved to see what would follow. */
export const MOVED = ['temperature', 'topK', 'topP', 'minP'] as const;
export type Moved = (typeof MOVED)[number];
export type WhatIf = Partial<Pick<Samplers, Moved>>;

/** What is known of the token that is looked at. */
export interface Shown {
  token: number;
  of: ChainToken;
  choice: Choice;
  /** The kept logits did not suffice: it was computed anew. */
  anew: boolean;
  /** With these samplers. */
  samplers: Samplers;
  /** They are others than those that it was written with. */
  moved: boolean;
}

/** Why there is nothing to see. */
export type Nothing = 'text' | 'model' | 'other' | 'tokens';

/** Texts of tokens that are asked for at once. */
const PIECES = 4096;
/** Milliseconds between two draws of a text that grows: nobody reads bars faster, and the model needs the processor. */
const PACE_MS = 80;
/** Candidates of a token that are told. */
const MOST = 40;

export class XrayController {
  readonly chain = signal<Chain | null>(null);
  /** The place of the token that is looked at. */
  readonly at = signal(0);
  /** How many tokens there are, as far as they are drawn. */
  readonly length = signal(0);
  /** Changes when more is known of the tokens; at most once a frame. */
  readonly drawn = signal(0);
  /** Whether the newest token is the one that is looked at. */
  readonly following = signal(true);
  readonly whatIf = signal<WhatIf>({});
  readonly shown = signal<Shown | null>(null);
  /** The text whose tokens are those that the model makes of it now: it may have been written with others. */
  readonly retold = signal<string | null>(null);
  /** Texts of tokens, by their ids. */
  readonly pieces = new Map<number, string>();
  readonly computing = new Computing();
  readonly player: Player;
  /** Why nothing can be seen; null: it can. */
  readonly nothing = computed<Nothing | null>(() => {
    const subject = this.#needs.subject.value;
    if (subject === null) return 'text';
    if (!subject.own) return 'other';
    if (this.#needs.engine.value === null && subject.file === undefined) return 'model';
    return this.length.value === 0 && !subject.growing ? 'tokens' : null;
  });
  readonly #needs: XrayNeeds;
  readonly #stopped = signal(false);
  #subject: string | null = null;
  #asking = false;
  #again = false;
  #anew: AbortController | null = null;
  #undoFrame: (() => void) | null = null;
  /** When the tokens were drawn last. */
  #drew = -Infinity;
  #piecesOf: Insight | null = null;
  /** The text of which was looked for what was kept. */
  #fetched: { id: string; known: Known | null } | null = null;
  /** What was kept last: the text, its tokens, and how many of them are known. */
  #keptLast = '';
  /** What is to be looked at when that text is there: the token of a character. */
  #next: { id: string; character: number } | null = null;

  constructor(needs: XrayNeeds) {
    this.#needs = needs;
    this.player = new Player(needs.clock, (by) => this.#play(by));
  }

  get subject(): ReadonlySignal<Subject | null> {
    return this.#needs.subject;
  }

  /** Looks from now on. Returns what ends that. */
  start(): () => void {
    const { subject, engine, busy } = this.#needs;
    const runs = computed(() => {
      const log = subject.value?.log;
      void log?.version.value;
      return log?.runs.length ?? 0;
    });
    const ends = [
      effect(() => {
        const of = subject.value;
        const by = engine.value;
        void runs.value;
        untracked(() => void this.#follow(of, by));
      }),
      effect(() => {
        void subject.value?.log.version.value;
        untracked(() => this.#drawSoon());
      }),
      effect(() => {
        void this.chain.value;
        void this.at.value;
        void this.whatIf.value;
        void this.drawn.value;
        untracked(() => void this.#look());
      }),
      // A text that is written has the processor for itself.
      effect(() => {
        const chain = this.chain.value;
        const by = engine.value;
        const held = busy.value || this.#stopped.value;
        untracked(() => {
          if (held || chain === null || by === null) this.computing.stop();
          else if (this.computing.progress.peek() === null && chain.missing() !== null)
            void this.computing.run(by, chain);
        });
      }),
    ];
    ends.push(
      effect(() => {
        const growing = subject.value?.growing !== false;
        const computes = this.computing.progress.value !== null;
        if (growing || computes || busy.value || this.chain.value === null) return;
        void this.drawn.value;
        untracked(() => void this.#keep());
      }),
    );
    return () => {
      for (const end of ends) end();
      // What was computed of a text that is not done is kept as well.
      if (!busy.peek() && subject.peek()?.growing === false) void this.#keep();
      this.#undoFrame?.();
      this.#undoFrame = null;
      this.computing.stop();
      this.player.pause();
      this.#anew?.abort();
    };
  }

  /** Stops what is being computed afterwards; `compute` goes on with it. */
  stop(): void {
    this.#stopped.value = true;
  }

  compute(): void {
    const [chain, by] = [this.chain.peek(), this.#needs.engine.peek()];
    this.computing.failed.value = false;
    if (this.#stopped.peek()) this.#stopped.value = false;
    else if (chain !== null && by !== null && !this.#needs.busy.peek())
      void this.computing.run(by, chain);
  }

  /** Looks at another token. */
  to(token: number): void {
    batch(() => {
      this.player.pause();
      this.#to(token);
    });
  }

  step(by: number): void {
    this.to(this.at.peek() + by);
  }

  /** Looks at the newest token, and at those that follow. */
  toTheEnd(): void {
    this.to(this.length.peek() - 1);
  }

  #to(token: number): void {
    const last = Math.max(0, this.length.peek() - 1);
    this.at.value = Math.min(last, Math.max(0, token));
    this.following.value = this.at.value === last && this.#needs.subject.peek()?.growing === true;
  }

  playOrPause(): void {
    if (this.player.playing.peek()) {
      this.player.pause();
      return;
    }
    if (this.at.peek() >= this.length.peek() - 1) this.#to(0);
    this.following.value = false;
    this.player.play();
  }

  /** The player goes on by so many tokens. False: that was the last one. */
  #play(by: number): boolean {
    this.#to(this.at.peek() + by);
    this.following.value = false;
    return this.at.peek() < this.length.peek() - 1;
  }

  /** Moves a sampler; one that is as it was is not moved. */
  move(name: Moved, value: number): void {
    const usual = this.usual();
    const { [name]: _, ...others } = this.whatIf.peek();
    this.whatIf.value = value === usual?.[name] ? others : { ...others, [name]: value };
  }

  moveBack(): void {
    this.whatIf.value = {};
  }

  /** The samplers with which the token that is looked at was written. */
  usual(): Samplers | null {
    const token = this.chain.value?.at(this.at.value) ?? null;
    return token === null ? null : samplersOfRun(token.run);
  }

  /** The token that is looked at. */
  token(): ChainToken | null {
    void this.drawn.value;
    return this.chain.value?.at(this.at.value) ?? null;
  }

  /** Writes on with another candidate, as another text. False: not now. */
  async branch(id: number): Promise<boolean> {
    const { subject, engine } = this.#needs;
    const [of, by, chain, at] = [subject.peek(), engine.peek(), this.chain.peek(), this.at.peek()];
    const raw = chain?.at(at)?.raw ?? null;
    if (of === null || by === null || chain === null) return false;
    const before = chain.ids(at);
    const [without, whole] = await Promise.all([
      by.detokenize(before),
      by.detokenize([...before, id]),
    ]);
    // Of a character that is not whole yet nothing was shown.
    const text = whole.slice(without.replace(/\uFFFD+$/, '').length);
    const place = raw?.ids.indexOf(id) ?? -1;
    const logprob = raw === null || place < 0 ? NaN : (raw.logits[place] ?? NaN) - raw.logSum;
    if (this.chain.peek() !== chain) return false;
    return of.branch(chain.first, at, { id, text, logprob }, chain.prompt);
  }

  /** The token with which the model ends a text. */
  eos(): number | null {
    return this.#needs.engine.value?.info.tokenizer.eos ?? null;
  }

  /** Shows a text that branches off, or the one that this one comes from, at the token where they part. */
  show({ id, at }: Related): void {
    this.#next = { id, character: at };
    this.#needs.subject.peek()?.show(id);
  }

  /** The text with all that is known of its tokens; null: nothing is. */
  trace(): Trace | null {
    const [of, by, chain] = [
      this.#needs.subject.peek(),
      this.#needs.engine.peek(),
      this.chain.peek(),
    ];
    const first = chain?.runs[0];
    if (of?.file !== undefined) return fileWith(of.file, chain?.runs ?? []);
    if (of === null || by === null || chain === null || first === undefined) return null;
    const { name, architecture, vocab, layers } = by.info;
    const text = of.text();
    const tokens = [];
    for (const run of chain.runs) {
      let begun = run.begun;
      for (const [i, id] of run.ids.entries()) {
        const end = begun + (run.lengths[i] ?? 0);
        const logprob = run.logprobs[i] ?? NaN;
        tokens.push({ id, text: text.slice(begun, end), logprob, raw: run.raws[i] ?? null });
        begun = end;
      }
    }
    return {
      model: { name: name ?? '', architecture, vocab: vocab ?? 0, layers },
      promptText: of.before(first.begun),
      promptIds: [...chain.prompt],
      tokens,
      options: { ...samplersOfRun(chain.runs.at(-1) ?? first) },
      seed: chain.runs.at(-1)?.seed ?? null,
      pieces: new Map(this.pieces),
    };
  }

  /** The same with the texts of all candidates, for a file. */
  async whole(): Promise<Trace | null> {
    const [trace, by] = [this.trace(), this.#needs.engine.peek()];
    if (trace === null || by === null) return trace;
    const ids = new Set(trace.promptIds);
    for (const { id, raw } of trace.tokens)
      for (const one of [id, ...(raw?.ids ?? [])]) ids.add(one);
    const missing = [...ids].filter((id) => !trace.pieces.has(id));
    for (let from = 0; from < missing.length; from += PIECES) {
      const some = missing.slice(from, from + PIECES);
      const texts = await by.pieces(some);
      for (const [i, id] of some.entries()) trace.pieces.set(id, texts[i] ?? '');
    }
    return trace;
  }

  /** Takes the tokens of a text, of which there may be more runs than before. */
  async #follow(of: Subject | null, by: Insight | null): Promise<void> {
    if (of?.id !== this.#subject) {
      this.#subject = of?.id ?? null;
      batch(() => {
        this.player.pause();
        this.computing.stop();
        this.chain.value = null;
        this.shown.value = null;
        this.length.value = 0;
        this.at.value = 0;
        this.following.value = of?.growing === true;
        this.#stopped.value = false;
        this.whatIf.value = {};
      });
    } else if (of?.growing === true && this.at.peek() >= this.length.peek() - 1) {
      this.following.value = true;
    }
    if (by !== this.#piecesOf) {
      this.pieces.clear();
      this.#piecesOf = by;
    }
    const empty = of?.log.runs.length === 0;
    const asked = by !== null || of?.file !== undefined;
    if (of === null || !asked || !of.own || (empty && (of.growing || !of.retell))) {
      this.chain.value = null;
      this.#draw();
      return;
    }
    try {
      const known = await this.#fetch(of);
      // Its runs are followed when they are there.
      if (empty && of.retell !== undefined && by !== null) {
        if (known !== null && isOf(known, of)) of.log.take(known.runs);
        else if (await of.retell(by)) this.retold.value = of.id;
        else this.#draw();
        return;
      }
      const chain = await chainOf(by, of);
      if (known !== null) chain?.take(known.trace);
      for (const [id, piece] of of.file?.pieces ?? []) this.pieces.set(id, piece);
      const { subject, engine } = this.#needs;
      if (subject.peek()?.id !== of.id || engine.peek() !== by) return;
      batch(() => {
        this.chain.value = chain;
        this.#draw();
        if (this.#next?.id === of.id && chain !== null)
          this.#to(chain.tokenAt(this.#next.character));
        this.#next = null;
      });
    } catch (error) {
      // The engine has ended: the next one brings another chain.
      console.error(error);
    }
  }

  /** What was kept of a text; null: nothing was, or it is known by now. */
  async #fetch({ id, keptAs, growing }: Subject): Promise<Known | null> {
    const { keeping } = this.#needs;
    if (keeping === undefined || keptAs === undefined || growing || this.#fetched?.id === id)
      return this.#fetched?.id === id ? this.#fetched.known : null;
    const known = await keeping.fetch(keptAs);
    this.#fetched = { id, known };
    return known;
  }

  /** Keeps what is known of the text, if that is more than what is kept. */
  async #keep(): Promise<void> {
    const { keeping, subject, engine } = this.#needs;
    const [of, chain] = [subject.peek(), this.chain.peek()];
    const owner = of?.keptAs;
    if (keeping === undefined || of === null || owner === undefined || chain === null) return;
    const seen = chain.runs.flatMap(({ raws }) => raws).filter((raw) => raw !== null).length;
    const mark = `${of.id} ${chain.length} ${seen}`;
    if (seen === 0 || mark === this.#keptLast || engine.peek() === null) return;
    const before = this.#keptLast;
    this.#keptLast = mark;
    const trace = this.trace();
    if (trace === null) return;
    const runs = of.log.kept().slice(chain.first);
    if (!(await keeping.keep(owner, { trace, runs })) && this.#keptLast === mark)
      this.#keptLast = before;
  }

  /** With the next frame, but while a text grows not more often than can be seen. */
  #drawSoon(): void {
    const { clock, subject } = this.#needs;
    const due = this.#drew + (subject.peek()?.growing === true ? PACE_MS : 0);
    this.#undoFrame ??=
      due <= clock.now()
        ? clock.frame(() => this.#draw())
        : clock.after(due - clock.now(), () => this.#draw());
  }

  #draw(): void {
    this.#undoFrame?.();
    this.#undoFrame = null;
    this.#drew = this.#needs.clock.now();
    batch(() => {
      const length = this.chain.peek()?.length ?? 0;
      this.length.value = length;
      if (this.following.peek()) this.at.value = Math.max(0, length - 1);
      this.at.value = Math.min(this.at.peek(), Math.max(0, length - 1));
      this.drawn.value += 1;
    });
  }

  /** Asks for what is looked at now, after what is being asked. */
  async #look(): Promise<void> {
    this.#anew?.abort();
    this.#again = true;
    if (this.#asking) return;
    this.#asking = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#ask();
      }
    } finally {
      this.#asking = false;
    }
  }

  async #ask(): Promise<void> {
    const [by, chain] = [this.#needs.engine.peek(), this.chain.peek()];
    const token = this.at.peek();
    const found = chain?.at(token) ?? null;
    if (chain === null || found === null || found.raw === null) {
      this.shown.value = null;
      return;
    }
    const { raw, run, place } = found;
    if (by === null) {
      const choice = plainChoice(raw, found.id, MOST);
      const samplers = samplersOfRun(run);
      this.shown.value = { token, of: found, choice, anew: false, samplers, moved: false };
      return;
    }
    const moved = this.whatIf.peek();
    const samplers = { ...samplersOfRun(run), ...moved };
    const options = {
      ...run.options,
      ...samplers,
      promptTokens: chain.prompt.length,
      most: MOST,
      ...(run.seed === null ? {} : { seed: run.seed, draws: raw.draws ?? place }),
    };
    try {
      const before = chain.ids(token);
      let choice = await by.choice(raw, before, options);
      const anew = !choice.enough;
      if (anew) {
        if (this.#again) return;
        const abort = (this.#anew = new AbortController());
        choice = await by.choiceAt(before, { ...options, signal: abort.signal });
      }
      const unknown = [found.id, ...choice.candidates.map(({ id }) => id)].filter(
        (id) => !this.pieces.has(id),
      );
      if (unknown.length > 0) {
        const texts = await by.pieces(unknown);
        for (const [i, id] of unknown.entries()) this.pieces.set(id, texts[i] ?? '');
      }
      if (this.chain.peek() !== chain) return;
      const isMoved = Object.keys(moved).length > 0;
      this.shown.value = { token, of: found, choice, anew, samplers, moved: isMoved };
    } catch (error) {
      // It was asked for something else meanwhile, or the engine has ended.
      if (!this.#again && this.#needs.engine.peek() === by) console.error(error);
    } finally {
      this.#anew = null;
    }
  }
}
