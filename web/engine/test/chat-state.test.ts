// The states of conversations that the device keeps: what is restored and written, and what of it survives.
import { openFolder } from '../src/platform/here.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NotKeptReason } from '../src/shared/facts.js';
import type { Note } from '../src/shared/notes.js';
import {
  deleteState,
  listStates,
  shrinkStates,
  stateKey,
} from '../src/loader/store/state-files.js';
import type { KeptState } from '../src/shared/cache-types.js';
import { errorAnswer, fakeModule, makeControl, makeFile, type Control } from './fake-module.js';
import type { Folder } from '../src/platform/platform.js';
import { FakeOpfs } from './fake-opfs.js';
import { HostRig, endRigs } from './host-rig.js';

let opfs: FakeOpfs;
beforeEach(() => {
  opfs = new FakeOpfs().install();
});
afterEach(() => {
  endRigs();
  vi.unstubAllGlobals();
});

const LIMIT = 1e9;
const HEAD = 1024;
/** Of the fake's pieces. */
const PIECE = 108 + 8 * 256;

async function folder(): Promise<Folder> {
  return (await openFolder()) as Folder;
}
const list = async (): Promise<KeptState[]> => listStates(await folder());

function stateNotKept(reason: NotKeptReason, words: string): object {
  const message = expect.stringContaining(words) as string;
  return { code: 'state_not_kept', message, audience: 'user', facts: { reason } };
}

/** An engine: one life of a tab. */
class Life {
  readonly control: Control;
  readonly host: HostRig;
  #id = 0;

  private constructor(given: Partial<Control>) {
    this.control = { ...makeControl(), contextSize: 5000, ...given };
    this.host = new HostRig(fakeModule(this.control, false), makeFile(), {
      shared: false,
      access: 'sequential',
    });
  }

  static async begin(given: Partial<Control> = {}): Promise<Life> {
    const life = new Life(given);
    await life.host.until('ready');
    return life;
  }

  /** Sends a request, whose prompt has a token for each character. Returns its number. */
  send(text: string, state: string | null = 'a', limit = LIMIT): number {
    this.#id += 1;
    this.host.call(this.#id, 'chat', {
      options: '{"seed":1}',
      maxTokens: null,
      thinkingTokens: -1,
      bytes: false,
      progress: false,
      prompt: { kind: 'text', text },
      state: state === null ? null : { id: state, limit },
    });
    return this.#id;
  }

  async ended(id: number): Promise<void> {
    const over = (): boolean =>
      this.host.told.some(
        (one) => ['done', 'error'].includes(one.type) && 'id' in one && one.id === id,
      );
    await vi.waitFor(() => expect(over()).toBe(true), 20_000);
  }

  /** Sends a request, and waits until its answer is written and kept. Returns what was not computed. */
  async ask(text: string, state: string | null = 'a', limit = LIMIT): Promise<number> {
    await this.ended(this.send(text, state, limit));
    await this.settled();
    return this.control.replies.at(-1)?.reused ?? -1;
  }

  /** Waits until nothing is read or written. */
  async settled(): Promise<void> {
    await vi.waitFor(() => {
      expect(opfs.handles.size).toBe(0);
      expect(opfs.locks.held).toEqual([]);
    }, 20_000);
  }

  get notes(): Note[] {
    return this.host.of('notes').flatMap(({ notes }) => notes);
  }

  /** The tab is closed: nothing is left of it but files. */
  end(): void {
    this.host.end();
    opfs.restart();
  }
}

/** What the fake answers: the prompt. So a prompt of n characters leaves 2 n tokens. */
const text = (n: number, letter = 'x'): string => letter.repeat(n);

