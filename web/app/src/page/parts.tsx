// The parts of the page that aren't needed for the first text of a visit: conversations, the sheet of models, the
// settings. Their script comes when one of them is wanted, and else when the page is at rest.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../texts';
import { whenAtRest } from './rest';

type Parts = typeof import('./later') & typeof import('./later-settings');

/** Null until they are there. */
export const parts = signal<Parts | null>(null);
const failed = signal(false);
let coming: Promise<Parts | null> | null = null;

/** Fetches them, if they aren't there. Resolves with null if that failed: the next call tries again. */
export function fetchParts(): Promise<Parts | null> {
  coming ??= fetchThem();
  return coming;
}

async function fetchThem(): Promise<Parts | null> {
  failed.value = false;
  try {
    const [most, settings] = await Promise.all([import('./later'), import('./later-settings')]);
    const all = { ...most, ...settings };
    void all.startTalk();
    parts.value = all;
    return all;
  } catch (error) {
    // The network is gone, or the server has only a newer version of the page.
    console.error(error);
    failed.value = true;
    coming = null;
    return null;
  }
}

/** Fetches them as soon as nobody waits for anything: the network may be gone later. */
export function fetchPartsAtRest(): void {
  whenAtRest(() => void fetchParts(), 0);
}

/** Begins a new conversation, and shows it. */
export function newConversation(): void {
  void fetchParts().then((all) => all?.newConversation());
}

interface LaterProps {
  /** Drawn until the parts are there. */
  before?: ComponentChildren;
  children: (all: Parts) => ComponentChildren;
}

/** Draws what needs the parts; where they can't be fetched, says so. */
export function Later({ before = null, children }: LaterProps) {
  useEffect(() => void fetchParts(), []);
  if (parts.value !== null) return <>{children(parts.value)}</>;
  if (!failed.value) return <>{before}</>;
  const { page } = t.value;
  return (
    <div class="note" role="alert">
      <p>{page.partMissing}</p>
      <button type="button" class="secondary" onClick={() => void fetchParts()}>
        {page.fetchPart}
      </button>
    </div>
  );
}
