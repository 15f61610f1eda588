// All texts of the settings' room: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { language } from '../texts/language';
import { settings } from '../texts/settings-room';

export const roomTexts = computed(() => ({ ...t.value.settings, ...settings[language.value] }));
