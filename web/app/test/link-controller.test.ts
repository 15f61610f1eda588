// What the page's address opens, and what it is made to say; offers of links, and what becomes of them.
import { signal, type Signal } from '@preact/signals';
import { SluiceError, type CachedModel, type ModelInfo } from '@sluice/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { explain } from '../src/model/advice';
import type { Choice } from '../src/model/choice';
import { OfferController } from '../src/model/offer-controller';
import { NONE, beginning, type Model, type Phase } from '../src/model/phases';
import { BUNDLED, fromAddress, type Source } from '../src/model/source';
import { DEFAULTS, settings } from '../src/settings/settings';
import { LinkController } from '../src/shell/link';
import { chosenView, prompted, usualView, view } from '../src/ui/view';
import { DEFAULT_PROMPT, prompt } from '../src/link/prompt';

const HOME = 'https://page.example';
const FIRST = 'https://first.example/a.gguf';
const SECOND = 'https://second.example/b.gguf';
const OWN_SITE = `${HOME}/models/c.gguf`;

/** An answer that the test gives when it wants to. */
function answers<T>() {
  const asked = new Map<string, (answer: T) => void>();
  return {
    asked,
    ask: (url: string): Promise<T> => new Promise((resolve) => asked.set(url, resolve)),
    give: async (url: string, answer: T) => {
      asked.get(url)?.(answer);
      await settled();
    },
  };
}

/** All that follows from what was done, has happened. (Timers are the test's.) */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

const addressOf = (url: string): string => `#model=${encodeURIComponent(url)}`;

