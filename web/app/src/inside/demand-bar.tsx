// The buttons over what is computed on demand: begin, how far it is, and stop.
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
}

export function DemandBar({ of, label, progress, able, busy, wanted, begin }: Props) {
  const words = insideMapsTexts.value;
  const now = of.progress.value;
  if (now !== null) {
    return (
      <div class="demand">
        <progress
          aria-label={progress}
          {...(now.total > 0 ? { max: now.total, value: now.done } : {})}
        />
        <button type="button" class="secondary stop" onClick={() => of.stop()}>
          {words.stop}
        </button>
      </div>
    );
  }
  return (
    <div class="demand">
      {wanted && (
        <button type="button" class="secondary" disabled={!able} onClick={() => void begin()}>
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
