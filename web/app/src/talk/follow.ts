// Keeps the end of the conversation in view. The field is stuck to the window's lower edge, so the end is in view when the
// page is at its end.
import { effect } from '@preact/signals';
import { Follower } from '../ui/follow';

/** If the reader scrolls down to within this distance of the end, the page follows again. */
const NEAR_PX = 48;

const follower = new Follower(() => {
  const { scrollHeight, clientHeight } = document.documentElement;
  return scrollHeight - clientHeight - window.scrollY;
}, NEAR_PX);

export const { following, keepUp, toTheEnd } = follower;

/** Watches the reader's scrolling, and follows what grows in `thread`. Returns what ends that. */
export function follow(thread: Element): () => void {
  // While the page follows, the browser must not hold on to a line that is read: it would scroll as a reader does.
  const { style } = document.documentElement;
  const dispose = effect(() => {
    style.overflowAnchor = following.value ? 'none' : '';
  });
  // What an empty conversation begins with is read from its beginning.
  const grown = new ResizeObserver(() => {
    if (thread.childElementCount > 0) keepUp();
  });
  grown.observe(thread);
  grown.observe(document.documentElement);
  const unwatch = follower.watch();
  return () => {
    dispose();
    style.overflowAnchor = '';
    grown.disconnect();
    unwatch();
  };
}
