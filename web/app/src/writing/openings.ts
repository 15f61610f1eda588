/** Beginnings for those who have none, for models that know nothing but English stories for children. */
export const STORIES: readonly string[] = [
  'One day, a little fox found a red balloon. The fox',
  'Lily and her grandpa went to the beach. They wanted to',
  'Tom had a small boat that could',
];
