// All texts of the conversation view: those that come with it, and those that were there before.
import { computed } from '@preact/signals';
import { t } from '../texts';
import { talkRoom } from '../texts/en/talk-room';
import { inLanguage } from '../texts/language';

const room = inLanguage('talkRoom', talkRoom);

export const talkTexts = computed(() => ({ ...t.value.talk, ...room.value }));
