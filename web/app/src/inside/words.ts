// Tokens and figures as they are shown.
import { digits, steady } from '../texts/format';
import { xrayTexts } from './texts';

/** Characters of a token that are shown. */
const MOST = 24;

/** A token as it can be seen: with a sign for space at its ends, for the ends of lines, and for what is not seen. */
export function seen(piece: string): string {
  const cut = piece.length > MOST ? `${piece.slice(0, MOST)}…` : piece;
  return cut
    .replace(/\n/g, '↵')
    .replace(/\t/g, '⇥')
    .replace(/^[ ▁]+|[ ▁]+$/g, (spaces) => '␣'.repeat(spaces.length))
    .replace(/(?![\u200c\u200d])[\p{Cf}\p{Cc}\p{Cs}]/gu, '·');
}

/** A token among others: without the space at its ends, if it is more than space. */
export function bare(piece: string): string {
  const text = piece.replace(/^[ ▁]+|[ ▁]+$/g, '');
  return seen(text === '' ? piece : text);
}

/** The same to be read out, and in a sentence. */
export function named(piece: string): string {
  const shown = piece.trim() === '' ? seen(piece) : seen(piece.trim());
  return `“${shown === '␣' ? xrayTexts.value.space : shown}”`;
}

/** 38.2 %, 0.04 %, < 0.01 %; –: not known. */
export function share(p: number): string {
  if (Number.isNaN(p)) return '–';
  if (p > 0 && p < 0.0001) return `< ${digits(0.01)}\u00a0%`;
  const percent = 100 * p;
  return `${percent >= 1 ? steady(percent) : digits(percent)}\u00a0%`;
}

/** Nats as bits. */
export function bits(nats: number): number {
  return nats / Math.LN2;
}

/** 3.2 bits; –: not known. */
export function inBits(nats: number): string {
  return Number.isNaN(nats) ? '–' : xrayTexts.value.bits(steady(Math.abs(bits(nats))));
}
