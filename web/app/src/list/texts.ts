// All texts of the list: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { language } from '../texts/language';
import { list } from '../texts/list';

export const listTexts = computed(() => ({ ...t.value.page, ...list[language.value] }));