describe('a state', () => {
  it('goes on in the next life, with all tokens but the new ones', async () => {
    const first = await Life.begin();
    expect(await first.ask(text(300))).toBe(0);
    expect(await list()).toEqual([
      {
        id: 'a',
        tokens: 600,
        bytes: HEAD + 2 * PIECE + 108 + 8 * 88,
        used: expect.any(Number) as number,
      },
    ]);
    first.end();
    const second = await Life.begin();
    expect(await second.ask(text(650))).toBe(600);
    expect(second.control.sessions).toBe(2);
    expect(second.control.files).toBe(0);
    expect(second.notes).toEqual([]);
    second.end();
    const third = await Life.begin();
    expect(await third.ask(text(650) + text(650) + 'y')).toBe(1300);
  });

  it('is kept again after a lock that could not be asked for', async () => {
    const life = await Life.begin();
    const fault = new DOMException('no locks now', 'InvalidStateError');
    vi.spyOn(navigator.locks, 'request').mockRejectedValueOnce(fault);
    await life.ask(text(300));
    expect(life.notes).toMatchObject([stateNotKept('unreadable', 'no locks now')]);
    expect(await list()).toEqual([]);
    await life.ask(text(300));
    expect(await list()).toMatchObject([{ id: 'a', tokens: 600 }]);
  });

  it('is not read if a session in memory has as much', async () => {
    const life = await Life.begin();
    await life.ask(text(300));
    opfs.read_bytes = 0;
    expect(await life.ask(text(600) + 'y')).toBe(600);
    // Only what its pieces begin with.
    expect(opfs.read_bytes).toBeLessThan(4 * 1200);
    expect(life.control.sessions).toBe(2);
  });

  it('is not read for the last token of a prompt, which is always computed', async () => {
    const life = await Life.begin();
    await life.ask(text(300));
    opfs.read_bytes = 0;
    expect(await life.ask(text(600))).toBe(599);
    expect(opfs.read_bytes).toBeLessThan(4 * 1200);
  });

  it.each([
    [200, 600],
    [100, 0],
  ])('is read if a session in memory can go back by %i tokens only', async (reach, reused) => {
    const life = await Life.begin({ reach });
    await life.ask(text(700));
    // The session has 1400 tokens, and what is read of the file 768.
    expect(await life.ask(text(600) + 'y')).toBe(reused);
    expect(life.control.files).toBe(0);
    expect(life.notes).toEqual([]);
  });

  it('has its whole pieces written once', async () => {
    const life = await Life.begin();
    await life.ask(text(300));
    opfs.written_bytes = 0;
    await life.ask(text(600) + text(10, 'y'));
    // From the piece on that was not whole.
    expect(opfs.written_bytes).toBe(piecesFrom(512, 1220));
    life.end();
    const next = await Life.begin();
    opfs.written_bytes = 0;
    const all = text(600) + text(10, 'y');
    expect(await next.ask(`${all}${all}z`)).toBe(1220);
    expect(opfs.written_bytes).toBe(piecesFrom(1024, 2442));
  });

  it('keeps what an edit leaves, and drops the rest', async () => {
    const life = await Life.begin();
    await life.ask(text(700));
    await life.ask(text(600) + text(10, 'y'));
    expect((await list())[0]?.tokens).toBe(1220);
    life.end();
    const next = await Life.begin();
    expect(await next.ask(text(600) + text(10, 'z'))).toBe(600);
  });

  it('of another model counts as absent, and is replaced', async () => {
    const first = await Life.begin();
    await first.ask(text(300));
    first.end();
    const other = await Life.begin({ identity: 2 });
    expect(await other.ask(text(310))).toBe(0);
    other.end();
    const again = await Life.begin({ identity: 2 });
    expect(await again.ask(text(620) + 'y')).toBe(620);
  });

  it('waits for weights that say what the model is', async () => {
    const first = await Life.begin();
    await first.ask(text(300));
    first.end();
    let known = false;
    const life = await Life.begin({ identified: () => known });
    const id = life.send(text(600) + 'y');
    await vi.waitFor(() => expect(opfs.handles.size).toBe(1));
    expect(life.control.replies).toEqual([]);
    known = true;
    // As if weights had come.
    life.host.generate(0, 99, 1);
    await life.ended(id);
    expect(life.control.replies.at(-1)?.reused).toBe(600);
  });
});

