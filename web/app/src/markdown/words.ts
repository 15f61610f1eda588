import { computed } from '@preact/signals';
import { language } from '../texts/language';
import { markdown, type MarkdownTexts } from '../texts/markdown';

/** The texts in the page's language. */
export const words = computed<MarkdownTexts>(() => markdown[language.value]);
