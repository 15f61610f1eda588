// What isn't needed for the first text of a visit: it comes when it is wanted, and else when the page is at rest.
import { part } from './part';
import { whenAtRest } from './rest';

/** Conversations: the view, and the list beside it. */
export const talkPart = part(
  () => import('../talk/room'),
  ({ startTalk }) => void startTalk(),
);
/** What the sheet of models has in it. */
export const modelPart = part(() => import('../model/sheet'));
/** What the settings have in them. */
export const settingsPart = part(() => import('../settings/all'));
/** The details of the figures. */
export const figuresPart = part(() => import('../settings/figures'));

/** Fetches all of them when nobody waits for anything. */
export function fetchPartsAtRest(): void {
  whenAtRest(() => {
    for (const { fetch } of [modelPart, settingsPart, figuresPart, talkPart]) void fetch();
  });
}

/** Begins a new conversation, and shows it. */
export function newConversation(): void {
  void talkPart.fetch().then((talk) => talk?.newConversation());
}
