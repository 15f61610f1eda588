// @vitest-environment happy-dom
// Documents that are read by a model, asked, kept, and changed by other tabs.
import type * as Library from '@sluice/engine';
import type { Engine, ModelInfo } from '@sluice/engine';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type * as State from '../src/model/state';
import { FakeFolder } from './find-folder';
import { showModel } from './phase';

const fake = vi.hoisted(() => ({
  folder: null as unknown,
  engine: null as unknown,
  /** Texts that were embedded, by their kind. */
  document: [] as string[],
  query: [] as string[],
  /** The engine takes so many calls, and then waits for the end of the run. */
  most: Infinity,
  fails: null as Error | null,
  /** Called with each write, as from another tab. */
  changed: [] as ((id: string) => void)[],
}));

vi.hoisted(() => {
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
});

vi.mock('../src/find/store', async (original) => {
  const all = await original<typeof import('../src/find/store')>();
  return {
    ...all,
    openStore: (changed: (id: string) => void) => {
      fake.changed.push(changed);
      return new all.Store(
        changed,
        async () => fake.folder as FileSystemDirectoryHandle,
        undefined,
      );
    },
  };
});
vi.mock('../src/model/use', () => ({
  withEngine: async (signal: AbortSignal, work: (by: Engine) => Promise<void>) => {
    try {
      await work(fake.engine as Engine);
      return { kind: 'done', by: fake.engine };
    } catch {
      return signal.aborted ? { kind: 'aborted', by: null } : { kind: 'failed' };
    }
  },
}));
vi.mock('../src/model/state', async (original) => ({
  ...(await original<typeof State>()),
  currentEngine: () => fake.engine,
}));

/** Waits until nothing is refused by `holds`, also on a busy machine. */
const soon = (holds: () => unknown): Promise<unknown> => vi.waitFor(holds, { timeout: 30_000 });

/** Letters counted: texts with the same letters lie near each other. */
function vectorOf(text: string): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(26);
  for (const letter of text.toLowerCase().match(/[a-z]/g) ?? [])
    vector[letter.charCodeAt(0) - 97]! += 1;
  const length = Math.hypot(...vector) || 1;
  return vector.map((n) => n / length);
}

fake.engine = {
  async embed(texts: string[], { kind, signal }: Library.EmbedOptions) {
    fake.most -= 1;
    if (fake.most < 0)
      await new Promise((_, stop) => signal?.addEventListener('abort', () => stop(signal.reason)));
    if (fake.fails !== null) throw fake.fails;
    fake[kind as 'document' | 'query'].push(...texts);
    return texts.map((text) => ({ embedding: vectorOf(text), tokens: text.length }));
  },
};

function useModel(state: typeof State, name: string, change: Partial<ModelInfo> = {}): void {
  const info = {
    ...{
      name,
      bytes: 1000,
      makes: ['vectors'],
      purpose: 'vectors',
      dimensions: 26,
      metadata: {},
      architecture: 'bert',
    },
    ...change,
  } as unknown as ModelInfo;
  showModel(state.models, { info, source: { kind: 'bundled' } } as State.Model);
}

async function room() {
  const state = await import('../src/model/state');
  const find = await import('../src/find/state');
  const documents = await import('../src/find/documents');
  return { state, find, documents };
}
type Room = Awaited<ReturnType<typeof room>>;
let at: Room;

const rest = (): Promise<unknown> =>
  soon(async () => {
    const { busy } = await import('../src/model/run');
    expect(at.find.unread.value.length === 0 || at.find.progress.value === null).toBe(true);
    expect(busy.value).toBe(false);
  });
const allRead = (): Promise<unknown> =>
  soon(async () => {
    const { busy } = await import('../src/model/run');
    expect(at.documents.rows.value?.length).toBeGreaterThan(0);
    expect(at.find.unread.value).toEqual([]);
    expect(busy.value).toBe(false);
  });
const file = (name: string, text = `Text of ${name}`): File => new File([text], name);
const names = (): string[] => (at.documents.rows.value ?? []).map(({ name }) => name);
const folder = (): FakeFolder => fake.folder as FakeFolder;

