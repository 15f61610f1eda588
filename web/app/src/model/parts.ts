// What of this room comes later: the sheet of models, what was found in words, and the model of the last visit; and what is
// said of a load.
import { Later } from '../ui/later';

export const modelParts = new Later(
  () => import('./models-later'),
  ({ startKnown, startReturn, startShelf }) => {
    startShelf();
    startKnown();
    startReturn();
  },
);

export const loadParts = new Later(() => import('./later-load'));
