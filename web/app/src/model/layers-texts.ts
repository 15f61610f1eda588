// The texts of the picture of the layers come with it.
import { layers } from '../texts/en/layers';
import { inLanguage } from '../texts/language';

export const layersTexts = inLanguage('layers', layers);
