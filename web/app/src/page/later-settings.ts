// The room of the settings and the figures in detail. It comes with the other parts (later.ts), as a file of its own.
export { Settings } from '../settings/all';
export { Details } from '../settings/figures';
