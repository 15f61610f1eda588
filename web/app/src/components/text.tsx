import { effect, untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { keepUp, toTheEnd } from '../follow';
import { run, written } from '../state';

const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/**
 * The text. New words appear in the accent colour and fade to the colour of text. Then they join one
 * text node ("dry"), which keeps long texts cheap.
 */
export function Text() {
  const flow = useRef<HTMLSpanElement>(null);
  const shown = useRef('');
  const dry = useRef<Text | null>(null);
  const copied = useSignal(false);
  const start = useComputed(() => written.value?.prompt ?? null);
  const started = useComputed(() => written.value !== null);
  const running = useComputed(() => run.value === 'reading' || run.value === 'writing');
  const done = useComputed(() => run.value === 'idle' && (written.value?.text ?? '') !== '');

  // Follows a new text from its first word.
  useSignalEffect(() => {
    if (run.value === 'waiting') requestAnimationFrame(toTheEnd);
  });

  // Draws the first word at once, the others once a frame.
  useEffect(() => {
    let frame = 0;
    const draw = (): void => {
      frame = 0;
      const text = written.peek()?.text ?? '';
      const node = flow.current;
      if (node === null || text === shown.current) return;
      if (dry.current === null || !text.startsWith(shown.current) || shown.current === '') {
        dry.current = document.createTextNode('');
        node.replaceChildren(dry.current);
        shown.current = '';
        copied.value = false;
      }
      const added = text.slice(shown.current.length);
      shown.current = text;
      requestAnimationFrame(keepUp);
      if (still.matches) {
        dry.current.appendData(added);
        return;
      }
      const wet = document.createElement('span');
      wet.className = 'wet';
      wet.textContent = added;
      node.append(wet);
    };
    const dispose = effect(() => {
      void written.value;
      if (shown.current === '') untracked(draw);
      else if (frame === 0) frame = requestAnimationFrame(draw);
    });
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
    >
      <div class="water" aria-hidden="true" />
      <div class="text-head">
        <h2 class="label" id="text-heading" tabIndex={-1}>
          Text
        </h2>
        {done.value && (
          <button
            type="button"
            class="quiet"
            onClick={async () => {
              const so = written.value;
              if (so === null) return;
              await navigator.clipboard.writeText(so.prompt + so.text);
              copied.value = true;
            }}
          >
            {copied.value ? 'Copied' : 'Copy'}
          </button>
        )}
      </div>
      <p class="reading" id="text">
        {start.value === null ? (
          <span class="empty">What the model writes appears here, word by word.</span>
        ) : (
          <span class="given">{start}</span>
        )}
        <span
          ref={flow}
          id="written"
          onAnimationEnd={(event) => {
            const span = event.target as HTMLElement;
            dry.current?.appendData(span.textContent ?? '');
            span.remove();
          }}
        />
      </p>
    </section>
  );
}
