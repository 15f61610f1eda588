// The buttons over what is computed on demand: begin, how far it is, and stop.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { insideMapsTexts } from './maps-texts';
import type { OnDemand } from './on-demand';

interface Props {
  of: OnDemand<unknown>;
  /** On the button. */
  label: string;
  /** What the progress is of, for screen readers. */
  progress: string;
  /** Whether it can be computed now, and whether it can't because the model writes. */
  able: boolean;
  busy: boolean;
  /** Whether there is something to compute that is not there. */
  wanted: boolean;
  begin: () => Promise<void>;
  /** A selector: what of the section has the focus when it is computed. Without it, the heading has. */
  result: string;
}

export function DemandBar({ of, label, progress, able, busy, wanted, begin, result }: Props) {
  const words = insideMapsTexts.value;
  const now = of.progress.value;
  const bar = useRef<HTMLDivElement>(null);
  const had = bar.current?.contains(document.activeElement) === true;
  // The button that had the focus is gone: it goes on to the next one, or to what was computed.
  useLayoutEffect(() => {
    if (!had || bar.current?.contains(document.activeElement) === true) return;
    const section = bar.current?.closest('section');
    const next =
      bar.current?.querySelector<HTMLElement>('button:not(:disabled)') ??
      section?.querySelector<HTMLElement>(result) ??
      section?.querySelector<HTMLElement>('h3');
    next?.focus();
  }, [now !== null]);
  if (now !== null) {
    return (
      <div class="demand" ref={bar}>
        <progress
          aria-label={progress}
          {...(now.total > 0 ? { max: now.total, value: now.done } : {})}
        />
        <button key="stop" type="button" class="secondary stop" onClick={() => of.stop()}>
          {words.stop}
        </button>
      </div>
    );
  }
  return (
    <div class="demand" ref={bar}>
      {wanted && (
        <button
          key="begin"
          type="button"
          class="secondary"
          disabled={!able}
          onClick={() => void begin()}
        >
          {label}
        </button>
      )}
      {wanted && busy && <p class="hint">{words.notNow}</p>}
      {of.failed.value && (
        <p class="hint wrong" role="alert">
          {words.failed}
        </p>
      )}
    </div>
  );
}
