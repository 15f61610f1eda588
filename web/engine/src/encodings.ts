// In the engine worker: tokenizes texts for tokenize() and countTokens(), one after the other, in slices.
import type { EncodingHandle, EngineHandle, SluiceModule } from '../../../wasm/module.js';
import { parseAnswer } from './answers.js';
import type { ToEngine } from './protocol.js';

interface Text {
  id: number;
  /** Only the number of tokens is wanted, as of a prompt. */
  count: boolean;
  encoding: EncodingHandle;
  ids: number[];
}

export class Encodings {
  readonly #texts: Text[] = [];

  constructor(
    readonly module: SluiceModule,
    readonly engine: EngineHandle,
    readonly result: (id: number, value: number | number[]) => void,
  ) {}

  get any(): boolean {
    return this.#texts.length > 0;
  }

  /** Does the first slice at once if no other text waits: enough for a short text. */
  add({ id, text, special, count }: ToEngine & { type: 'tokenize' }): void {
    const encoding = new this.module.Encoding(this.engine, text, special);
    this.#texts.push({ id, count, encoding, ids: [] });
    if (this.#texts.length === 1) this.step();
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
    const { id, count, ids } = first;
    this.result(id, count ? ids.length + this.#added(ids) : ids);
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

  cancel(id: number): void {
    const at = this.#texts.findIndex((one) => one.id === id);
    for (const { encoding } of at < 0 ? [] : this.#texts.splice(at, 1)) encoding.delete();
  }
}
