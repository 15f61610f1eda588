// The texts of copies, which come with the sheet of models.
import { copy } from '../texts/en/copy';
import { inLanguage } from '../texts/language';

export const copyTexts = inLanguage('copy', copy);
