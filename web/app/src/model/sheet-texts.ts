// The texts of the sheet of models, which come with it.
import { sheet } from '../texts/en/sheet';
import { inLanguage } from '../texts/language';

export const sheetTexts = inLanguage('sheet', sheet);
