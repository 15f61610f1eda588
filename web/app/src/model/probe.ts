// Looks at a model before it is loaded: only its header is fetched.
import { signal } from '@preact/signals';
import { Engine, SluiceError, type CachedModel, type ModelInfo } from '@sluice/engine';
import { parseModelAddress } from '../page/fragment';
import { settings } from '../settings/settings';
import { loadOptions } from '../settings/use';
import { explain, type Failure } from './advice';
import { partOf } from './kept';
import { remember } from './learn';
import { cacheOf, fromAddress } from './source';

export interface Look {
  url: string;
  /** null: it is being asked for, or `failure` says why there is none. */
  info: ModelInfo | null;
  failure: Failure | null;
  /** What an earlier load left on this device, if that is not all. */
  part: CachedModel | null;
}

/** The model that is looked at. */
export const looked = signal<Look | null>(null);

let abort: AbortController | null = null;

/** Ends the look, and forgets what was found. */
export function lookAway(): void {
  abort?.abort();
  abort = null;
  looked.value = null;
}

/** Fetches the header of the model at an address that the reader typed. Returns false if it can be no address. */
export function lookAt(text: string): boolean {
  const url = parseModelAddress(text.trim());
  if (url === undefined) return false;
  lookAway();
  const { signal } = (abort = new AbortController());
  looked.value = { url, info: null, failure: null, part: null };
  void headerOf(url, signal).then(async (found) => {
    const part = await partOf(url);
    if (signal.aborted) return;
    if (found.info !== null) remember(url, found.info);
    looked.value = { url, part, ...found };
  });
  return true;
}

/** Fetches a model's header, and says what is wrong with the model. Never rejects. */
export async function headerOf(
  url: string,
  signal: AbortSignal,
): Promise<Pick<Look, 'info' | 'failure'>> {
  try {
    const info = await Engine.probe(url, {
      signal,
      cache: cacheOf(fromAddress(url)),
      ...loadOptions(settings.peek()),
    });
    const { error } = info;
    if (error === undefined) return { info, failure: null };
    const { code, message, facts = {} } = error;
    return { info, failure: explain(new SluiceError(code, message, { facts })) };
  } catch (error) {
    return { info: null, failure: explain(error) };
  }
}
