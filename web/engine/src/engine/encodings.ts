// In the engine worker: tokenizes texts for tokenize() and countTokens(), one after the other, in slices.
import type { EncodingHandle, EngineHandle, SluiceModule } from '../../../../wasm/module.js';
import { parseAnswer } from './module-answers.js';
import type { EngineCalls } from '../shared/calls.js';
import type { Reply } from '../shared/replies.js';

interface Text {
  /** Gets the ids. */
  done(ids: number[]): void;
  encoding: EncodingHandle;
  ids: number[];
}

export class Encodings {
  readonly #texts: Text[] = [];

  constructor(
    readonly module: SluiceModule,
    readonly engine: EngineHandle,
    /** There is work. */
    readonly wake: () => void,
  ) {}

  get any(): boolean {
    return this.#texts.length > 0;
  }

  tokenize({ text, special }: EngineCalls['tokenize']['args'], reply: Reply<number[]>): void {
    this.#add(text, special, reply, (ids) => reply.end(ids));
  }

  count({ text, special }: EngineCalls['countText']['args'], reply: Reply<number>): void {
    this.#add(text, special, reply, (ids) => reply.end(ids.length + this.#added(ids)));
  }

  /** Does the first slice at once if no other text waits: enough for a short text. */
  #add(
    text: string,
    special: boolean,
    reply: Pick<Reply<never>, 'oncancel'>,
    done: (ids: number[]) => void,
  ): void {
    const encoding = new this.module.Encoding(this.engine, text, special);
    const one: Text = { done, encoding, ids: [] };
    reply.oncancel = () => this.#cancel(one);
    this.#texts.push(one);
    if (this.#texts.length === 1) this.step();
    if (this.any) this.wake();
  }

  /** Does a slice of the first text. */
  step(): void {
    const [first] = this.#texts;
    if (first === undefined) return;
    const more = first.encoding.step();
    for (const tokenId of first.encoding.take()) first.ids.push(tokenId);
    if (more) return;
    this.#texts.shift();
    first.encoding.delete();
    first.done(first.ids);
  }

  /** How many tokens the model puts before a prompt of these: the beginning-of-text token, unless they begin with it. */
  #added(ids: readonly number[]): number {
    const empty = new this.module.Prompt(this.engine);
    try {
      const { tokens } = parseAnswer<{ tokens: number }>(empty.openText(''));
      const has = tokens > 0 && empty.sharedWritten(ids.slice(0, 1)) > 0;
      return has ? 0 : tokens;
    } finally {
      empty.delete();
    }
  }

  #cancel(text: Text): void {
    const at = this.#texts.indexOf(text);
    for (const { encoding } of at < 0 ? [] : this.#texts.splice(at, 1)) encoding.delete();
  }
}
