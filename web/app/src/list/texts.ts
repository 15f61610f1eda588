// All texts of the list: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { list as english } from '../texts/en/list';
import { inLanguage } from '../texts/language';

const list = inLanguage('list', english);

export const listTexts = computed(() => ({ ...t.value.page, ...list.value }));
