// All of this room that draws comes later: when somebody looks into a text for the first time.
import { Later } from '../ui/later';

export const insideParts = new Later(() => import('./later-inside'));
