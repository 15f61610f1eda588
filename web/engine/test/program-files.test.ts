// The files of the cache as the program `sluice` has written them: recorded journals of the bundled model's file.
// tests/cli/cache-format.test.mjs lets the program write new ones.
import fs from 'node:fs';
import { inflateSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { loadHashes, xxh64 } from '../src/loader/store/hashes.js';
import { readHeader, readTable, tableHash, type Header } from '../src/loader/store/journal.js';
import { FakeOpfs } from './fake-opfs.js';
import { opened, readsRight, settle } from './store-setup.js';

const MODEL = new Uint8Array(
  fs.readFileSync(new URL('../../app/public/models/stories-q8_0.gguf', import.meta.url)),
);
const ADDRESS = 'http://models.example/m.gguf';
/** SHA-256 of the address. */
const KEY = '44792dd01beffeed9a7bbd0aad1b1ee9';
const BLOCK = 256 << 10;

const recorded = (base64: string): Uint8Array =>
  new Uint8Array(inflateSync(Buffer.from(base64, 'base64')));

const WHOLE = recorded(
  'eNrt2bFLG1EcB/ArLSIdSjuI0ul4OIgc5u5xl5iIFpVSTSsOUVowIs/cu+TMXS7kPVtFIgiigy2lQummoyC4durQQXEuSOnkoKMODjpYHbwz6R' +
    'L/gDp8PzyOH+9+773v/su8GR8efJl+/EBRlPbw80ipKfYUdw+u5ZMFwmy7woUgKVKQspyKxfzA5p7o4nPML3s85nfl87MO0ci0F+SKA/OSh700' +
    'Tg3T1Egu8H1XhmfD/7kKZ5LbJGUkklbCNE2qJynVCJcsH3ZkieXoOYPR6WzU7TEhRwLbddzoCHnLbU3VDTXNSirVqaXqeup2qa9GxsL2EvOjdy' +
    'cmNVJmlfBFo1aIWuWWStE1DvME14jg9UiiwKgVr9UykMz7F99KdCej/LOiIXA8rpH3vFKPdXtfVQEAAAAAAAAAAAAAAAAAAPjPMg3z/4f1/esv' +
    '2T/bzzdjmP/fDYz5PwAAAAAAAAAAAAAAAAAA3De/r75/KMxUi2unmaFnG/snhz++tjZt/xS9L6b2qhfG6sJO55G91te/+Pry0+no32Z3vdt5R4' +
    'dXrG+750vB2dP08fLnlraBj1vrlx320uqvG4kk4H4=',
);
/** Of a download that was broken off. */
const PART = recorded(
  'eNrt2j0sBEEUB/BFIqKTSLSbiUo2bneye8clCCI+jiiOKBAZu3Mf7MflZnznrhCJQpRaUUu0KgWF6JRKhUZBS4JE7NorFBqikfx/2d28zL55M/' +
    '172fHp0cGhseY6RVGew7deiV1Xt99bM37rFmGOU+ZCkDQpSFlKJxJe4HBXdPJ15pVcnvA68/mVHNHIohvYywMbkoe5hm52WamkRuzA84oy3Bwm' +
    '2GXOJHfCv6luK2WaJjV0amiES5aPM1wm5ETgFHPFKC1a8ZkX1Zud10iJlcNCRhyIOCr6fpSZY67gGhG8dpIoMGol41gGkrm1a+kaWRHf3GCVl2' +
    'tnflaqKAAAAAAAAAAAAAAAAAAAAP9K9kv/vz38NNTW7aOW+83Bi51f9v9pkhqm+aP2/xyxcrptMLo4980owAx3NFU31DHmq1Snlqrr6c9HHZ6Y' +
    '+vM5AWqlurqj+2NaAAAAAAAAAAAAAAAAAAAA/oWbt9O1wlJlee8xO9JyePVwe3bQ1nh8Lnr6Fi4rT8bu1knHnbPX21/NvOw/Tr42fQCcIcYT',
);

let opfs: FakeOpfs;
beforeAll(loadHashes);
beforeEach(() => {
  opfs = new FakeOpfs().install();
});
afterEach(() => {
  vi.unstubAllGlobals();
  expect(opfs.handles.size).toBe(0);
});

/** The hashes of the model's blocks. */
function hashes(): bigint[] {
  return Array.from({ length: Math.ceil(MODEL.length / BLOCK) }, (_, i) =>
    tableHash(xxh64([MODEL.subarray(i * BLOCK, (i + 1) * BLOCK)])),
  );
}

function headerOf(journal: Uint8Array): Header {
  const header = readHeader(journal);
  if (typeof header === 'string') throw new Error(header);
  return header;
}

test('a journal is read, field by field', () => {
  const { meta } = headerOf(WHOLE);
  expect(meta).toMatchObject({
    address: ADDRESS,
    names: [],
    blockBytes: BLOCK,
    totalBytes: MODEL.length,
    etag: '"5f0c1a2b"',
    lastModified: 'Wed, 01 Jan 2025 00:00:00 GMT',
    commit: '',
    sha256: '',
    verified: false,
    pinned: false,
    set: '',
    part: 1,
    parts: 1,
  });
  expect([...readTable(WHOLE, meta, MODEL.length)]).toEqual(hashes());
});

test('of an unfinished download the blocks that are there have the same hashes', () => {
  const { meta } = headerOf(PART);
  const there = hashes().map((hash, i) => (i < 6 ? hash : 0n));
  expect([...readTable(PART, meta, MODEL.length)]).toEqual(there);
});

test('a whole file is complete, is read, and noted as used', async () => {
  opfs.put(`${KEY}.gguf`, MODEL);
  opfs.put(`${KEY}.journal`, WHOLE);
  const { file } = await opened('complete', ADDRESS);
  for (let i = 0; i < file.blockCount; ++i) expect(await readsRight(file, i, MODEL)).toBe(true);
  await settle();
  file.close();
  await settle();
  const before = headerOf(WHOLE);
  const after = headerOf(opfs.only('.journal').bytes);
  expect(after.sequence).toBe(before.sequence + 1n);
  expect({ ...after.meta, used: 0 }).toEqual({ ...before.meta, used: 0 });
});
