// The texts that the page begins with, in its language. en/ has a file for each room; a room's texts come with it.
import { computed } from '@preact/signals';
import { model as englishModel } from './en/model';
import { page as englishPage } from './en/page';
import { settings as englishSettings } from './en/settings';
import { talk as englishTalk } from './en/talk';
import { inLanguage } from './language';

export { LANGUAGES, browserLanguage, chosenLanguage, language, type Language } from './language';

const model = inLanguage('model', englishModel);
const page = inLanguage('page', englishPage);
const settings = inLanguage('settings', englishSettings);
const talk = inLanguage('talk', englishTalk);

/** `t.value.talk.send` */
export const t = computed(() => ({
  model: model.value,
  page: page.value,
  settings: settings.value,
  talk: talk.value,
}));
