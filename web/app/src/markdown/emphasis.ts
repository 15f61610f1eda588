// Which * _ ~~ belong together: CommonMark's rules ("process emphasis").
import type { Item, Spanning } from './inline-items';

export interface Delimiter {
  readonly item: Item;
  readonly sign: string;
  /** Signs at the beginning, and those that are left. */
  readonly length: number;
  left: number;
  readonly opens: boolean;
  readonly closes: boolean;
  before: Delimiter | null;
  after: Delimiter | null;
}

const SPACE = /\s/u;
const PUNCTUATION = /[\p{P}\p{S}]/u;

function kindOf(char: string): 'space' | 'punctuation' | 'letter' {
  if (char === '' || SPACE.test(char)) return 'space';
  return PUNCTUATION.test(char) ? 'punctuation' : 'letter';
}

/** The character before `at`, also one of two code units. */
function charBefore(text: string, at: number): string {
  const last = text[at - 1] ?? '';
  return /[\udc00-\udfff]/.test(last) ? text.slice(at - 2, at) : last;
}

function charAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

export class Delimiters {
  last: Delimiter | null = null;

  add(item: Item, source: string, at: number, length: number): void {
    const sign = source[at] ?? '';
    const before = kindOf(charBefore(source, at));
    const after = kindOf(charAt(source, at + length));
    const left = after !== 'space' && (after === 'letter' || before !== 'letter');
    const right = before !== 'space' && (before === 'letter' || after !== 'letter');
    const inWord = sign === '_' && left && right;
    const added: Delimiter = {
      item,
      sign,
      length,
      left: length,
      before: this.last,
      after: null,
      opens: left && (!inWord || before === 'punctuation'),
      closes: right && (!inWord || after === 'punctuation'),
    };
    if (this.last !== null) this.last.after = added;
    this.last = added;
  }

  /** Matches those above `below`. */
  match(below: Delimiter | null): void {
    const bottoms = new Map<string, Delimiter | null>();
    let closer = below === null ? this.first() : below.after;
    while (closer !== null) {
      if (!closer.closes) {
        closer = closer.after;
        continue;
      }
      const key = `${closer.sign}${closer.opens ? 'o' : ''}${closer.length % 3}`;
      const bottom = bottoms.get(key) ?? below;
      let opener = closer.before;
      while (opener !== null && opener !== below && opener !== bottom) {
        if (this.fits(opener, closer)) break;
        opener = opener.before;
      }
      if (opener === null || opener === below || opener === bottom) {
        bottoms.set(key, closer.before);
        const { after } = closer;
        if (!closer.opens) this.remove(closer);
        closer = after;
        continue;
      }
      // What is between them matches nothing any more.
      opener.after = closer;
      closer.before = opener;
      const used = Math.min(opener.left, closer.left, 2);
      wrap(opener, closer.item, used);
      const { after }: Delimiter = closer;
      opener.left -= used;
      closer.left -= used;
      shorten(opener);
      shorten(closer);
      if (opener.left === 0) this.remove(opener);
      if (closer.left === 0) {
        this.remove(closer);
        closer = after;
      }
    }
  }

  /** Matches those above `below` and takes them away: they are in a link's text. */
  take(below: Delimiter | null): void {
    this.match(below);
    if (below !== null) below.after = null;
    this.last = below;
  }

  /** Marks of a growing text that are open hold up to its end. */
  openToTheEnd(): void {
    for (let open = this.first(); open !== null; open = open.after) {
      while (open.opens && open.left > 0) {
        const used = Math.min(open.left, 2);
        wrap(open, null, used);
        open.left -= used;
        shorten(open);
      }
    }
  }

  private first(): Delimiter | null {
    let first = this.last;
    while (first !== null && first.before !== null) first = first.before;
    return first;
  }

  private fits(opener: Delimiter, closer: Delimiter): boolean {
    if (!opener.opens || opener.sign !== closer.sign) return false;
    // "Multiple of 3": **a*b** has no emphasis of one star inside.
    const both = opener.closes || closer.opens;
    const sum = opener.length + closer.length;
    return !(both && sum % 3 === 0 && (opener.length % 3 !== 0 || closer.length % 3 !== 0));
  }

  private remove(gone: Delimiter): void {
    if (gone.before !== null) gone.before.after = gone.after;
    if (gone.after !== null) gone.after.before = gone.before;
    else this.last = gone.before;
  }
}

function shorten(delimiter: Delimiter): void {
  delimiter.item.text = delimiter.sign.repeat(delimiter.left);
}

function wrap(opener: Delimiter, closer: Item | null, length: number): void {
  const mark = opener.sign.repeat(length);
  const kind = opener.sign === '~' ? 'del' : length === 2 ? 'strong' : 'em';
  const node: Spanning = { kind, kids: [] };
  opener.item.opens.push({ mark, node });
  closer?.closes.push(mark);
}
