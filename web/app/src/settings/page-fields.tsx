// What belongs to the reader and this device: language, colours, view.
import { VIEWS } from '../page/fragment';
import { chooseView, chosenView } from '../page/view';
import { LANGUAGES, chosenLanguage, type Language } from '../texts';
import { roomTexts } from './texts';
import { Choice } from './fields';
import { THEMES } from './choices';
import { chosenTheme } from './personal';

/** In the language itself, whatever the page's is. */
const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' };

/** null as a radio button's value. */
const AUTO = 'auto';

export function PageFields() {
  const texts = roomTexts.value;
  const auto = { value: AUTO, label: texts.auto } as const;
  return (
    <>
      <Choice
        name="language"
        label={texts.language}
        choices={[
          auto,
          ...LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value], lang: value })),
        ]}
        value={chosenLanguage.value ?? AUTO}
        onChoose={(value) => {
          chosenLanguage.value = value === AUTO ? null : value;
        }}
      />
      <Choice
        name="theme"
        label={texts.theme}
        choices={[auto, ...THEMES.map((value) => ({ value, label: texts.themeName[value] }))]}
        value={chosenTheme.value ?? AUTO}
        onChoose={(value) => {
          chosenTheme.value = value === AUTO ? null : value;
        }}
      />
      <Choice
        name="view"
        label={texts.view}
        choices={[auto, ...VIEWS.map((value) => ({ value, label: texts.viewName[value] }))]}
        value={chosenView.value ?? AUTO}
        onChoose={(value) => chooseView(value === AUTO ? null : value)}
      >
        {texts.viewHint}
      </Choice>
    </>
  );
}
