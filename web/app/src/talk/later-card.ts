// The script that card-parts.ts fetches when it is needed, and else when the page is at rest.
export { OpenButton, Terms } from '../model/offered';
export { fetchShelf, front, shelf, startShelf } from '../model/shelf';
export { FirstModel } from './first-model';
