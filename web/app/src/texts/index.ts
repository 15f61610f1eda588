// All texts of the page, in English and German. A file holds those of one room, both languages side by side.
import { computed } from '@preact/signals';
import { history } from './history';
import { language, type Language } from './language';
import { model } from './model';
import { page } from './page';
import { settings } from './settings';
import { talk } from './talk';
import { writing } from './writing';

export { LANGUAGES, browserLanguage, chosenLanguage, language, type Language } from './language';

const en = {
  ...{ model: model.en, page: page.en, settings: settings.en, talk: talk.en },
  ...{ history: history.en, writing: writing.en },
};
const de: typeof en = {
  ...{ model: model.de, page: page.de, settings: settings.de, talk: talk.de },
  ...{ history: history.de, writing: writing.de },
};
const TEXTS: Readonly<Record<Language, typeof en>> = { en, de };

/** The texts in the page's language: `t.value.talk.send`. */
export const t = computed(() => TEXTS[language.value]);
