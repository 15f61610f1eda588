// The texts on loads, which come with what shows them.
import { loads } from '../texts/en/loads';
import { inLanguage } from '../texts/language';

export const loadsTexts = inLanguage('loads', loads);
