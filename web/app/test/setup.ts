// The tests speak any language where they want to, without waiting for its script.
import { LANGUAGES, fetchLanguage } from '../src/texts/language';

await Promise.all(LANGUAGES.map(fetchLanguage));