/** Bytes of the fake's pieces from this position on, for so many tokens. */
function piecesFrom(first: number, tokens: number): number {
  let bytes = 0;
  for (let at = first; at < tokens; at += 256) bytes += 108 + 8 * Math.min(256, tokens - at);
  return bytes;
}

describe('what is left of a state', () => {
  it('after damage anywhere ends before it', { timeout: 60_000 }, async () => {
    const first = await Life.begin();
    await first.ask(text(400));
    first.end();
    const good = opfs.only('.state').bytes.slice();
    const damaged = async (at: number, cut = Infinity): Promise<number> => {
      const bytes = good.slice(0, cut);
      if (at < bytes.length) bytes[at] = (bytes[at] as number) ^ 1;
      opfs.put(`${await stateKey('a')}.state`, bytes);
      const life = await Life.begin();
      const reused = await life.ask(text(800) + 'y');
      expect((await list())[0]?.tokens).toBe(1602);
      life.end();
      return reused;
    };
    expect(await damaged(Infinity)).toBe(800);
    for (const at of [0, 12, 1020, HEAD + 200]) expect(await damaged(at), String(at)).toBe(0);
    for (const at of [1, 50, 90, PIECE - 1].map((at) => HEAD + PIECE + at))
      expect(await damaged(at), String(at)).toBe(256);
    expect(await damaged(HEAD + 3 * PIECE + 90)).toBe(768);
    for (const cut of [0, HEAD, HEAD + PIECE - 1])
      expect(await damaged(Infinity, cut), String(cut)).toBe(0);
    expect(await damaged(Infinity, HEAD + PIECE)).toBe(256);
    expect(await damaged(Infinity, good.length - 1)).toBe(768);
  });

  it(
    'when the tab is killed while it writes is right, or shorter',
    { timeout: 60_000 },
    async () => {
      const first = await Life.begin();
      await first.ask(text(300));
      first.end();
      const good = opfs.only('.state').bytes.slice();
      const reused = new Set<number>();
      for (let steps = 0; steps < 7200; steps += 900) {
        opfs.put(`${await stateKey('a')}.state`, good);
        const life = await Life.begin();
        opfs.killAfter(steps);
        await life.ended(life.send(text(600) + text(10, 'y')));
        // Its worker has come to where it is killed, or to the end.
        await vi.waitFor(
          () =>
            expect(life.host.of('failed').length > 0 || opfs.locks.held.length === 0).toBe(true),
          20_000,
        );
        life.end();
        const next = await Life.begin();
        reused.add(await next.ask(text(600) + text(10, 'y') + text(600) + text(10, 'y') + 'z'));
        next.end();
      }
      for (const one of reused) expect(one === 1220 || one === 600 || one % 256 === 0).toBe(true);
      expect(reused.size).toBeGreaterThan(2);
    },
  );

  it('of an answer that was stopped is kept', async () => {
    const life = await Life.begin({ replyWaits: (i) => i === 1 && 'weights' });
    const id = life.send('one two three');
    await life.host.until('tokens');
    life.host.cancel(id);
    await life.ended(id);
    await life.settled();
    expect((await list())[0]?.tokens).toBe('one two threeone'.length);
  });
});

