// What of this room comes later: the conversation itself. It fetches the card of the first model, which is in card-parts.ts.
import { Later } from '../ui/later';
import { holdField } from './early';

export const talkParts = new Later(
  () => import('./later'),
  ({ startTalk }) => {
    holdField();
    void startTalk();
  },
);
