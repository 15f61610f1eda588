// The library in Node: the same as in browsers.
export * from '../index.js';
