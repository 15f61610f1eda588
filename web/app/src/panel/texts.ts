// All texts of the panel: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { settingsRoom } from '../texts/en/settings-room';
import { inLanguage } from '../texts/language';
import { figuresTexts } from './figures-texts';

const room = inLanguage('settingsRoom', settingsRoom);

export const roomTexts = computed(() => ({
  ...t.value.settings,
  ...figuresTexts.value,
  ...room.value,
}));
