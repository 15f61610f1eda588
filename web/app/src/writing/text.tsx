import { effect, untracked, useComputed, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { run } from '../model/run';
import { dry, wet } from '../ui/wet';
import { Blank } from './blank';
import { Ending } from './ending';
import { follow, keepUp, toTheEnd } from './follow';
import { Pager } from './pager';
import { writing } from './state';
import { writingTexts } from './texts';
import { XrayButton } from './xray-button';

const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/**
 * The text. New words appear in the accent colour and fade to the colour of text. Then they join one
 * text node ("dry"), which keeps long texts cheap.
 */
export function Text() {
  const flow = useRef<HTMLSpanElement>(null);
  const shown = useRef('');
  /** The node of the words that have dried. */
  const dried = useRef<Text | null>(null);
  const start = useComputed(() => writing.written.value?.prompt ?? null);
  const started = useComputed(() => writing.written.value !== null);
  const running = useComputed(
    () => writing.writingNow.value && (run.value === 'reading' || run.value === 'writing'),
  );
  const done = useComputed(
    () => !writing.writingNow.value && (writing.written.value?.text ?? '') !== '',
  );

  // Follows a new text from its first word.
  useEffect(follow, []);
  useSignalEffect(() => {
    if (writing.writingNow.value) requestAnimationFrame(toTheEnd);
  });

  // Draws the first word at once, the others once a frame, and the last ones before the ending below them.
  useEffect(() => {
    let frame = 0;
    // What is there when the view is opened is not new.
    let opening = true;
    const draw = (): void => {
      cancelAnimationFrame(frame);
      frame = 0;
      const text = writing.written.peek()?.text ?? '';
      const node = flow.current;
      if (node === null || text === shown.current) return;
      // Another text than the one that grew
      const other =
        dried.current === null || !text.startsWith(shown.current) || shown.current === '';
      if (other || dried.current === null) {
        dried.current = document.createTextNode('');
        node.replaceChildren(dried.current);
        shown.current = '';
      }
      const added = text.slice(shown.current.length);
      shown.current = text;
      const whole = other && (opening || !writing.writingNow.peek());
      if (!whole) requestAnimationFrame(keepUp);
      if (whole || still.matches) {
        dried.current.appendData(added);
        return;
      }
      node.append(wet(added));
    };
    const dispose = effect(() => {
      void writing.written.value;
      if (shown.current === '' || !writing.writingNow.value) untracked(draw);
      else if (frame === 0) frame = requestAnimationFrame(draw);
    });
    opening = false;
    return () => {
      cancelAnimationFrame(frame);
      dispose();
    };
  }, []);

  return (
    <section
      class="text"
      aria-labelledby="text-heading"
      data-running={running}
      data-started={started}
      data-done={done}
    >
      <div class="water" aria-hidden="true" />
      <div class="text-head">
        <h2 class="label" id="text-heading" tabIndex={-1}>
          {writingTexts.value.text}
        </h2>
        <div class="text-head-end">
          <XrayButton />
          <Pager />
        </div>
      </div>
      {start.value === null && <Blank />}
      <p class="reading" id="text">
        {start.value !== null && <span class="given">{start}</span>}
        <span ref={flow} id="written" onAnimationEnd={(event) => dry(event.target)} />
      </p>
      {done.value && <Ending />}
    </section>
  );
}
