// All texts of the list of models that this device keeps: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { kept } from '../texts/en/kept';
import { inLanguage } from '../texts/language';
import { loadsTexts } from './loads-texts';

const room = inLanguage('kept', kept);

export const keptTexts = computed(() => ({ ...loadsTexts.value.kept, ...room.value }));
