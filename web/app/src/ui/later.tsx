// Scripts that come later than the page: a room declares what of it is such a script (parts.ts), and draws what needs it.
import { signal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../texts';

/** A script that comes later, and what it has. */
export class Later<All> {
  readonly #all = signal<All | null>(null);
  readonly #failed = signal(false);
  readonly #bring: () => Promise<All>;
  readonly #arrived: (all: All) => void;
  #coming: Promise<All | null> | null = null;

  /** `bring`: imports it; `arrived`: is called once, before anybody sees that it is there. */
  constructor(bring: () => Promise<All>, arrived: (all: All) => void = () => undefined) {
    this.#bring = bring;
    this.#arrived = arrived;
  }

  /** What it has; null until it is there. */
  get all(): ReadonlySignal<All | null> {
    return this.#all;
  }

  /** The last attempt to fetch it failed, and there is none now. */
  get failed(): ReadonlySignal<boolean> {
    return this.#failed;
  }

  /** Fetches it, if it isn't there. Resolves with null if that failed: the next call tries again. */
  readonly fetch = (): Promise<All | null> => (this.#coming ??= this.#attempt());

  async #attempt(): Promise<All | null> {
    this.#failed.value = false;
    try {
      const came = await this.#bring();
      this.#arrived(came);
      this.#all.value = came;
      return came;
    } catch (error) {
      // The network is gone, or the server has only a newer version of the page.
      console.error(error);
      this.#failed.value = true;
      this.#coming = null;
      return null;
    }
  }
}

interface WithProps<All> {
  of: Later<All>;
  /** Drawn until the script is there. */
  before?: ComponentChildren;
  children: (all: All) => ComponentChildren;
}

/** Draws what needs a script, and fetches that; where it can't be fetched, says so. */
export function With<All>({ of, before = null, children }: WithProps<All>) {
  useEffect(() => void of.fetch(), []);
  if (of.all.value !== null) return <>{children(of.all.value)}</>;
  if (!of.failed.value) return <>{before}</>;
  const { page } = t.value;
  return (
    <div class="note" role="alert">
      <p>{page.partMissing}</p>
      <button type="button" class="secondary" onClick={() => void of.fetch()}>
        {page.fetchPart}
      </button>
    </div>
  );
}
