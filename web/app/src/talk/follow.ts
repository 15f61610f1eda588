// Keeps the end of the conversation in view, until the reader scrolls away from it. The page scrolls as a whole, and the
// field is stuck to the window's lower edge, so the end is in view when the page is at its end.
import { effect, signal } from '@preact/signals';

/** Whether the page keeps the end in view. */
export const following = signal(true);

/** If the reader scrolls down to within this distance of the end, the page follows again. */
const NEAR_PX = 48;
/** What the page moves by itself. */
const STILL_PX = 4;

/** Where the page was, and how high, when this module last looked. */
let last = 0;
let height = 0;

function left(): number {
  const { scrollHeight, clientHeight } = document.documentElement;
  return scrollHeight - clientHeight - window.scrollY;
}

function look(): void {
  last = window.scrollY;
  height = document.documentElement.scrollHeight;
}

/** Scrolls to the end if the page follows. */
export function keepUp(): void {
  if (!following.peek()) return;
  if (left() > 0)
    window.scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
  look();
}

/** Scrolls to the end, and follows it from then on. */
export function toTheEnd(): void {
  following.value = true;
  keepUp();
}

function onScroll(): void {
  // What gets shorter moves the page up as well: then it was not the reader.
  const same = document.documentElement.scrollHeight >= height;
  const up = window.scrollY < last - 1;
  // The last steps of a movement upwards may be smaller than a pixel: they are not the way back.
  const down = window.scrollY > last;
  look();
  if (up && same && left() > STILL_PX) following.value = false;
  else if (down && left() <= NEAR_PX) following.value = true;
  else if (!same) keepUp();
}

/** Watches the reader's scrolling, and follows what grows in `thread`. Returns what ends that. */
export function follow(thread: Element): () => void {
  // While the page follows, the browser must not hold on to a line that is read: it would scroll as a reader does.
  const { style } = document.documentElement;
  const dispose = effect(() => {
    style.overflowAnchor = following.value ? 'none' : '';
  });
  const grown = new ResizeObserver(keepUp);
  grown.observe(thread);
  grown.observe(document.documentElement);
  window.addEventListener('scroll', onScroll, { passive: true });
  return () => {
    dispose();
    style.overflowAnchor = '';
    grown.disconnect();
    window.removeEventListener('scroll', onScroll);
  };
}