/** A page at an address. `model`: what the page itself put into its history. */
function setUp(hash = '', last: Choice | null = null, model: string | null = null) {
  const opened: Source[] = [];
  const put: Source[] = [];
  const told: string[] = [];
  const phase: Signal<Phase> = signal(NONE);
  const kept = answers<boolean>();
  const parts = answers<CachedModel | null>();
  const headers = answers<{ info: ModelInfo | null; failure: ReturnType<typeof explain> | null }>();
  const aborted: string[] = [];
  const comes = answers<boolean>();
  let listener = (): void => undefined;
  const page = {
    location: { hash, origin: HOME, pathname: '/app/', search: '' },
    history: {
      state: (model === null ? null : { model }) as unknown,
      replaceState: vi.fn((state: unknown, _: string, url?: string | URL | null) => {
        page.history.state = state;
        page.location.hash = String(url).startsWith('#') ? String(url) : '';
      }),
    },
    addEventListener: (_: 'hashchange', to: () => void) => (listener = to),
  };
  const open = async (source: Source): Promise<void> => {
    opened.push(source);
    const { paused, problem } = phase.peek();
    phase.value = {
      kind: 'loading',
      coming: beginning(source, false),
      shown: null,
      paused,
      problem,
    };
  };
  const offers = new OfferController({
    open,
    putAside: (source) => {
      put.push(source);
      phase.value = { kind: 'paused', paused: { source, progress: null }, problem: null };
    },
    tell: ({ code }) => told.push(code),
    isKept: kept.ask,
    partOf: parts.ask,
  });
  const link = new LinkController({
    page,
    base: `${HOME}/app/`,
    models: {
      phase,
      open,
      get writable() {
        return signal(phase.value.kind === 'ready' || phase.value.kind === 'loading');
      },
      seek: (choice) => {
        phase.value = { kind: 'seeking', choice, paused: null, problem: null };
      },
    },
    offers,
    lastChoice: () => last,
    fetchReturn: () => comes.ask('return'),
  });
  return {
    link,
    offers,
    lookAt: () =>
      offers.lookAt((url, ended) => {
        ended.addEventListener('abort', () => aborted.push(url));
        return headers.ask(url);
      }),
    page,
    phase,
    opened,
    put,
    told,
    kept,
    parts,
    headers,
    aborted,
    comes,
    /** The reader changes the address. */
    goTo: async (to: string) => {
      page.location.hash = to;
      listener();
      await settled();
    },
    /** The model of the last load is in use. */
    ready: () => {
      const source = opened.at(-1);
      const shown = { source, info: { name: 'a' } } as unknown as Model;
      phase.value = { kind: 'ready', shown, paused: null, problem: null };
    },
    /** What the address says once it is written. */
    written: () => {
      vi.runAllTimers();
      return page.location.hash;
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  prompt.value = DEFAULT_PROMPT;
  settings.value = { ...DEFAULTS };
  chosenView.value = usualView.value = null;
  prompted.value = false;
});

describe('an address', () => {
  it('that says nothing opens the page’s own model, with what the reader chose last', () => {
    usualView.value = 'write';
    const at = setUp();
    at.link.start();
    expect(at.opened).toEqual([BUNDLED]);
    expect(view.value).toBe('write');
    expect(at.offers.offer.value).toBeNull();
    expect(at.link.ignored.value).toEqual([]);
  });

  it('that says nothing has the model of the last visit looked for', async () => {
    const last = { ref: FIRST, name: 'A' };
    const at = setUp('', last);
    at.link.start();
    expect(at.opened).toEqual([]);
    expect(at.phase.value).toMatchObject({ kind: 'seeking', choice: last });
    // It is named while it is looked for.
    expect(at.written()).toBe(addressOf(FIRST));
    await at.comes.give('return', true);
    expect(at.opened).toEqual([]);
  });

  it('whose last model can’t be looked for opens the page’s own', async () => {
    const at = setUp('', { ref: FIRST, name: 'A' });
    at.link.start();
    await at.comes.give('return', false);
    expect(at.opened).toEqual([BUNDLED]);
  });

  it('whose last model can’t be looked for leaves what the reader has opened meanwhile', async () => {
    const at = setUp('', { ref: FIRST, name: 'A' });
    at.link.start();
    at.offers.openAddress(SECOND);
    await at.comes.give('return', false);
    expect(at.opened).toEqual([fromAddress(SECOND)]);
  });

  it('is read: prompt, settings and view, and what can’t be used is named until that is closed', () => {
    const at = setUp('#prompt=One%20day&temperature=0.5&topK=no&view=write');
    at.link.start();
    expect([prompt.value, settings.value.temperature, view.value]).toEqual([
      'One day',
      0.5,
      'write',
    ]);
    expect(prompted.value).toBe(true);
    expect(at.link.ignored.value).toHaveLength(1);
    at.link.closeIgnored();
    expect(at.link.ignored.value).toEqual([]);
  });

  it('of the page’s own site is opened without a question', () => {
    const at = setUp(addressOf(OWN_SITE));
    at.link.start();
    expect(at.opened).toEqual([fromAddress(OWN_SITE)]);
    expect(at.offers.offer.value).toBeNull();
    expect(at.offers.address.value).toBe(OWN_SITE);
  });

  it('that names the model of the last visit offers nothing', () => {
    const at = setUp(addressOf(FIRST), { ref: FIRST, name: 'A' });
    at.link.start();
    expect(at.offers.offer.value).toBeNull();
    expect(at.phase.value).toMatchObject({ kind: 'seeking' });
    expect(at.kept.asked.size).toBe(0);
  });

  it('that is changed to nothing leaves a model that is there', async () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    at.ready();
    await at.goTo('');
    expect(at.offers.offer.value).toBeNull();
    expect(at.opened).toEqual([BUNDLED]);
    at.phase.value = NONE;
    await at.goTo(addressOf(SECOND));
    await at.goTo('');
    expect(at.opened).toEqual([BUNDLED, BUNDLED]);
  });

  it('that is changed, but not its model, changes nothing of that', async () => {
    const at = setUp(addressOf(OWN_SITE));
    at.link.start();
    at.ready();
    await at.goTo(`${addressOf(OWN_SITE)}&prompt=Two`);
    expect(prompt.value).toBe('Two');
    expect(at.opened).toHaveLength(1);
  });
});

