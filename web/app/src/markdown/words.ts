import { markdown } from '../texts/en/markdown';
import { inLanguage } from '../texts/language';

/** The texts in the page's language. */
export const words = inLanguage('markdown', markdown);
