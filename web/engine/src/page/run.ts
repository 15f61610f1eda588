// A run in the engine worker, of a text or of a chat: its tokens, its figures and its end.
import type { RunEnd, RunItem } from '../shared/calls.js';
import { onAbort, callBack } from '../shared/promises.js';
import type { ChatBegun, ChatToken, CoreStats } from '../shared/protocol.js';
import type { Finish } from '../shared/types.js';
import type { PromptProgress } from '../shared/progress-types.js';
import type { AskOptions } from '../shared/caller.js';

/** Asks the engine worker for a call that is a run: generate, resume or chat. */
export type StartRun = (options: AskOptions<RunItem>) => Promise<RunEnd>;

/** What becomes of a run's messages. */
export interface RunEvents {
  /** The tokens of a slice. Returns a promise if the reader's queue is full: the run rests until that resolves. */
  tokens(tokens: ChatToken[]): Promise<void> | null;
  /** Of a chat. */
  begun?: ((begun: ChatBegun) => void) | undefined;
  /** The run's figures now. */
  stats?: ((stats: CoreStats) => void) | undefined;
  progress?: ((progress: PromptProgress) => void) | undefined;
}

/** Where a run's figures are shown. */
export interface RunFigures {
  /** The run's figures now. */
  stats(stats: CoreStats): void;
  /** How it has ended; null: with an error. Called once, and at once if the signal fires. */
  ended(finish: Finish | null): void;
}

/** How a run has ended, with its last figures. */
export interface Ending {
  finish: Finish;
  stats: CoreStats;
}

/** Starts a run, and resolves when it has ended. The signal cancels it: then this rejects at once with its reason. */
export async function runToEnd(
  start: StartRun,
  events: RunEvents,
  figures: RunFigures,
  signal: AbortSignal,
): Promise<Ending> {
  let last: CoreStats | undefined;
  let over = false;
  const end = (finish: Finish | null): void => {
    if (over) return;
    over = true;
    figures.ended(finish);
  };
  const onItem = (item: RunItem): Promise<void> | null => {
    switch (item.kind) {
      case 'tokens':
        return events.tokens(item.tokens);
      case 'prompt':
        callBack(events.progress ?? (() => {}), item.progress);
        return null;
      case 'begun':
        events.begun?.(item);
        return null;
      case 'figures':
        return null;
    }
  };
  const onStats = (stats: CoreStats): void => {
    last = stats;
    events.stats?.(stats);
    figures.stats(stats);
  };
  const release = onAbort(signal, () => end('aborted'));
  try {
    const { finish } = await start({ signal, onItem, onStats });
    end(finish);
    return { finish, stats: last as CoreStats };
  } finally {
    release();
    end(null);
  }
}
