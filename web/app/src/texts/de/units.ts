// The German of ../en/units.ts.
import type { units as english } from '../en/units';

export const units: typeof english = {
  thousands: '.',
  decimal: ',',
  locale: 'de-DE',
  tokens: (_, written) => `${written} Token`,
  rate: (written) => `${written} Token/s`,
  thousand: (written) => `${written} Tausend`,
  million: (written) => `${written} Mio.`,
  billion: (written) => `${written} Mrd.`,
  of: (part, whole) => `${part} von ${whole}`,
  left: (time) => `noch ${time}`,
  waitingForLayers: 'wartet auf Schichten',
  today: 'heute',
  yesterday: 'gestern',
  daysAgo: (written) => `vor ${written} Tagen`,
  on: (date) => `am ${date}`,
};
