// An answer that is being written: what came of it, and when. This is the only place that paces it: the first token is shown at
// once, the others with the next frame, and those of a quick model several together.
import { batch, signal, type Signal } from '@preact/signals';
import { withMore, type PartKind, type Parts } from '../history/parts';
import type { Open } from '../history/open';
import type { Message } from '../history/tree';
import type { Clock } from '../ui/clock';

/** A part that may grow: the last one does. */
export interface LivePart {
  readonly part: PartKind;
  readonly text: Signal<string>;
}

/** The least milliseconds between two draws, each of which costs as much as all that is in view: every second frame of 60 Hz. */
const BETWEEN_MS = 24;

export class Answering {
  /** Another conversation may be shown meanwhile. */
  readonly in: Open;
  /** Of the message. */
  readonly id: string;
  /** What is shown of it. */
  readonly parts = signal<readonly LivePart[]>([]);
  /** Tokens that have come since it was asked for. */
  readonly tokens = signal(0);
  /** When it began, and when its reasoning ended, as performance.now(); null: not yet. */
  readonly since: number;
  thought: number | null = null;
  /** When its first token came. */
  first: number | null = null;
  /** Called when it has grown, in one batch with that. */
  onGrown: () => void = () => undefined;
  readonly #clock: Clock;
  /** What it begins with. */
  readonly #begun: Parts;
  /** What has come since the last frame. */
  #came: Parts = [];
  #cameTokens = 0;
  /** When what had come was shown last. */
  #shown = -Infinity;
  #undoFrame: (() => void) | null = null;

  /** `mine`: the message as it is when it begins: with text, if an answer goes on. */
  constructor(into: Open, mine: Message, clock: Clock) {
    this.in = into;
    this.id = mine.id;
    this.since = clock.now();
    this.#clock = clock;
    this.#begun = mine.parts;
    this.restart();
  }

  /** Begins anew: with the next engine, if the load of the one before has failed. */
  restart(): void {
    this.stop();
    this.first = this.thought = null;
    batch(() => {
      this.tokens.value = 0;
      this.parts.value = this.#begun.map(({ part, text }) => ({ part, text: signal(text) }));
    });
  }

  /** What the page itself begins it with. */
  give(text: string): void {
    this.#came = withMore(this.#came, 'text', text);
    this.take();
  }

  /** A token has come. One without text is none. */
  add(part: PartKind, text: string): void {
    if (text === '') return;
    this.#came = withMore(this.#came, part, text);
    this.#cameTokens += 1;
    const now = this.#clock.now();
    if (part === 'text' && !this.#begun.some((one) => one.part === 'text')) this.thought ??= now;
    if (this.first === null) {
      this.first = now;
      this.take();
    } else {
      this.#undoFrame ??= this.#clock.frame(this.#onFrame);
    }
  }

  readonly #onFrame = (): void => {
    if (this.#clock.now() - this.#shown < BETWEEN_MS)
      this.#undoFrame = this.#clock.frame(this.#onFrame);
    else this.take();
  };

  /** Shows what has come by now. */
  take(): void {
    const [came, tokens] = [this.#came, this.#cameTokens];
    this.stop();
    if (came.length === 0) return;
    this.#shown = this.#clock.now();
    batch(() => {
      this.tokens.value += tokens;
      for (const { part, text } of came) {
        const last = this.parts.peek().at(-1);
        if (last?.part === part) last.text.value += text;
        else this.parts.value = [...this.parts.peek(), { part, text: signal(text) }];
      }
      this.onGrown();
    });
  }

  /** Leaves out what has come and is not shown. */
  stop(): void {
    this.#undoFrame?.();
    this.#undoFrame = null;
    this.#came = [];
    this.#cameTokens = 0;
  }

  /** What is shown of it, for its message. */
  said(): Parts {
    return this.parts.peek().map(({ part, text }) => ({ part, text: text.peek() }));
  }
}
