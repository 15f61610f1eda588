// How numbers are written, and the words beside them. `src/format.ts` uses them; nothing else has to.

export const units = {
  /** Between thousands, and before tenths. */
  thousands: ',',
  decimal: '.',
  /** For dates. */
  locale: 'en-GB',
  tokens: (n: number, written: string) => `${written} ${n === 1 ? 'token' : 'tokens'}`,
  rate: (written: string) => `${written} tokens/s`,
  thousand: (written: string) => `${written} thousand`,
  million: (written: string) => `${written} million`,
  billion: (written: string) => `${written} billion`,
  of: (part: string, whole: string) => `${part} of ${whole}`,
  left: (time: string) => `${time} left`,
  waitingForLayers: 'waiting for layers',
  today: 'today',
  yesterday: 'yesterday',
  daysAgo: (written: string) => `${written} days ago`,
  on: (date: string) => `on ${date}`,
};
