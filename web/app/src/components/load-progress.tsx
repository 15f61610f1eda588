import type { LoadProgress as Progress, CachedModel } from '@sluice/engine';
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { bytes, seconds } from '../format';
import { amountOf, interrupted } from '../kept';
import { sourceName } from '../source';
import {
  cancelLoading,
  loading,
  open,
  pausable,
  pauseLoading,
  paused,
  type Paused,
  type Place,
} from '../state';

/** The current load, or the one that is paused; shown only where it was started. */
export function LoadProgress({ place }: { place: Place }) {
  const current = loading.value;
  if (current !== null) return current.place === place ? <Current {...current} /> : null;
  return paused.value?.place === place ? <Rest {...paused.value} /> : null;
}

/** A button goes away with what it ends: this moves the focus. */
function leave(): void {
  document.querySelector<HTMLElement>('.primary')?.focus({ preventScroll: true });
}

/** The button that was pressed with the focus on it, and is about to go away. */
let pressed: Element | null = null;

function press(button: Element): void {
  pressed = document.activeElement === button ? button : null;
}

/** The button that comes in place of the pressed one takes the focus, unless the reader moved it. */
function useTakeOver(button: RefObject<HTMLButtonElement | null>): void {
  useLayoutEffect(() => {
    const lost = pressed !== null && document.activeElement === document.body;
    pressed = null;
    if (lost) button.current?.focus({ preventScroll: true });
  }, []);
}

function Current({ source, progress, back }: NonNullable<typeof loading.value>) {
  const pause = useRef<HTMLButtonElement>(null);
  useTakeOver(pause);
  const { loaded = 0, total = 0 } = progress ?? {};
  const facts = factsOf(progress);
  return (
    <div class="loading">
      <div class="loading-text">
        <label for="load-progress" class="loading-name">
          {back ? 'Loading again: ' : 'Loading '}
          {sourceName(source)}
        </label>
        <span class="loading-facts">{facts.join(' · ')}</span>
      </div>
      {total > 0 ? (
        <progress id="load-progress" max={total} value={loaded}>
          {facts.join(', ')}
        </progress>
      ) : (
        <progress id="load-progress">{facts.join(', ')}</progress>
      )}
      {!back && (
        <div class="loading-buttons">
          {pausable.value && (
            <button
              type="button"
              class="quiet"
              ref={pause}
              onClick={(event) => {
                press(event.currentTarget);
                pauseLoading();
              }}
            >
              Pause
            </button>
          )}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              cancelLoading();
              leave();
            }}
          >
            Cancel
          </button>
        </div>
      )}
    </div>
  );
}

/** How much has come, how fast and from where, how long it takes or what it waits for. */
function factsOf(progress: Progress | null): string[] {
  const { loaded = 0, total = 0, bytesPerSecond = 0, cachedBytes = 0 } = progress ?? {};
  const { phase, source, waiting } = progress ?? {};
  if (total === 0) return [waiting || 'Reading the header'];
  const amount = `${bytes(loaded)} of ${bytes(total)}`;
  if (waiting) return [amount, waiting];
  if (phase === 'verify') return [amount, 'checking that it is the right file'];
  const left = Math.max(0, total - loaded) / bytesPerSecond;
  const facts = [amount];
  if (bytesPerSecond > 0) {
    facts.push(`${bytes(bytesPerSecond)}/s`);
    if (loaded < total) facts.push(`${seconds(Math.max(1, left))} left`);
  }
  if (source === 'cache') facts.push('from this device');
  else if (cachedBytes > 0) facts.push(`${bytes(cachedBytes)} were here`);
  return facts;
}

/** A load that was paused: what is kept of it, and how to go on. */
function Rest({ source, place, since }: Paused) {
  const goOn = useRef<HTMLButtonElement>(null);
  useTakeOver(goOn);
  const part = useSignal<CachedModel | null | undefined>(undefined);
  useEffect(() => {
    void interrupted(since).then((found) => {
      part.value = found;
    });
  }, [since]);
  return (
    <div class="loading">
      <div class="loading-text">
        <p class="loading-name">Paused: {sourceName(source)}</p>
        <p class="loading-facts">{restOf(part.value)}</p>
      </div>
      <div class="loading-buttons">
        <button
          type="button"
          class="quiet"
          ref={goOn}
          onClick={(event) => {
            press(event.currentTarget);
            void open(source, place);
          }}
        >
          Go on
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            paused.value = null;
            leave();
          }}
        >
          Close
        </button>
      </div>
    </div>
  );
}

/** `part`: what is kept; null: nothing; undefined: not known yet. */
function restOf(part: CachedModel | null | undefined): string {
  if (part === undefined) return '';
  if (part === null) return 'Nothing of it could be kept: it will begin anew.';
  return `${amountOf(part)} are on this device. You can close this tab, and go on another day.`;
}
