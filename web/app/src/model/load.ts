// What is said of the present load, in the sheet and beside the field.
import type { CachedModel, LoadProgress } from '@sluice/engine';
import { bytes, ofWhole, timeLeft } from '../texts/format';
import { run } from './run';
import { amountOf } from './kept-list';
import { nameOf } from './name';
import type { Loading } from './state';
import { loadsTexts } from './loads-texts';

/** What is done: Loading a.gguf. */
export function doing({ source, info, back, step }: Loading): string {
  const words = loadsTexts.value.load;
  const name = nameOf(source, info);
  if (back) return words.again(name);
  if (step === 'waits') return words.takesOver(name);
  if (step !== 'rest') return words.loading(name);
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
  const words = loadsTexts.value.load;
  const { loaded = 0, total = 0, bytesPerSecond = 0, cachedBytes = 0 } = progress ?? {};
  const { phase, source } = progress ?? {};
  const waiting = whyWaiting(progress?.waitingFor ?? null);
  if (total === 0) return { ...NO_FACTS, waiting, note: waiting === '' ? words.header : '' };
  const facts = {
    ...NO_FACTS,
    waiting,
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

function whyWaiting(on: LoadProgress['waitingFor']): string {
  const { waits, offline, otherTab, serverBusy } = loadsTexts.value.load;
  if (on === null) return '';
  if (!navigator.onLine) return offline;
  if (on === 'tab') return otherTab;
  return on === 'server' ? serverBusy : waits;
}

/** What is kept of a paused load. `part`: null: nothing; undefined: not known yet. */
export function keptOf(part: CachedModel | null | undefined): string {
  const words = loadsTexts.value.load;
  if (part === undefined) return '';
  return part === null ? words.nothingKept : words.partKept(amountOf(part));
}
