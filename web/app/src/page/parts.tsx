// The parts of the page that aren't needed at first: conversations, the sheet of models, the settings; the writing view; and
// Find. Their scripts come when one of them is wanted, and else when the page is at rest.
import { signal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { holdField } from '../talk/early';
import { t } from '../texts';
import { whenAtRest } from './rest';

/** A script that comes later, and what it has. */
interface Room<All> {
  /** Null until it is there. */
  all: ReadonlySignal<All | null>;
  failed: ReadonlySignal<boolean>;
  /** Fetches it, if it isn't there. Resolves with null if that failed: the next call tries again. */
  fetch(): Promise<All | null>;
}

function room<All>(bring: () => Promise<All>, arrived: (all: All) => void): Room<All> {
  const all = signal<All | null>(null);
  const failed = signal(false);
  let coming: Promise<All | null> | null = null;
  const attempt = async (): Promise<All | null> => {
    failed.value = false;
    try {
      const came = await bring();
      arrived(came);
      all.value = came;
      return came;
    } catch (error) {
      // The network is gone, or the server has only a newer version of the page.
      console.error(error);
      failed.value = true;
      coming = null;
      return null;
    }
  };
  return { all, failed, fetch: () => (coming ??= attempt()) };
}

type Parts = typeof import('./later') &
  typeof import('./later-settings') &
  typeof import('./models-later');

const most = room<Parts>(
  async () => {
    const [first, models, settings] = await Promise.all([
      import('./later'),
      import('./models-later'),
      import('./later-settings'),
    ]);
    return { ...first, ...models, ...settings };
  },
  (all) => {
    holdField();
    void all.startTalk();
    all.startReturn();
  },
);
const writing = room(
  () => import('./later-writing'),
  ({ readKept }) => readKept(),
);

const find = room(
  () => import('./later-find'),
  ({ startFind }) => startFind(),
);

export const parts = most.all;
export const writingParts = writing.all;
export const fetchParts = most.fetch;
export const fetchWriting = writing.fetch;
export const fetchFind = find.fetch;

/** Fetches them as soon as nobody waits for anything: the network may be gone later. */
export function fetchPartsAtRest(): void {
  whenAtRest(() => void Promise.all([fetchParts(), fetchWriting(), fetchFind()]), 0);
}

/** Begins a new conversation, and shows it. */
export function newConversation(): void {
  void fetchParts().then((all) => all?.newConversation());
}

interface LaterProps<All> {
  /** Drawn until the script is there. */
  before?: ComponentChildren;
  children: (all: All) => ComponentChildren;
}

/** Draws what needs the parts; where they can't be fetched, says so. */
export function Later(props: LaterProps<Parts>) {
  return <Within of={most} {...props} />;
}

/** The same for what needs the writing view's script. */
export function LaterWriting(props: LaterProps<typeof import('./later-writing')>) {
  return <Within of={writing} {...props} />;
}

/** The same for what needs the script of Find. */
export function LaterFind(props: LaterProps<typeof import('./later-find')>) {
  return <Within of={find} {...props} />;
}

function Within<All>({ of, before = null, children }: LaterProps<All> & { of: Room<All> }) {
  useEffect(() => void of.fetch(), []);
  if (of.all.value !== null) return <>{children(of.all.value)}</>;
  if (!of.failed.value) return <>{before}</>;
  const { page } = t.value;
  return (
    <div class="note" role="alert">
      <p>{page.partMissing}</p>
      <button type="button" class="secondary" onClick={() => void of.fetch()}>
        {page.fetchPart}
      </button>
    </div>
  );
}
