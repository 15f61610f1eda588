import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { digits, readingFacts, tokens } from '../texts/format';
import { stats } from '../model/state';
import { reading, run, stop } from '../model/run';
import { following, toTheEnd } from './follow';
import { writing } from './state';
import { writingTexts } from './texts';

/** The progress of a text, Stop, and "To the end", shown while Write's place or the end of the text is out of view. */
export function Bar() {
  const composerSeen = useSignal(true);
  useEffect(() => {
    const actions = document.querySelector('.composer .actions');
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
  return writing.writingNow.value && (!composerSeen.value || !following.value) ? (
    <ShownBar />
  ) : null;
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
  const words = writingTexts.value;
  return (
    <section class="bar" aria-label={words.bar} ref={bar}>
      <p class="bar-state">{state()}</p>
      {!following.value && (
        <button type="button" class="secondary" onClick={toTheEnd}>
          {words.toTheEnd}
        </button>
      )}
      <button type="button" class="stop" disabled={run.value === 'stopping'} onClick={stop}>
        {words.stop}
      </button>
    </section>
  );
}

/** What came so far, and how fast. */
export function progressInWords(): string {
  const amount = tokens(writing.written.value?.tokens ?? 0);
  const rate = stats.value?.tokensPerSecond ?? 0;
  return rate > 0 ? writingTexts.value.tokensAt(amount, digits(rate)) : amount;
}

function state(): ComponentChildren {
  const words = writingTexts.value;
  switch (run.value) {
    case 'waiting':
      return words.waiting;
    case 'reading':
      return reading.value === null ? words.reading : <Prompt />;
    default:
      return progressInWords();
  }
}

/** How far a long prompt is; where it is narrow, only its tokens. */
function Prompt() {
  const [counted = '', ...more] = reading.value === null ? [] : readingFacts(reading.value);
  return (
    <>
      {writingTexts.value.promptSoFar(counted)}
      <span class="bar-more">{more.map((fact) => ` · ${fact}`)}</span>
    </>
  );
}