describe('an offer', () => {
  it('fetches nothing before the reader agrees, and the page’s own model is opened meanwhile', async () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    expect(at.offers.offer.value).toEqual({
      url: FIRST,
      asked: false,
      info: null,
      own: false,
      failure: null,
    });
    expect(at.opened).toEqual([BUNDLED]);
    await at.kept.give(FIRST, false);
    await at.parts.give(FIRST, null);
    expect(at.headers.asked.size).toBe(0);
    expect(at.offers.offer.value).toMatchObject({ url: FIRST, asked: false });
  });

  it('has its header fetched once the reader agrees, and is loaded once he agrees again', async () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    void at.lookAt();
    expect(at.offers.offer.value).toMatchObject({ asked: true, info: null });
    // A second press asks nothing.
    void at.lookAt();
    expect(at.headers.asked.size).toBe(1);
    const info = { name: 'A' } as ModelInfo;
    await at.headers.give(FIRST, { info, failure: null });
    expect(at.offers.offer.value).toMatchObject({ asked: true, info });
    at.offers.accept();
    expect(at.opened).toEqual([BUNDLED, fromAddress(FIRST)]);
    expect(at.offers.offer.value).toBeNull();
    // There is none any more.
    at.offers.accept();
    void at.lookAt();
    expect(at.opened).toHaveLength(2);
  });

  it('whose header can’t be fetched can be asked again', async () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    void at.lookAt();
    const failure = explain(new SluiceError('download_failed', '404', { facts: {} }));
    await at.headers.give(FIRST, { info: null, failure });
    expect(at.offers.offer.value).toMatchObject({ asked: true, failure });
    void at.lookAt();
    expect(at.offers.offer.value).toMatchObject({ asked: true, failure: null });
    at.offers.close();
    expect(at.aborted).toContain(FIRST);
    await at.headers.give(FIRST, { info: { name: 'A' } as ModelInfo, failure: null });
    expect(at.offers.offer.value).toBeNull();
  });

  it('of a model that is kept here is loaded at once', async () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    at.kept.asked.get(FIRST)?.(true);
    await at.parts.give(FIRST, null);
    expect(at.opened).toEqual([BUNDLED, fromAddress(FIRST)]);
    expect(at.offers.offer.value).toBeNull();
  });

  it('of which a part is here is a load that is paused', async () => {
    const at = setUp(addressOf(FIRST), null, FIRST);
    at.link.start();
    expect(at.offers.offer.value).toMatchObject({ own: true });
    at.kept.asked.get(FIRST)?.(false);
    await at.parts.give(FIRST, { stored: 5 } as CachedModel);
    expect(at.put).toEqual([fromAddress(FIRST)]);
    expect(at.offers.offer.value).toBeNull();
    // The address goes on naming it.
    expect(at.written()).toBe(addressOf(FIRST));
  });

  it('of one’s own address is not seen until it is known that nothing is here', async () => {
    const at = setUp(addressOf(FIRST), null, FIRST);
    at.link.start();
    expect(at.offers.offer.value).toMatchObject({ own: true });
    at.kept.asked.get(FIRST)?.(false);
    await at.parts.give(FIRST, null);
    expect(at.offers.offer.value).toMatchObject({ own: false });
  });

  it('is not loaded because the one before is kept on this device', async () => {
    const at = setUp();
    at.link.start();
    await at.goTo(addressOf(FIRST));
    void at.lookAt();
    await at.goTo(addressOf(SECOND));
    expect(at.offers.offer.value).toMatchObject({ url: SECOND, asked: false });
    at.parts.asked.get(FIRST)?.(null);
    await at.kept.give(FIRST, true);
    expect(at.offers.offer.value).toMatchObject({ url: SECOND, asked: false });
    expect(at.opened).toEqual([BUNDLED]);
    // That it is kept itself is one.
    at.parts.asked.get(SECOND)?.(null);
    await at.kept.give(SECOND, true);
    expect(at.opened).toEqual([BUNDLED, fromAddress(SECOND)]);
  });

  it('that the reader has agreed to is not loaded unseen when it turns out to be kept', async () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    void at.lookAt();
    at.parts.asked.get(FIRST)?.(null);
    await at.kept.give(FIRST, true);
    expect(at.opened).toEqual([BUNDLED]);
    expect(at.offers.offer.value).toMatchObject({ asked: true });
  });

  it('goes where the reader opens something else', () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    expect(at.offers.openAddress('no address')).toBe(false);
    expect(at.offers.offer.value).not.toBeNull();
    expect(at.offers.openAddress(` ${SECOND} `, 'ab')).toBe(true);
    expect(at.opened.at(-1)).toEqual(fromAddress(SECOND, true, 'ab'));
    expect(at.offers.offer.value).toBeNull();
    at.offers.openFiles([]);
    expect(at.opened).toHaveLength(2);
    at.offers.openFiles([new File([''], 'a.gguf'), new File([''], 'b.gguf')]);
    expect(at.told).toEqual(['invalid_argument']);
    at.offers.openFiles([new File([''], 'a.gguf')]);
    expect(at.opened.at(-1)).toMatchObject({ kind: 'files' });
  });
});

