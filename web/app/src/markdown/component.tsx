import { effect, untracked, type ReadonlySignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { codeLeaves, copyClicked } from './code-view';
import { dry } from './draw-inline';
import { Drawing } from './draw';
import { drawLater } from './later';
import { words } from './words';

const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/** Characters that are drawn at once. */
const PART = 8_000;

/** So many words dry at a time: each costs a bit of every frame. */
const MOST_WET = 60;

export interface MarkdownProps {
  readonly text: ReadonlySignal<string> | string;
  /** The text grows. */
  readonly live: boolean;
}

/** A message. While it grows it is drawn once a frame at most, and less often if that takes long. */
export function Markdown({ text, live }: MarkdownProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);

  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const first = drawing.current === null;
    drawing.current ??= new Drawing(element);
    const own = drawing.current;
    const drying = element.getElementsByClassName('wet');
    let undo = (): void => undefined;
    let frame = 0;
    let timer = 0;
    let cost = 0;
    let drawn = false;
    let language = words.peek();
    const draw = (): void => {
      undo();
      frame = 0;
      timer = 0;
      drawn = true;
      const begun = performance.now();
      const wet = live && !still.matches && drying.length < MOST_WET;
      own.show(typeof text === 'string' ? text : text.peek(), live, wet);
      cost = performance.now() - begun;
    };
    const dispose = effect(() => {
      if (typeof text !== 'string') void text.value;
      if (words.value !== language) {
        language = words.value;
        own.reset();
      }
      if (!drawn && first && !live && typeof text === 'string') {
        let to = 0;
        drawn = true;
        undo = drawLater(() => {
          // As if it grew.
          to += PART;
          own.show(text.slice(0, to), to < text.length, false);
          return to >= text.length;
        });
      } else if (!drawn) untracked(draw);
      else if (frame === 0 && timer === 0) {
        const later = (): void => {
          timer = 0;
          frame = requestAnimationFrame(draw);
        };
        if (cost > 8) timer = window.setTimeout(later, 4 * cost);
        else later();
      }
    });
    return () => {
      undo();
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      dispose();
    };
  }, [text, live]);

  useLayoutEffect(() => codeLeaves, []);

  return (
    <div
      ref={place}
      class="markdown"
      onAnimationEnd={(event) => dry(event.target)}
      onClick={(event) => void copyClicked(event.target)}
    />
  );
}
