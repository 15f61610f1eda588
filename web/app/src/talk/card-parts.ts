// What comes later for a reader who has no model that converses: the card of the first model, and what the shelf offers.
import { Later } from '../ui/later';

export const cardParts = new Later(
  () => import('./later-card'),
  ({ startShelf }) => startShelf(),
);
