import { masks } from '../texts/en/masks';
import { inLanguage } from '../texts/language';

export const masksTexts = inLanguage('masks', masks);
