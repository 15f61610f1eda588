import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { digits, tokens } from '../format';
import { following, toTheEnd } from '../follow';
import { busy, run, stats, stop, written } from '../state';

/** The progress of a text, Stop, and "To the end", shown while Write's place or the end of the text is out of view. */
export function Bar() {
  const composerSeen = useSignal(true);
  useEffect(() => {
    const actions = document.querySelector('.actions');
    if (actions === null) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        composerSeen.value = entry?.isIntersecting ?? true;
      },
      { threshold: 0.9 },
    );
    observer.observe(actions);
    return () => observer.disconnect();
  }, []);
  return busy.value && (!composerSeen.value || !following.value) ? <ShownBar /> : null;
}

function ShownBar() {
  const bar = useRef<HTMLElement>(null);
  useLayoutEffect(
    () => () => {
      // The bar's buttons go away: move the focus to the text.
      if (bar.current?.contains(document.activeElement) === true) {
        document.getElementById('text-heading')?.focus({ preventScroll: true });
      }
    },
    [],
  );
  return (
    <section class="bar" aria-label="Writing" ref={bar}>
      <p class="bar-state">{state()}</p>
      {!following.value && (
        <button type="button" class="secondary" onClick={toTheEnd}>
          To the end
        </button>
      )}
      <button type="button" class="stop" disabled={run.value === 'stopping'} onClick={stop}>
        Stop
      </button>
    </section>
  );
}

function state(): string {
  const count = written.value?.tokens ?? 0;
  const rate = stats.value?.tokensPerSecond ?? 0;
  if (run.value === 'waiting') return 'Waiting for the model';
  if (count === 0) return 'Reading the prompt';
  return rate > 0 ? `${tokens(count)} · ${digits(rate)} tokens/s` : tokens(count);
}
