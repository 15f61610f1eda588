// The platform on which the library runs. For Node build.mjs puts node/platform.ts in the place of this file.
export * from './browser.js';
