// Numbers as people read them, in the page's language. Sizes are decimal (1 MB = 1,000,000 bytes), as browsers show
// downloads.
import type { PromptProgress } from '@sluice/engine';
import { units as english } from './texts/en/units';
import { inLanguage } from './texts/language';

const units = inLanguage('units', english);

function words(): typeof english {
  return units.value;
}

/** A whole number. (Making an Intl.NumberFormat would delay the first visit by ten milliseconds.) */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, words().thousands);
}

/** With the language's sign before the tenths. */
function decimal(text: string): string {
  return text.replace('.', words().decimal);
}

/** All digits of a number: 0.05, 40. */
export function exact(n: number): string {
  return decimal(String(n));
}

/** 9.0, 23.4, 1,204: below 100 always with one tenth, so that what follows a live number stays where it is. */
export function steady(n: number): string {
  return n >= 100 ? count(Math.round(n)) : decimal(n.toFixed(1));
}

/** 1 token, 1,204 tokens. */
export function tokens(n: number): string {
  return words().tokens(n, count(n));
}

/** 23 tokens/s. */
export function tokenRate(perSecond: number): string {
  return words().rate(digits(perSecond));
}

/** At most 3 significant digits below 1000, and never an exponent: 0.93, 4.2, 38, 1,204. */
export function digits(n: number): string {
  if (!Number.isFinite(n)) return '–';
  if (n >= 100) return count(Math.round(n));
  return decimal(String(Number(n.toPrecision(n >= 10 ? 3 : 2))));
}

/** 812 B, 45 KB, 2.58 MB, 1.93 GB. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const steps = ['KB', 'MB', 'GB', 'TB'];
  let value = n / 1000;
  let step = 0;
  while (value >= 999.5 && step < steps.length - 1) {
    value /= 1000;
    step += 1;
  }
  const text = value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
  return `${decimal(text)} ${steps[step] ?? ''}`;
}

/** 12.4 thousand, 2.36 million, 1.24 billion. */
export function parameters(n: number): string {
  const { thousand, million, billion } = words();
  if (n >= 1e9) return billion(digits3(n / 1e9));
  if (n >= 1e6) return million(digits3(n / 1e6));
  if (n >= 1e3) return thousand(digits3(n / 1e3));
  return String(n);
}

function digits3(n: number): string {
  return decimal(String(Number(n.toPrecision(3))));
}

/** 38 ms, 1.2 s, 75 s, 4 min. */
export function milliseconds(ms: number): string {
  if (ms < 1000) return `${digits(ms)} ms`;
  return seconds(ms / 1000);
}

export function seconds(s: number): string {
  if (s < 10) return `${digits(s)} s`;
  if (s < 100) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return `${digits(s / 3600)} h`;
}

/** 1.31 MB of 2.58 MB. */
export function ofWhole(part: string, whole: string): string {
  return words().of(part, whole);
}

/** 4 s left. */
export function timeLeft(s: number): string {
  return words().left(seconds(s));
}

/** How far a prompt is: 512 of 4,000 tokens; 3 s left, or that it waits. */
export function readingFacts({ computed, total, secondsLeft, waiting }: PromptProgress): string[] {
  const facts = [ofWhole(count(computed), tokens(total))];
  if (waiting) facts.push(words().waitingForLayers);
  else if (secondsLeft !== null) facts.push(timeLeft(Math.max(1, Math.ceil(secondsLeft))));
  return facts;
}

/** today, yesterday, 12 days ago, on 4 November 2026; both times in milliseconds since 1970. */
export function daysAgo(then: number, now: number): string {
  const { today, yesterday, daysAgo: ago, on, locale } = words();
  const midnight = (time: number): number => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(now) - midnight(then)) / 86_400_000);
  if (days <= 0) return today;
  if (days === 1) return yesterday;
  if (days <= 60) return ago(count(days));
  const date = { day: 'numeric', month: 'long', year: 'numeric' } as const;
  return on(new Date(then).toLocaleDateString(locale, date));
}
