// What the build knows of the project (vite.config.ts).
declare const __ABOUT__: { version: string; source: string };

export const VERSION = __ABOUT__.version;
/** Where the source lies, as an archive; '' where the page was built without git. */
export const SOURCE = __ABOUT__.source;
