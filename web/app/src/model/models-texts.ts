// All texts of notices and of models that are kept or offered: those that come with them, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { models } from '../texts/en/models';
import { inLanguage } from '../texts/language';

const room = inLanguage('models', models);

export const modelsTexts = computed(() => ({
  ...room.value,
  notices: { ...t.value.model.notices, ...room.value.notices },
}));
