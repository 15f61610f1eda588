// The room Find: the script that parts.tsx fetches when it is shown, and else when the page is at rest.
export { addDropped, startFind } from '../find/state';
export { FindView } from '../find/view';
