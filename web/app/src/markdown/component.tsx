import { effect, untracked, type ReadonlySignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { dry } from '../ui/wet';
import { codeLeaves, copyClicked } from './code-view';
import { Drawing } from './draw';
import { drawLater } from './later';
import { words } from './words';

const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/** Characters that are drawn at once. */
const PART = 8_000;

/** So many words dry at a time: each costs a bit of every frame. */
const MOST_WET = 60;
/** Characters of a word with its space, roughly. */
const WORD = 5;

/** Milliseconds of drawing; from more on, the next one waits four times as long. */
const COSTLY_MS = 8;

export interface MarkdownProps {
  readonly text: ReadonlySignal<string> | string;
  /** The text grows. */
  readonly live: boolean;
}

/**
 * A message. While it grows it is drawn at each change, and less often if that takes long: whoever lets it grow does so once a
 * frame at most.
 */
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
    let timer = 0;
    let cost = 0;
    let drawn = false;
    let length = 0;
    let language = words.peek();
    const draw = (): void => {
      undo();
      timer = 0;
      drawn = true;
      const begun = performance.now();
      const all = typeof text === 'string' ? text : text.peek();
      const few = drying.length + (all.length - length) / WORD < MOST_WET;
      length = all.length;
      own.show(all, live, live && few && !still.matches);
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
      } else if (timer === 0) {
        if (cost > COSTLY_MS) timer = window.setTimeout(draw, 4 * cost);
        else untracked(draw);
      }
    });
    return () => {
      undo();
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
