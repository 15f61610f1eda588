// The texts of kept conversations, which come with them.
import { history } from '../texts/en/history';
import { inLanguage } from '../texts/language';

export const historyTexts = inLanguage('history', history);
