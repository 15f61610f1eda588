// Keeps the end of a growing text in view, until the reader scrolls away from it. The page itself scrolls.
import { signal } from '@preact/signals';

/** Whether the page keeps the end of the text in view. */
export const following = signal(true);

/** Space below the text's end: the bar and an empty line. */
const BELOW_PX = 112;
/** If the reader scrolls down to within this distance of the end, the page follows again. */
const NEAR_PX = 40;

/** The element at whose lower edge the text ends, and the space that is kept below it. */
let end = { id: 'written', below: BELOW_PX };
/** Where this module scrolled to last. If the page is elsewhere, the reader scrolled. */
let ours = 0;
let last = 0;

/** From now on the text ends at the lower edge of the element `id`, with `below` pixels of space under it. */
export function follow(id: string, below = BELOW_PX): void {
  end = { id, below };
  following.value = true;
}

/** How far the text's end is below its lowest place in view; negative: above it. */
function below(): number {
  const element = document.getElementById(end.id);
  if (element === null) return 0;
  const { visualViewport: seen } = window;
  // A keyboard on the screen covers what is below the visual viewport.
  const edge = seen === null ? window.innerHeight : seen.offsetTop + seen.height;
  return element.getBoundingClientRect().bottom - (edge - end.below);
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

/** Tells the style sheets how much of the window's lower edge a keyboard covers, where the browser doesn't shrink the page. */
function onViewport(): void {
  const { visualViewport: seen } = window;
  if (seen === null) return;
  // Zoomed in, the visual viewport is smaller without any keyboard.
  const covered = seen.scale > 1.01 ? 0 : window.innerHeight - seen.height - seen.offsetTop;
  document.documentElement.style.setProperty('--covered', `${Math.max(0, Math.round(covered))}px`);
  if (covered > 0) keepUp();
}

window.addEventListener('scroll', onScroll, { passive: true });
window.visualViewport?.addEventListener('resize', onViewport);
window.visualViewport?.addEventListener('scroll', onViewport);
