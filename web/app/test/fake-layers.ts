// An engine for the tests of what the layers hold: what it says follows from the tokens.
import { signal } from '@preact/signals';
import type { Attention, Lens } from '@sluice/engine';
import { LayersController, type LayerCalls, type Reader } from '../src/inside/layers-controller';

/** What was asked, and what is held. */
export class FakeLayers implements LayerCalls {
  readonly asked: { call: string; ids: number[]; positions: readonly number[] }[] = [];
  readonly layers: number[];
  /** Those that attend, and how many heads they have. */
  readonly attend: number[];
  readonly heads: number;
  /** Set: calls wait until it is called. */
  go: (() => void) | null = null;
  /** Whether calls wait. */
  holds = false;
  fails = false;

  constructor(layers = 3, attend = [0, 1, 2], heads = 2) {
    this.layers = Array.from({ length: layers }, (_, i) => i);
    this.attend = attend;
    this.heads = heads;
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.holds) {
      await new Promise<void>((resolve, reject) => {
        this.go = resolve;
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    }
    signal?.throwIfAborted();
    if (this.fails) throw new Error('failed');
  }

  async lens(...[ids, options = {}]: Parameters<LayerCalls['lens']>): Promise<Lens> {
    const positions = [...(options.positions ?? [])];
    this.asked.push({ call: 'lens', ids: [...ids], positions });
    options.onProgress?.({ done: 1, total: 4 });
    await this.#wait(options.signal);
    // The last layer is sure of what follows, which is the next number.
    const cells = this.layers.map((layer) =>
      positions.map((position) => {
        const id = (ids[position] ?? 0) + (layer === this.layers.length - 1 ? 1 : 100 * layer + 50);
        const p = (layer + 1) / this.layers.length;
        const top: [number, number][] = [
          [id, Math.log(0.9 * p)],
          [id + 1, Math.log(0.05 * p)],
          [id + 2, Math.log(0.01 * p)],
        ];
        return { top, entropy: 1 - p, divergence: Math.LN2 * (1 - p) };
      }),
    );
    return { layers: this.layers, positions, cells };
  }

  async attention(...[ids, options = {}]: Parameters<LayerCalls['attention']>): Promise<Attention> {
    this.asked.push({ call: 'attention', ids: [...ids], positions: [ids.length - 1] });
    await this.#wait(options.signal);
    const width = ids.length;
    // Head h of layer n takes 3/4 from one token and the rest from the last.
    const weights = this.attend.map((layer) => {
      const all = new Float32Array(this.heads * width);
      for (let h = 0; h < this.heads; ++h) {
        const at = (layer + h) % width;
        all[h * width + at] = 0.75;
        all[h * width + width - 1] = (all[h * width + width - 1] ?? 0) + 0.25;
      }
      return all;
    });
    return {
      position: width - 1,
      layers: this.attend,
      heads: this.attend.map(() => this.heads),
      weights,
    };
  }

  async pieces(ids: readonly number[]): Promise<string[]> {
    return ids.map((id) => ` w${id}`);
  }
}

/** A text of so many tokens, 0, 1, 2 and so on, of which the first `prompt` are the prompt. */
export class FakeText implements Reader {
  readonly prompt: number[];

  constructor(prompt = 3) {
    this.prompt = Array.from({ length: prompt }, (_, i) => i);
  }

  ids(tokens: number): number[] {
    return Array.from({ length: this.prompt.length + tokens }, (_, i) => i);
  }
}

/** A controller and what it looks at. */
export function looking(fake: FakeLayers, length: number, prompt = 3) {
  const needs = {
    engine: signal<LayerCalls | null>(fake),
    busy: signal(false),
    chain: signal<Reader | null>(new FakeText(prompt)),
    length: signal(length),
    at: signal(0),
    to: (token: number): void => {
      needs.at.value = token;
    },
  };
  const of = new LayersController(needs);
  return { needs, of, end: of.start() };
}
