// The texts of the sheet on getting another model, which come with it.
import { another } from '../texts/en/another';
import { inLanguage } from '../texts/language';

export const anotherTexts = inLanguage('another', another);
