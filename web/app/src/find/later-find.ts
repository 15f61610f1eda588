// The script that parts.ts fetches when it is needed, and else when the page is at rest.
export { addDropped, startFind } from './state';
export { FindView } from './view';
