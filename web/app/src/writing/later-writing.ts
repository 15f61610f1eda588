// The script that parts.ts fetches when it is needed, and else when the page is at rest.
export { Footer } from '../ui/footer';
export { fill, readKept, write } from './state';
export { WritingView } from './view';
