// What of this room comes later: all but the prompt.
import { Later } from '../ui/later';

export const writingParts = new Later(
  () => import('./later-writing'),
  ({ readKept }) => readKept(),
);
