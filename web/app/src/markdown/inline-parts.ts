// Addresses and entities inside a text. Each looks no further than the longest that is allowed.
import * as limits from './limits';

export interface Target {
  readonly address: string;
  /** The place behind the link. */
  readonly to: number;
}

/** The address of a link, from behind its '('. 'open': the text ends within it. Null: there is none. */
export function destination(source: string, from: number): Target | 'open' | null {
  const text = source.slice(from, from + limits.ADDRESS);
  const cut = from + text.length < source.length;
  const open = cut ? null : 'open';
  let at = /^\s*/.exec(text)?.[0].length ?? 0;
  let address = '';
  if (text[at] === '<') {
    const end = text.indexOf('>', at);
    if (end < 0) return text.includes('\n', at) ? null : open;
    address = text.slice(at + 1, end);
    if (/[<\n]/.test(address)) return null;
    at = end + 1;
  } else {
    let depth = 0;
    const begun = at;
    for (; at < text.length; at += 1) {
      const char = text[at] ?? '';
      if (/\s/.test(char)) break;
      if (char === '\\') at += 1;
      else if (char === '(') {
        depth += 1;
        if (depth > 30) return null;
      } else if (char === ')') {
        if (depth === 0) break;
        depth -= 1;
      }
    }
    address = text.slice(begun, at).replace(/\\([!-/:-@[-`{-~])/g, '$1');
    if (depth > 0 && at < text.length) return null;
  }
  const rest = text.slice(at);
  const title = /^\s*(?:\s(?:"[^"]*"|'[^']*'|\([^()]*\))\s*)?\)/.exec(rest);
  if (title !== null) return { address, to: from + at + title[0].length };
  return /^\s*(?:\s(?:"[^"]*|'[^']*|\([^()]*)?)?(?:["')]\s*)?$/.test(rest) ? open : null;
}

/** <https://..> or <a@b.c> at `at`. */
export function autolink(
  source: string,
  at: number,
): { shown: string; address: string; length: number } | null {
  const text = source.slice(at, at + limits.ADDRESS);
  const found = /^<([a-z][a-z\d+.-]{1,31}:[^\s<>]*)>/i.exec(text);
  if (found !== null) {
    const shown = found[1] ?? '';
    return { shown, address: shown, length: found[0].length };
  }
  const mail = /^<([\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d-]+(?:\.[a-z\d-]+)*)>/i.exec(text);
  if (mail === null) return null;
  const shown = mail[1] ?? '';
  return { shown, address: `mailto:${shown}`, length: mail[0].length };
}

/** An address in the text, of which `colon` is the place of the first colon. */
export function bare(source: string, colon: number): { start: number; address: string } | null {
  if (!source.startsWith('://', colon)) return null;
  const scheme = /(?:^|[^a-z\d])(https?)$/i.exec(source.slice(Math.max(0, colon - 6), colon))?.[1];
  if (scheme === undefined) return null;
  const text = source.slice(colon + 3, colon + limits.ADDRESS);
  const rest = /^[^\s<>[\]{}|\\^`"*]+/.exec(text)?.[0] ?? '';
  const start = colon - scheme.length;
  const end = trimmed(rest);
  return end === 0 ? null : { start, address: source.slice(start, colon + 3 + end) };
}

/** Signs at the end belong to the sentence, a ')' too if its '(' is not in the address. */
function trimmed(text: string): number {
  let to = text.length;
  let open = 0;
  for (const char of text) open += char === '(' ? 1 : char === ')' ? -1 : 0;
  for (; to > 0; to -= 1) {
    const last = text[to - 1] ?? '';
    if (last === ')' && open < 0) open += 1;
    else if (!/[?!.,:;_~'$]/.test(last)) break;
  }
  return to;
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  times: '×',
  divide: '÷',
  plusmn: '±',
  deg: '°',
  euro: '€',
  pound: '£',
  sect: '§',
  rarr: '→',
  larr: '←',
  le: '≤',
  ge: '≥',
  ne: '≠',
  middot: '·',
  bull: '•',
  trade: '™',
};

/** The sign that is written as &name; or &#number; the others stay as they are. */
export function entity(source: string, at: number): { text: string; length: number } | null {
  const found = /^&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{1,8}));/.exec(
    source.slice(at, at + 12),
  );
  if (found === null) return null;
  const [{ length }, decimal, hex, name] = found;
  if (name !== undefined) {
    const text = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
    return text === undefined ? null : { text, length };
  }
  const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex ?? '', 16);
  const valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return { text: valid ? String.fromCodePoint(code) : '\ufffd', length };
}
