// What is asked about models before one is loaded: the header of the one that a link names, the files of a repository.
import { signal } from '@preact/signals';
import { Engine, SluiceError, listModels, type ModelFile, type ModelInfo } from '@sluice/engine';
import { settings } from '../settings/settings';
import { loadOptions } from '../settings/use';
import { explain, type Failure } from './advice';
import { cacheOf, fromAddress } from './source';

/** A repository whose files are asked for. */
export interface Look {
  address: string;
  /** null: they are being asked for, or `failure` says why there are none. */
  files: ModelFile[] | null;
  failure: Failure | null;
}

/** The repository that is looked at. */
export const looked = signal<Look | null>(null);

let abort: AbortController | null = null;

/** Ends the look, and forgets what was found. */
export function lookAway(): void {
  abort?.abort();
  abort = null;
  looked.value = null;
}

/** Asks for the files of a repository. */
export function lookAt(address: string): void {
  lookAway();
  const { signal } = (abort = new AbortController());
  looked.value = { address, files: null, failure: null };
  listModels(address, { signal }).then(
    (files) => {
      if (!signal.aborted) looked.value = { address, files, failure: null };
    },
    (error: unknown) => {
      if (!signal.aborted) looked.value = { address, files: null, failure: explain(error) };
    },
  );
}

/** Fetches a model's header, and says what is wrong with the model. Never rejects. */
export async function headerOf(
  url: string,
  signal: AbortSignal,
): Promise<{ info: ModelInfo | null; failure: Failure | null }> {
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
