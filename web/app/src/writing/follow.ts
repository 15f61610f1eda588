// Keeps the end of a growing text in view.
import { covered } from '../inside/looks';
import { Follower } from '../ui/follow';

/** Space below the text's end: the bar and an empty line. */
const BELOW_PX = 112;
/** If the reader scrolls down to within this distance of the end, the page follows again. */
const NEAR_PX = 40;

const follower = new Follower(() => {
  const text = document.getElementById('written');
  if (text === null) return 0;
  const { visualViewport: seen } = window;
  // A keyboard on the screen covers what is below the visual viewport.
  const edge = seen === null ? window.innerHeight : seen.offsetTop + seen.height;
  return text.getBoundingClientRect().bottom - (edge - BELOW_PX - covered.peek());
}, NEAR_PX);

export const { following, keepUp, toTheEnd } = follower;

/** Watches the reader's scrolling. Returns what ends that. */
export function follow(): () => void {
  following.value = true;
  return follower.watch();
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

window.visualViewport?.addEventListener('resize', onViewport);
window.visualViewport?.addEventListener('scroll', onViewport);
