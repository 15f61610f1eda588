// Puts the facts of errors and notes into the page's sentences.
import type { Facts } from '@sluice/engine';
import { bytes, count } from '../texts/format';

/** How many of a checksum's digits are shown: enough to tell two apart. */
const DIGITS = 12;

function inWords(name: string, facts: Facts): string {
  if (name === 'host') return URL.canParse(facts.url ?? '') ? new URL(facts.url ?? '').host : '';
  const fact = facts[name as keyof Facts] ?? '';
  if (typeof fact === 'string')
    return name.endsWith('Sha256') && fact !== '' ? `${fact.slice(0, DIGITS)}…` : fact;
  if (name.endsWith('Bytes')) return bytes(fact);
  return name === 'status' || name === 'id' ? String(fact) : count(fact);
}

/** A text with facts in place of their names: `{tokens}`, and `{host}` of the address. '' if one of them isn't known. */
export function withFacts(text: string, facts: Facts): string {
  let known = true;
  const filled = text.replace(/\{(\w+)\}/g, (_, name: string) => {
    const words = inWords(name, facts);
    known &&= words !== '';
    return words;
  });
  return known ? filled : '';
}
