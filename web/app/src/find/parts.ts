// All of this room comes later.
import { Later } from '../ui/later';

export const findParts = new Later(
  () => import('./later-find'),
  ({ startFind }) => startFind(),
);
