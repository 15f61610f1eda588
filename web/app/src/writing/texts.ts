// The texts of the writing view come with that view.
import { writing } from '../texts/en/writing';
import { inLanguage } from '../texts/language';

export const writingTexts = inLanguage('writing', writing);
