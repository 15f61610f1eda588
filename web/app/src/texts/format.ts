// Numbers as people read them, in the page's language. Sizes are decimal (1 MB = 1,000,000 bytes), as browsers show
// downloads.
import type { PromptProgress } from '@sluice/engine';
import { computed } from '@preact/signals';
import { units as english } from './en/units';
import { inLanguage, language } from './language';

const units = inLanguage('units', english);

function words(): typeof english {
  return units.value;
}

/**
 * How the page's language writes numbers: whole ones, and those with so many places after the sign, which are small. Null
 * for English, whose numbers are as JavaScript writes them: making an Intl.NumberFormat would delay the first visit by ten
 * milliseconds.
 */
const numbers = computed(() => {
  const tag = language.value;
  if (tag === 'en') return null;
  const whole = new Intl.NumberFormat(tag);
  const byPlaces = new Map<number, Intl.NumberFormat>();
  const small = (places: number): Intl.NumberFormat => {
    const made =
      byPlaces.get(places) ??
      new Intl.NumberFormat(tag, {
        useGrouping: false,
        minimumFractionDigits: places,
        maximumFractionDigits: places,
      });
    byPlaces.set(places, made);
    return made;
  };
  return { whole, small };
});

/** A whole number. */
export function count(n: number): string {
  return numbers.value?.whole.format(n) ?? String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A number as JavaScript writes it, with the language's sign before the tenths, and as many places. */
function decimal(text: string): string {
  const places = text.split('.')[1]?.length ?? 0;
  return numbers.value?.small(places).format(Number(text)) ?? text;
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
  const steps = words().bytes;
  if (n < 1000) return `${n} ${steps[0] ?? ''}`;
  let value = n / 1000;
  let step = 1;
  while (value >= 999.5 && step < steps.length - 1) {
    value /= 1000;
    step += 1;
  }
  const text = value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
  return `${decimal(text)} ${steps[step] ?? ''}`;
}

/** 12.4 thousand, 2.36 million, 1.24 billion. */
export function parameters(n: number): string {
  return new Intl.NumberFormat(language.value, {
    notation: 'compact',
    compactDisplay: n < 1e6 ? 'long' : words().millions,
    maximumSignificantDigits: 3,
  }).format(n);
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
  // Dates are in British English.
  const locale = language.value === 'en' ? 'en-GB' : language.value;
  const midnight = (time: number): number => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(now) - midnight(then)) / 86_400_000);
  if (days <= 60) {
    // The word for yesterday, but for no day before that.
    const numeric = days <= 1 ? 'auto' : 'always';
    return new Intl.RelativeTimeFormat(locale, { numeric }).format(Math.min(0, -days), 'day');
  }
  const date = { day: 'numeric', month: 'long', year: 'numeric' } as const;
  return words().on(new Date(then).toLocaleDateString(locale, date));
}
