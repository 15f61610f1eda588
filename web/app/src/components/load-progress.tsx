import { bytes, milliseconds, seconds } from '../format';
import { cancelLoading, loading, sourceName, type Place } from '../state';

/** The progress of the current load, shown only where the load was started. */
export function LoadProgress({ place }: { place: Place }) {
  const current = loading.value;
  if (current === null || current.place !== place) return null;
  const { source, progress, back } = current;
  const { loaded = 0, total = 0, bytesPerSecond = 0 } = progress ?? {};
  const known = total > 0;
  const left = bytesPerSecond > 0 ? Math.max(0, total - loaded) / bytesPerSecond : 0;
  const facts = [
    known ? `${bytes(loaded)} of ${bytes(total)}` : 'Reading the header',
    bytesPerSecond > 0 ? `${bytes(bytesPerSecond)}/s` : '',
    known && bytesPerSecond > 0 && loaded < total
      ? left < 1
        ? `${milliseconds(left * 1000)} left`
        : `${seconds(left)} left`
      : '',
  ].filter(Boolean);
  return (
    <div class="loading">
      <div class="loading-text">
        <label for="load-progress" class="loading-name">
          {back ? 'Loading again: ' : 'Loading '}
          {sourceName(source)}
        </label>
        <span class="loading-facts">{facts.join(' · ')}</span>
      </div>
      {known ? (
        <progress id="load-progress" max={total} value={loaded}>
          {facts.join(', ')}
        </progress>
      ) : (
        <progress id="load-progress">{facts.join(', ')}</progress>
      )}
      {!back && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            cancelLoading();
            // This button goes away: move the focus.
            document.querySelector<HTMLElement>('.primary')?.focus({ preventScroll: true });
          }}
        >
          Cancel
        </button>
      )}
    </div>
  );
}
