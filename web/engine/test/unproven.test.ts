// A model with a sha256 that it doesn't have, through the loader and the engine worker with the real module: there is no text
// of it, however its bytes come.
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scriptedModelBytes } from '../../../e2e/scripted-model.js';
import { EngineHost } from '../src/engine/host.js';
import { runLoader } from '../src/loader/loader.js';
import type { EngineNews, RunItem } from '../src/shared/calls.js';
import type { ErrorData } from '../src/shared/errors.js';
import type { RemoteSource } from '../src/shared/protocol.js';
import { makeStops } from '../src/shared/stops.js';
import { useLoaderFakes } from './loader-fakes.js';
import { openCore } from './open-core.js';

/** All of it comes with its header, for which the core has a buffer of 256 KB. */
const SMALL = Uint8Array.from(scriptedModelBytes({ name: 'small', scripts: ['It is so.'] }));
/** The same, with bytes of no tensor behind it. */
const PADDED = new Uint8Array(SMALL.length + 300_000);
PADDED.set(SMALL);

const fakes = useLoaderFakes(SMALL);
const hosts: EngineHost[] = [];
// The engine measures its slices.
beforeEach(() => vi.useRealTimers());
afterEach(() => hosts.splice(0).forEach((host) => host.close()));

/** What the page is told: items, and how a call has ended. */
type Told = EngineNews | RunItem | { kind: 'failed'; error: ErrorData } | { kind: 'done' };

/** Loads the model that the server has and asks it for an answer at once. Resolves with what the page is told, to the end. */
async function answer(cache: 'opfs' | 'none', shared: boolean, sha256: string) {
  const opened = await openCore(shared);
  const { port1, port2 } = new MessageChannel();
  const told: Told[] = [];
  const host = new EngineHost(
    (message) => {
      if (message.type === 'alive') return;
      if (message.type === 'stream') {
        const item = structuredClone(message.item) as EngineNews | RunItem;
        told.push(item);
        if (item.kind === 'header') ask();
      } else if (message.type === 'error') {
        told.push({ kind: 'failed', error: message.error });
      } else {
        told.push({ kind: 'done' });
      }
    },
    async () => opened,
  );
  hosts.push(host);
  const ask = (): void => {
    const options = JSON.stringify({ maxTokens: 3, temperature: 0, ignoreEos: true });
    const args = { session: 0, prompt: '<|im_start|>', options, progress: false };
    // As the engine's page: in a message of its own.
    setImmediate(() => host.handle({ type: 'call', id: 2, name: 'generate', args }));
  };
  const files = { flavour: 'simd', glue: '', wasm: '', thread: '', analysis: '' } as const;
  host.handle({
    type: 'call',
    id: 1,
    name: 'open',
    args: {
      probe: false,
      files,
      threads: 1,
      options: '{"threads":1}',
      port: port1,
      direct: shared,
      weights: false,
      stops: makeStops(),
    },
  });
  const source: RemoteSource = {
    kind: 'url',
    addresses: ['https://models.example/m.gguf'],
    headers: [],
    fetch: null,
    hub: 'https://hub.example',
    sha256: [sha256],
    cache,
    asked: false,
    refresh: false,
  };
  const patiences = { stallTimeout: 30_000, retryTimeout: 60_000 };
  await runLoader({ source, patiences, probe: false }, port2, () => {});
  await vi.waitFor(
    () => expect(told.some(({ kind }) => kind === 'done' || kind === 'failed')).toBe(true),
    20_000,
  );
  port2.close();
  return told;
}

describe.each([
  ['opfs', true],
  ['opfs', false],
  ['none', true],
  ['none', false],
] as const)(
  'a model that comes whole with its header (cache %s, shared memory %s)',
  (cache, shared) => {
    it.each([
      ['in one piece', SMALL, SMALL.length],
      ['in two pieces', SMALL, Math.ceil(SMALL.length / 2)],
      ['in many pieces', SMALL, 10_000],
      ['with bytes of no tensor behind it', PADDED, 130_000],
    ])('gives no text before its sha256 is compared, %s', async (_, bytes, piece) => {
      fakes.server.bytes = bytes;
      fakes.server.piece = piece;
      const wrong = await answer(cache, shared, 'a'.repeat(64));
      const kinds = wrong.map(({ kind }) => kind);
      expect(kinds).not.toContain('tokens');
      expect(kinds).not.toContain('ready');
      expect(wrong.at(-1)).toMatchObject({ kind: 'failed', error: { code: 'download_corrupt' } });
      expect(fakes.opfs.files.size).toBe(0);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const right = await answer(cache, shared, sha256);
      expect(right.map(({ kind }) => kind)).toContain('ready');
      const tokens = right.flatMap((one) => (one.kind === 'tokens' ? one.tokens : []));
      expect(tokens.length).toBe(3);
    });
  },
);
