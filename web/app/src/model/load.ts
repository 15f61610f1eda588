// What is said of the present load, in the sheet and beside the field.
import type { CachedModel, LoadProgress } from '@sluice/engine';
import { bytes, ofWhole, timeLeft } from '../format';
import { run } from '../run';
import { t } from '../texts';
import { amountOf } from './kept';
import { nameOf } from './name';
import type { Loading } from './state';

/** What is done: Loading a.gguf. */
export function doing({ source, info, back, rest, waits }: Loading): string {
  const words = t.value.model.load;
  const name = nameOf(source, info);
  if (back) return words.again(name);
  if (waits) return words.takesOver(name);
  if (!rest) return words.loading(name);
  // A text needs all of it.
  const held = run.value === 'waiting' || run.value === 'reading';
  return (held ? words.restWaits : words.restReady)(name);
}

export interface Facts {
  /** How much has come: 1.40 MB of 2.58 MB; '' before the header is read. */
  amount: string;
  /** 54 %; '' as above. */
  share: string;
  /** How fast it comes, and how long it takes; '' if that isn't known. */
  rate: string;
  left: string;
  /** What it does besides, or where it comes from. */
  note: string;
  /** That it waits; '' while it goes on. All that the library says of it, in English, is in coming.tsx, folded. */
  waiting: string;
}

const NO_FACTS: Facts = { amount: '', share: '', rate: '', left: '', note: '', waiting: '' };

export function factsOf(progress: LoadProgress | null): Facts {
  const words = t.value.model.load;
  const { loaded = 0, total = 0, bytesPerSecond = 0, cachedBytes = 0 } = progress ?? {};
  const { phase, source } = progress ?? {};
  // The browser knows that; the library's own words are in coming.tsx.
  const why = navigator.onLine ? words.waits : words.offline;
  const waiting = progress?.waiting ? why : '';
  if (total === 0) return { ...NO_FACTS, waiting, note: waiting === '' ? words.header : '' };
  const facts = {
    ...{ ...NO_FACTS, waiting },
    amount: ofWhole(bytes(loaded), bytes(total)),
    share: `${Math.floor((100 * loaded) / total)} %`,
  };
  if (waiting !== '') return facts;
  if (phase === 'verify') return { ...facts, note: words.checking };
  if (bytesPerSecond > 0) {
    facts.rate = `${bytes(bytesPerSecond)}/s`;
    const left = Math.max(0, total - loaded) / bytesPerSecond;
    if (loaded < total) facts.left = timeLeft(Math.max(1, left));
  }
  const here = cachedBytes > 0 ? words.wereHere(bytes(cachedBytes)) : '';
  return { ...facts, note: source === 'cache' ? words.fromDevice : here };
}

/** What is kept of a paused load. `part`: null: nothing; undefined: not known yet. */
export function keptOf(part: CachedModel | null | undefined): string {
  const words = t.value.model.load;
  if (part === undefined) return '';
  return part === null ? words.nothingKept : words.partKept(amountOf(part));
}
