// Numbers as people read them. Sizes are decimal (1 MB = 1,000,000 bytes), as browsers show downloads.

/** A whole number. (Making an Intl.NumberFormat would delay the first visit by ten milliseconds.) */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** 1 token, 1,204 tokens. */
export function tokens(n: number): string {
  return `${count(n)} ${n === 1 ? 'token' : 'tokens'}`;
}

/** At most 3 significant digits below 1000, and never an exponent: 0.93, 4.2, 38, 1,204. */
export function digits(n: number): string {
  if (!Number.isFinite(n)) return '–';
  if (n >= 100) return count(Math.round(n));
  return String(Number(n.toPrecision(n >= 10 ? 3 : 2)));
}

/** 812 B, 45 KB, 2.58 MB, 1.93 GB. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = n / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const text = value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
  return `${text} ${units[unit] ?? ''}`;
}

/** 12.4 thousand, 2.36 million, 1.24 billion. */
export function parameters(n: number): string {
  if (n >= 1e9) return `${digits3(n / 1e9)} billion`;
  if (n >= 1e6) return `${digits3(n / 1e6)} million`;
  if (n >= 1e3) return `${digits3(n / 1e3)} thousand`;
  return String(n);
}

function digits3(n: number): string {
  return String(Number(n.toPrecision(3)));
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

/** today, yesterday, 12 days ago, on 4 November 2026; both times in milliseconds since 1970. */
export function daysAgo(then: number, now: number): string {
  const midnight = (time: number): number => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(now) - midnight(then)) / 86_400_000);
  if (days <= 0) return 'today';
  if (days === 1) return 'yesterday';
  if (days <= 60) return `${days} days ago`;
  const date = { day: 'numeric', month: 'long', year: 'numeric' } as const;
  return `on ${new Date(then).toLocaleDateString('en-GB', date)}`;
}
