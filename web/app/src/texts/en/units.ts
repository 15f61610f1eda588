// The words beside numbers. `../format.ts` uses them; nothing else has to. The numbers themselves are written as Intl does.
import { plural } from './plural';

export const units = {
  /** Of sizes: bytes, and thousands, millions, .. of them. */
  bytes: ['B', 'KB', 'MB', 'GB', 'TB'],
  /** How millions and billions are written: in full, or cut short. */
  millions: 'long' as 'long' | 'short',
  tokens: (n: number, written: string) =>
    `${written} ${plural(n, { one: 'token', other: 'tokens' })}`,
  rate: (written: string) => `${written} tokens/s`,
  of: (part: string, whole: string) => `${part} of ${whole}`,
  left: (time: string) => `${time} left`,
  waitingForLayers: 'waiting for layers',
  on: (date: string) => `on ${date}`,
};
