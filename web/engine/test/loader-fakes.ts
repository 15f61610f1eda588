// What whole loads run on in tests: a clock, a disk and a server that are not real.
import { createHash } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { loadHashes } from '../src/loader/store/hashes.js';
import { FakeOpfs } from './fake-opfs.js';
import { FakeServer, useFakeTime } from './fake-server.js';

export interface LoaderFakes {
  opfs: FakeOpfs;
  server: FakeServer;
  /** Nothing stays open or locked. */
  expectReleased(): void;
}

/** Makes them anew for each test of the file. `whole`: what the server has; `piece`: how much it sends at a time. */
export function useLoaderFakes(whole: Uint8Array<ArrayBuffer>, piece?: number): LoaderFakes {
  const fakes = {
    expectReleased() {
      expect(fakes.opfs.handles.size).toBe(0);
      expect(fakes.opfs.locks.held).toEqual([]);
    },
  } as LoaderFakes;
  beforeAll(loadHashes);
  beforeEach(() => {
    useFakeTime();
    fakes.opfs = new FakeOpfs().install();
    // The real one works in a thread.
    const digest = async (_: string, bytes: Uint8Array): Promise<ArrayBuffer> =>
      Uint8Array.from(createHash('sha256').update(bytes).digest()).buffer;
    vi.stubGlobal('crypto', { subtle: { digest } });
    // Its messages take real time; without it, followers look at the journal now and then.
    vi.stubGlobal('BroadcastChannel', undefined);
    fakes.server = new FakeServer(whole).install();
    if (piece !== undefined) fakes.server.piece = piece;
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  return fakes;
}
