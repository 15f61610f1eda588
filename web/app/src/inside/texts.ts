// The texts of the x-ray come with it.
import { xray } from '../texts/en/xray';
import { inLanguage } from '../texts/language';

export const xrayTexts = inLanguage('xray', xray);
