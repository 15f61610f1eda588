// How the settings are in short, and the figures of a text, in words, which come with the views.
import { figures } from '../texts/en/figures';
import { inLanguage } from '../texts/language';

export const figuresTexts = inLanguage('figures', figures);