describe('room', () => {
  it('is made by dropping the states that were used least recently', async () => {
    const life = await Life.begin();
    for (const id of ['a', 'b', 'c']) await life.ask(text(300, id), id);
    const [{ bytes = 0 } = {}] = await list();
    expect((await list()).map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    await life.ask(text(600, 'a') + 'y', 'a', 3.5 * bytes);
    expect((await list()).map(({ id }) => id)).toEqual(['a', 'c']);
    expect(await shrinkStates(await folder(), 0)).toBeGreaterThan(2 * bytes);
    expect(await list()).toEqual([]);
  });

  it('that one alone exceeds is not taken', async () => {
    const life = await Life.begin();
    await life.ask(text(300), 'a', 3000);
    expect(await list()).toEqual([]);
    expect(life.notes).toMatchObject([stateNotKept('storage_full', 'the limit is')]);
  });

  it('that is not there leaves the answer, and a note', async () => {
    opfs.failWrites = true;
    const life = await Life.begin();
    await life.ask('one two');
    expect(life.host.texts(1)).toEqual(['one', ' two']);
    expect(life.notes).toMatchObject([stateNotKept('storage_full', 'is not kept on this device')]);
    opfs.failWrites = false;
    await life.ask('one two');
    expect((await list())[0]?.tokens).toBe(14);
  });

  it('that the browser gives nobody does so, too', async () => {
    vi.stubGlobal('navigator', {});
    const life = await Life.begin();
    await life.ended(life.send('one two'));
    expect(life.host.texts(1)).toEqual(['one', ' two']);
    expect(life.notes).toMatchObject([stateNotKept('unsupported', 'no private file system')]);
  });
});

describe('several at a time', () => {
  it('one tab writes a state, and the other goes without', async () => {
    let waits = true;
    const one = await Life.begin({ replyWaits: (i) => waits && i === 1 && 'weights' });
    const other = await Life.begin();
    const first = one.send('one two');
    await one.host.until('tokens');
    await other.ended(other.send('three four'));
    expect(other.notes).toMatchObject([stateNotKept('in_use', 'another tab uses it')]);
    await expect(deleteState(await folder(), 'a')).rejects.toMatchObject({ code: 'busy' });
    waits = false;
    one.host.generate(0, 99, 1);
    await one.ended(first);
    await one.settled();
    expect((await list())[0]?.tokens).toBe(14);
    // Now it is free.
    await other.ask('three four');
    expect((await list())[0]?.tokens).toBe(20);
    // What the other has written is not taken for one's own.
    await one.ask(`${text(300)} two`);
    expect(await deleteState(await folder(), 'a')).toBe(true);
    expect(await deleteState(await folder(), 'a')).toBe(false);
  });

  it('a request that is cancelled while its state is read leaves it to the next one', async () => {
    const first = await Life.begin();
    await first.ask(text(600));
    first.end();
    const life = await Life.begin({ identified: () => false });
    const id = life.send(text(1200) + 'y');
    await vi.waitFor(() => expect(opfs.handles.size).toBe(1));
    life.host.cancel(id);
    await life.ended(id);
    // Its reading has not ended yet, and one that waits for that may be cancelled, too.
    const second = life.send(text(1200) + 'w');
    life.host.cancel(second);
    await life.ended(second);
    life.control.identified = () => true;
    expect(await life.ask(text(1200) + 'z')).toBe(1200);
    expect(life.control.files).toBe(0);
  });

  it('an answer for which there is no memory takes that of a state that is being written', async () => {
    const memory = { budget: 500, total: 490, kv: 5, session: 20 };
    const life = await Life.begin({ identified: () => false, memory });
    await life.ended(life.send(text(300)));
    // The engine's own, the chat's, and what is being written.
    expect(life.control.sessions).toBe(3);
    life.control.replyFails = () =>
      life.control.sessions > 2 ? errorAnswer('out_of_memory', 'there is none') : null;
    const id = life.send('one two', null);
    await life.ended(id);
    expect(life.host.of('error')).toEqual([]);
    expect(life.host.texts(id)).toEqual(['one', ' two']);
    life.control.identified = () => true;
    await life.settled();
    expect(life.notes).toMatchObject([
      stateNotKept('out_of_memory', 'an answer needed its memory'),
    ]);
    // The next answer is kept again.
    expect(await life.ask(text(300))).toBeGreaterThanOrEqual(0);
    expect((await list())[0]?.tokens).toBe(600);
    expect(life.control.files).toBe(0);
  });

  it('an engine that is closed while it writes leaves nothing open', async () => {
    const life = await Life.begin({ identified: () => false });
    await life.ended(life.send(text(600)));
    life.host.close();
    await life.host.until('closed');
    await life.settled();
    expect([life.control.sessions, life.control.files]).toEqual([0, 0]);
  });
});
