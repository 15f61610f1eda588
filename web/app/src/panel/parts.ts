// What of this room comes later: the fields of the settings, the figures in detail, and the list of shortcuts.
import { Later } from '../ui/later';

export const settingsParts = new Later(() => import('./later-settings'));
