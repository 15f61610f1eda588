// Tags of tests that not every run needs. SLUICE_ALL_TABS=1 runs all.

/** The ladder runs others that are like it. */
export const MORE = '@more';
/** Of the two ways in which a browser is started, with shared memory and without, one is enough. */
export const ONCE = '@once';
/** Only for browsers that keep models: those that don't are left out in any case. */
export const KEEPS = '@keeps';

export const ALL = process.env['SLUICE_ALL_TABS'] === '1';

/** The tests that a run leaves out. `plain`: the second way of a browser. */
export function leftOut(plain = false, keeps = true): RegExp {
  const tags = [
    ...(ALL ? [] : [MORE]),
    ...(ALL || !plain ? [] : [ONCE]),
    ...(keeps ? [] : [KEEPS]),
  ];
  return tags.length === 0 ? /$^/ : new RegExp(`(${tags.join('|')})\\b`);
}
