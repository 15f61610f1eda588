// Keeps the end of a growing text in view, until the reader scrolls away from it.
import { signal } from '@preact/signals';

/** Whether the page keeps the end of the text in view. */
export const following = signal(true);

/** Space below the text's end: the bar and an empty line. */
const BELOW_PX = 112;
/** If the reader scrolls down to within this distance of the end, the page follows again. */
const NEAR_PX = 40;

/** Where this module scrolled to last. If the page is elsewhere, the reader scrolled. */
let ours = 0;
let last = 0;

/** How far the text's end is below its lowest place in view; negative: above it. */
function below(): number {
  const end = document.getElementById('written');
  if (end === null) return 0;
  const height = window.visualViewport?.height ?? window.innerHeight;
  return end.getBoundingClientRect().bottom - (height - BELOW_PX);
}

/** Scrolls down if the text's end has grown out of view. Never scrolls up. */
export function keepUp(): void {
  if (!following.value) return;
  const distance = below();
  if (distance > 0) window.scrollBy({ top: distance, behavior: 'instant' });
  ours = last = window.scrollY;
}

/** Scrolls to the end, and follows it from then on. */
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
