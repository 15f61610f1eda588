// The texts on imports, which come with the list.
import { transfer } from '../texts/en/transfer';
import { inLanguage } from '../texts/language';

export const transferTexts = inLanguage('transfer', transfer);