/** A visit: the page as it is when it is opened. */
async function visit(): Promise<void> {
  vi.resetModules();
  at = await room();
  at.find.startFind();
  await soon(() => expect(at.documents.rows.value).not.toBeNull());
  await soon(() => expect(at.documents.rows.value?.length).toBe(folder().files.size));
}

beforeEach(async () => {
  fake.folder = new FakeFolder();
  Object.assign(fake, {
    document: [],
    query: [],
    most: Infinity,
    fails: null,
    changed: [],
  });
  await visit();
  useModel(at.state, 'tiny');
});
afterEach(() => {
  showModel(at.state.models, null);
});

it('reads files, finds in them, and has all of it at the next visit', async () => {
  await at.find.addFiles([
    file('a.txt', 'zebra zoo zig'),
    file('b.txt', 'apple banana'),
    new File([Uint8Array.of(0x89, 0x50, 0x4e, 0x47)], 'c.png'),
  ]);
  await allRead();
  expect(names()).toEqual(['a.txt', 'b.txt']);
  expect(at.documents.refusals.value).toEqual([{ name: 'c.png', why: 'picture' }]);
  expect(fake.document).toEqual(['zebra zoo zig', 'apple banana']);

  at.find.question.value = ' zoo ';
  await at.find.ask();
  expect(fake.query).toEqual(['zoo']);
  expect(at.find.found.value?.hits.map(({ name }) => name)).toEqual(['a.txt', 'b.txt']);

  await visit();
  useModel(at.state, 'tiny');
  expect(names()).toEqual(['a.txt', 'b.txt']);
  expect(at.find.unread.value).toEqual([]);
  at.find.question.value = 'banana';
  await at.find.ask();
  expect(at.find.found.value?.hits[0]?.name).toBe('b.txt');
  // Nothing was read again.
  expect(fake.document).toHaveLength(2);
});

it('stops, keeps what is read, and goes on at a later visit', async () => {
  const long = Array.from({ length: 3000 }, (_, i) => `Line ${i} of a long file.`).join('\n');
  fake.most = 2;
  await at.find.addFiles([file('long.txt', long)]);
  await soon(() => expect(fake.most).toBeLessThan(0));
  at.find.stopReading();
  await rest();
  const done = at.documents.rows.value?.[0]?.done ?? 0;
  expect(done).toBe(64);
  fake.most = Infinity;
  expect(at.find.unread.value).toHaveLength(1);

  await visit();
  useModel(at.state, 'tiny');
  expect(at.documents.rows.value?.[0]?.done).toBe(done);
  const before = fake.document.length;
  at.find.goOn();
  await allRead();
  const passages = (at.documents.rows.value?.[0]?.document?.places.length ?? 0) / 3;
  expect(fake.document.length - before).toBe(passages - done);
  expect(new Set(fake.document).size).toBe(passages);
});

it('answers a question between two parts of the reading', async () => {
  const long = Array.from({ length: 3000 }, (_, i) => `Line ${i} of a long file.`).join('\n');
  await at.find.addFiles([file('long.txt', long)]);
  await soon(() => expect(at.find.searchable.value).toHaveLength(1));
  at.find.question.value = 'line';
  await at.find.ask();
  expect(at.find.found.value?.hits.length).toBeGreaterThan(0);
  await allRead();
});

it('does not mix vectors of several models', async () => {
  await at.find.addFiles([file('a.txt')]);
  await allRead();
  useModel(at.state, 'other', { bytes: 2000 });
  expect(at.find.searchable.value).toEqual([]);
  expect(at.find.unread.value).toEqual([]);
  at.find.question.value = 'text';
  await at.find.ask();
  expect(at.find.found.value?.hits).toEqual([]);
  at.find.readAgain(at.documents.rows.value?.[0]?.id ?? '');
  await allRead();
  expect(at.find.searchable.value).toHaveLength(1);
  expect(fake.document).toHaveLength(2);
});

