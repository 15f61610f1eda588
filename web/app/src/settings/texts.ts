// All texts of the settings' room: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { settingsRoom } from '../texts/en/settings-room';
import { inLanguage } from '../texts/language';

const room = inLanguage('settingsRoom', settingsRoom);

export const roomTexts = computed(() => ({ ...t.value.settings, ...room.value }));
