import { signal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../texts';

/** A part of the page whose script comes when it is first wanted, or when the page is at rest. */
export interface Part<T> {
  /** Null until it is there. */
  readonly here: ReadonlySignal<T | null>;
  /** Whether the last try to fetch it failed. */
  readonly failed: ReadonlySignal<boolean>;
  /** Fetches it, if it isn't here. Resolves with it; null if it can't be fetched. */
  fetch: () => Promise<T | null>;
}

/** `load` is an import(); `started` is called once, when it is there. */
export function part<T>(load: () => Promise<T>, started: (it: T) => void = () => {}): Part<T> {
  const here = signal<T | null>(null);
  const failed = signal(false);
  let coming: Promise<T | null> | null = null;
  const come = async (): Promise<T | null> => {
    failed.value = false;
    try {
      const it = await load();
      started(it);
      here.value = it;
      return it;
    } catch (error) {
      // The network is gone, or the server has a newer version of the page only.
      console.error(error);
      failed.value = true;
      coming = null;
      return null;
    }
  };
  return { here, failed, fetch: () => (coming ??= come()) };
}

/** Draws a part when it is there, and `before` until then; where it can't be fetched, says so. */
export function Later<T>({
  part: { here, failed, fetch },
  before = null,
  children,
}: {
  part: Part<T>;
  before?: ComponentChildren;
  children: (it: T) => ComponentChildren;
}) {
  useEffect(() => void fetch(), [fetch]);
  if (here.value !== null) return <>{children(here.value)}</>;
  if (!failed.value) return <>{before}</>;
  const { page } = t.value;
  return (
    <div class="note" role="alert">
      <p>{page.partMissing}</p>
      <button type="button" class="secondary" onClick={() => void fetch()}>
        {page.fetchPart}
      </button>
    </div>
  );
}
