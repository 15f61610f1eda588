// How keys are called.
import { t } from '../texts';
import { apple } from './device';

/** The key that shortcuts are held with, as it is written on the keyboard. */
export const command = (): string => (apple ? '⌘' : t.value.page.keys.control);
