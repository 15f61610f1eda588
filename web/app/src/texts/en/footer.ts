// The page's end.

export const footer = {
  use: 'Use this in your page',
  /** Stands after the command that makes the package. */
  packs: 'in the source makes the package; no bundler is needed.',
  cors: 'A model from another site needs that site’s permission (CORS).',
  snippet: 'HTML of a page that writes',
  newer: 'Use the newer version of this page',
  later: 'The newer version comes when the other tabs of this page are closed',
  source: 'Source',
  licence: 'Licence: Apache-2.0',
  notice: 'What this page contains, and its licences',
};
