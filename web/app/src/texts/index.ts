// The texts that the page begins with, in its language. en/ and de/ have a file for each room; a room's texts come with it.
import { computed } from '@preact/signals';
import { model } from './en/model';
import { page } from './en/page';
import { settings } from './en/settings';
import { talk } from './en/talk';
import { inLanguage } from './language';

export { LANGUAGES, browserLanguage, chosenLanguage, language, type Language } from './language';

const rooms = {
  ...{ model: inLanguage('model', model), page: inLanguage('page', page) },
  ...{ settings: inLanguage('settings', settings), talk: inLanguage('talk', talk) },
};

/** `t.value.talk.send` */
export const t = computed(() => ({
  ...{ model: rooms.model.value, page: rooms.page.value },
  ...{ settings: rooms.settings.value, talk: rooms.talk.value },
}));