it('finds with no model of texts, unless it is for vectors', async () => {
  useModel(at.state, 'llama', { makes: ['text', 'vectors'], purpose: 'text' });
  expect(at.find.mark.value).toBeNull();
  useModel(at.state, 'qwen', { makes: ['text', 'vectors'], purpose: 'vectors' });
  expect(at.find.mark.value).not.toBeNull();
  useModel(at.state, 'bert', { makes: ['masks'], purpose: 'masks' });
  expect(at.find.mark.value).toBeNull();
});

it('on a full device, what was read can be searched, and what was kept stays as it was', async () => {
  await at.find.addFiles([file('a.txt')]);
  await allRead();
  const kept = [...folder().files].map(([name, bytes]) => [name, bytes.slice()]);
  folder().room = folder().used + 10;
  await at.find.addFiles([file('b.txt', 'zzz'), file('a.txt', 'aaa')]);
  await allRead();
  expect(at.documents.unkept.value).toBe('full');
  const stored = at.documents.rows.value?.map((row) => [row.name, row.stored > 0]);
  // The new a.txt has no room: the one before stays.
  expect(stored).toEqual([
    ['a.txt', true],
    ['b.txt', false],
  ]);
  at.find.question.value = 'zzz';
  await at.find.ask();
  expect(at.find.found.value?.hits[0]?.name).toBe('b.txt');
  expect([...folder().files]).toEqual(kept);

  folder().room = Infinity;
  for (const { id } of at.documents.rows.value ?? []) await at.documents.keep(id);
  expect(at.documents.unkept.value).toBeNull();
  await visit();
  expect(names().sort()).toEqual(['a.txt', 'b.txt']);
});

it('shows what is damaged, and removes it', async () => {
  await at.find.addFiles([file('a.txt'), file('b.txt')]);
  await allRead();
  const [first = ''] = folder().files.keys();
  folder().files.set(first, new Uint8Array(folder().files.get(first) ?? []).fill(7, 40, 50));
  folder().files.set('empty.find', new Uint8Array());
  folder().files.set('other.txt', new Uint8Array(9));
  vi.resetModules();
  at = await room();
  at.find.startFind();
  await soon(() => expect(at.documents.rows.value).toHaveLength(3));
  useModel(at.state, 'tiny');
  const bad = at.documents.rows.value?.filter(({ why }) => why === 'damaged') ?? [];
  expect(bad.map(({ id }) => `${id}.find`).sort()).toEqual([first, 'empty.find'].sort());
  for (const { id } of bad) expect(await at.documents.remove(id)).toBe(true);
  expect(names()).toEqual(['b.txt']);
  expect(folder().files.has(first)).toBe(false);
});

it('of the same name takes the place of the one before, and the same file is read once', async () => {
  await at.find.addFiles([file('a.txt', 'one')]);
  await allRead();
  await at.find.addFiles([file('a.txt', 'one')]);
  await allRead();
  expect(fake.document).toEqual(['one']);
  await at.find.addFiles([file('a.txt', 'two')]);
  await allRead();
  expect(names()).toEqual(['a.txt']);
  expect(folder().files.size).toBe(1);
  expect(fake.document).toEqual(['one', 'two']);
});

it('sees what another tab has read or removed', async () => {
  await at.find.addFiles([file('a.txt'), file('b.txt')]);
  await allRead();
  const rows = at.documents.rows.value ?? [];
  folder().files.delete(`${rows[0]?.id}.find`);
  fake.changed.at(-1)?.(rows[0]?.id ?? '');
  await soon(() => expect(names()).toEqual(['b.txt']));
  // What another tab has removed is not written again.
  const id = rows[1]?.id ?? '';
  folder().files.clear();
  expect(await at.documents.keep(id)).toBe(false);
  expect(names()).toEqual([]);
  expect(folder().files.size).toBe(0);
});

it('gives up when the model fails, and goes on when it is asked to', async () => {
  fake.fails = new Error('broken');
  await at.find.addFiles([file('a.txt')]);
  await rest();
  expect(at.find.unread.value).toHaveLength(1);
  expect(at.find.progress.value).toBeNull();
  fake.fails = null;
  at.find.goOn();
  await allRead();
});
