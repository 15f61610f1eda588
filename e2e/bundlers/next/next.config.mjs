const here = import.meta.dirname;

export default {
  output: 'export',
  // Each of the two bundlers has a folder of its own.
  distDir: process.env.SITE_OUT,
  // Not the folder of the lock file of Sluice itself.
  turbopack: { root: here },
  outputFileTracingRoot: here,
};
