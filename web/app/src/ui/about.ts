// Facts that the build fills in (vite.config.ts).
declare const __ABOUT__: { version: string; source: string };

export const VERSION = __ABOUT__.version;
/** The address of the source archive; '' if the page was built without git. */
export const SOURCE = __ABOUT__.source;
