// What the build knows of the project: vite.config.ts takes it from the repository's package.json.
declare const __ABOUT__: { version: string; source: string };

export const VERSION = __ABOUT__.version;
/** Where the source is; '' as long as package.json names neither a homepage nor a repository. */
export const SOURCE = __ABOUT__.source;
