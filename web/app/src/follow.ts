// The page follows the text's end while it is written, until the reader scrolls away from it.
import { signal } from '@preact/signals';

/** Whether the page keeps the end of the text in view. */
export const following = signal(true);

/** Room for the bar, and a line of air, below the text's end. */
const BELOW_PX = 112;
/** So close to the end, a reader who scrolls back to it is there. */
const NEAR_PX = 40;

/** Where this module scrolled to last: what is elsewhere, the reader scrolled. */
let ours = 0;
let last = 0;

/** How far the text's end lies below what is in view; negative above that. */
function below(): number {
  const end = document.getElementById('written');
  if (end === null) return 0;
  const height = window.visualViewport?.height ?? window.innerHeight;
  return end.getBoundingClientRect().bottom - (height - BELOW_PX);
}

/** Brings the end of the text into view where it has grown out of it. Never scrolls up. */
export function keepUp(): void {
  if (!following.value) return;
  const distance = below();
  if (distance > 0) window.scrollBy({ top: distance, behavior: 'instant' });
  ours = last = window.scrollY;
}

/** From here on the end is followed, and in view. */
export function toTheEnd(): void {
  following.value = true;
  keepUp();
}

function onScroll(): void {
  const { scrollY } = window;
  const up = scrollY < last;
  last = scrollY;
  if (Math.abs(scrollY - ours) <= 1) return;
  following.value = below() <= (up ? 0 : NEAR_PX);
}

window.addEventListener('scroll', onScroll, { passive: true });
