// What of this room comes later: all but whether the list is open. With it comes what can be done with a whole conversation.
import { Later } from '../ui/later';

export const listParts = new Later(
  () => import('./later-list'),
  ({ list }) => list.leaveDeleted(),
);
