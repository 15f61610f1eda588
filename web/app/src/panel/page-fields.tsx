// What belongs to the reader and this device: language, colours, view.
import { VIEWS, chooseView, chosenView } from '../ui/view';
import { LANGUAGES, chosenLanguage, type Language } from '../texts';
import { roomTexts } from './texts';
import { Choice } from './fields';
import { THEMES } from '../settings/choices';
import { chosenTheme } from '../settings/personal';

/** A language's name in itself, whatever the page's is: Deutsch, Français. */
function nameOf(language: Language): string {
  const name = new Intl.DisplayNames([language], { type: 'language' }).of(language) ?? language;
  return name.charAt(0).toLocaleUpperCase(language) + name.slice(1);
}

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
          ...LANGUAGES.map((value) => ({ value, label: nameOf(value), lang: value })),
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
