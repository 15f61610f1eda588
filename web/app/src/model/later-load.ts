// The script that parts.ts fetches when a model comes, and else when the page is at rest.
export { LoadText } from './load-text';