describe('the address is written', () => {
  it('at once for a model and a view, and when the reader rests for what is typed', () => {
    const at = setUp();
    at.link.start();
    vi.runAllTimers();
    expect(at.page.history.replaceState).not.toHaveBeenCalled();
    at.offers.openAddress(FIRST);
    vi.advanceTimersByTime(0);
    expect(at.page.location.hash).toBe(addressOf(FIRST));
    // The next visit of this address knows that it is the reader's own.
    expect(at.page.history.state).toEqual({ model: FIRST });
    prompt.value = 'One';
    vi.advanceTimersByTime(200);
    prompt.value = 'One day';
    vi.advanceTimersByTime(200);
    expect(at.page.location.hash).toBe(addressOf(FIRST));
    vi.advanceTimersByTime(50);
    expect(at.page.location.hash).toBe(`#prompt=One%20day&${addressOf(FIRST).slice(1)}`);
    chosenView.value = 'find';
    vi.advanceTimersByTime(0);
    expect(at.page.location.hash).toContain('view=find');
  });

  it('without a fragment where all is as usual', () => {
    const at = setUp('#prompt=One');
    at.link.start();
    prompt.value = DEFAULT_PROMPT;
    vi.runAllTimers();
    expect(at.page.history.replaceState).toHaveBeenLastCalledWith({ model: null }, '', '/app/');
  });

  it('with an offer, but not as the reader’s own model', () => {
    const at = setUp(addressOf(FIRST));
    at.link.start();
    chosenView.value = 'write';
    expect(at.written()).toContain(addressOf(FIRST).slice(1));
    expect(at.page.history.state).toEqual({ model: null });
  });

  it('with what failed, until the message about it is closed, and not with what comes back', () => {
    const at = setUp();
    at.link.start();
    const source = fromAddress(FIRST);
    const failure = explain(new SluiceError('download_failed', 'gone', { facts: {} }));
    const problem = { ...failure, retry: source, name: 'a', also: null };
    const coming = beginning(fromAddress(SECOND), true);
    at.phase.value = { kind: 'loading', coming, shown: null, paused: null, problem };
    expect(at.written()).toBe(addressOf(FIRST));
    at.phase.value = { kind: 'loading', coming, shown: null, paused: null, problem: null };
    expect(at.written()).toBe(addressOf(SECOND));
    at.phase.value = { kind: 'failed', paused: null, problem };
    expect(at.written()).toBe(addressOf(FIRST));
    at.phase.value = NONE;
    expect(at.written()).toBe('');
  });

  it('though the browser refuses now and then', () => {
    const at = setUp();
    at.link.start();
    at.page.history.replaceState.mockImplementationOnce(() => {
      throw new Error('too often');
    });
    at.offers.openAddress(FIRST);
    expect(at.written()).toBe('');
    chosenView.value = 'write';
    expect(at.written()).toContain('view=write');
  });
});
