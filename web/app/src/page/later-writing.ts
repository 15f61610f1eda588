// The writing view: the script that parts.tsx fetches when it is shown, and else when the page is at rest.
export { Footer } from './footer';
export { readKept, write } from '../writing/state';
export { fill } from '../writing/masks-state';
export { WritingView } from '../writing/view';
