import { find } from '../texts/en/find';
import { inLanguage } from '../texts/language';

export const findTexts = inLanguage('find', find);
