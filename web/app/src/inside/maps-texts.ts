import { insideMaps } from '../texts/en/inside-maps';
import { inLanguage } from '../texts/language';

export const insideMapsTexts = inLanguage('insideMaps', insideMaps);
