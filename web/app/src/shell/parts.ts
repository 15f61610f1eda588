// The parts of the page that aren't needed at first: each room has declared its own. They come when one of them is wanted, and
// else when the page is at rest.
import { effect } from '@preact/signals';
import { findParts } from '../find/parts';
import { fileOpen } from '../inside/open';
import { listParts } from '../list/parts';
import { loadParts, modelParts } from '../model/parts';
import { whenAtRest } from '../model/rest';
import { loading, model, paused } from '../model/state';
import { settingsParts } from '../panel/parts';
import { cardParts } from '../talk/card-parts';
import { talkParts } from '../talk/parts';
import type { View } from '../ui/view';
import { writingParts } from '../writing/parts';

/** What a conversation needs, and what may be wanted at any time. */
const USUAL = [cardParts, talkParts, listParts, modelParts, settingsParts];

/** Fetches what is needed to show a view. */
export function fetchView(view: View): void {
  const needed = { talk: USUAL, write: [writingParts], find: [findParts] }[view];
  for (const { fetch } of needed) void fetch();
}

/** Fetches them as soon as nobody waits for anything: the network may be gone later. */
export function fetchPartsAtRest(): void {
  whenAtRest(() => {
    for (const { fetch } of [...USUAL, loadParts, writingParts, findParts]) void fetch();
  }, 0);
}

/**
 * Has the list of models on this device read when the page is at rest or a model comes from an address, and then whenever it
 * may have changed.
 */
export function keepList(): void {
  let begun = false;
  const begin = (): void => {
    if (begun) return;
    begun = true;
    void modelParts.fetch().then((later) => {
      later?.startList();
      // What can't be fetched now is tried again with the next model.
      begun = later !== null;
    });
  };
  whenAtRest(begin);
  effect(() => {
    if (loading.value?.source.kind === 'address') begin();
  });
}

/** What comes from an address may have a name on the shelf: that is fetched when there is such a model. */
export function keepNames(): void {
  effect(() => {
    const all = [loading.value, paused.value, model.value];
    if (all.some((one) => one?.source.kind === 'address')) void cardParts.fetch();
  });
}

/** Begins a new conversation, and shows it. */
export function newConversation(): void {
  fileOpen.value = false;
  void listParts.fetch().then((all) => all?.newConversation());
}
