// The sentences on the models that are on offer, in the page's language: as the shelf's file has them, or else as the page's
// own texts do, or else in English.
import { shelf } from '../texts/en/shelf';
import { inLanguage, language } from '../texts/language';
import type { Sentences, ShelfModel } from './shelf';

const own = inLanguage('shelf', shelf);

function said(sentences: Sentences, mine: string | undefined): string {
  return sentences[language.value] ?? mine ?? sentences['en'] ?? '';
}

/** What a model is good for. */
export function goodForInWords({ id, goodFor }: ShelfModel): string {
  return said(goodFor, own.value.goodFor[id]);
}

/** What terms of use ask for. */
export function termsInWords({ address, short }: NonNullable<ShelfModel['terms']>): string {
  return said(short, own.value.terms[address]);
}
