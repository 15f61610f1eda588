// Reads the marks inside a paragraph: emphasis, code, links, formulas. The rules of emphasis are CommonMark's; the time
// is linear in the text's length but for constants (limits.ts).
import { Delimiters, type Delimiter } from './emphasis';
import { autolink, bare, destination, entity } from './inline-parts';
import type { Inline, Item, Spanning } from './inline-items';
import * as limits from './limits';
import { address } from './links';

export interface Options {
  /** The text grows: marks that are not closed yet hold up to its end. */
  readonly live?: boolean;
  /** In a table's cell <br> breaks the line: there is no other way. */
  readonly cell?: boolean;
}

interface Bracket {
  readonly item: Item;
  readonly below: Delimiter | null;
  readonly image: boolean;
  readonly mark: string;
}

/** Signs at the end of a growing text that may become marks are left out until more comes. */
function settledEnd(text: string): string {
  let to = text.length;
  while (to > 0 && '*_~`$\\['.includes(text[to - 1] ?? '')) to -= 1;
  if (to < text.length && text[to - 1] === '!') to -= 1;
  const begun = text.lastIndexOf('&', to);
  if (begun >= 0 && to - begun < 10 && /^&#?\w*$/.test(text.slice(begun, to))) to = begun;
  return text.slice(0, to);
}

class Reader {
  private readonly items: Item[] = [];
  private readonly delimiters = new Delimiters();
  private readonly brackets: Bracket[] = [];
  /** Brackets below this one are in a link's text: they begin no link. */
  private floor = 0;
  private readonly searched = new Map<string, number>();
  private readonly runs = new Map<number, number[]>();
  private at = 0;
  private from = 0;

  constructor(
    private readonly source: string,
    private readonly options: Options,
  ) {}

  read(): Inline[] {
    const { source } = this;
    const special = /[\\`*_~[\]!<&$\n:]/g;
    while (this.at < source.length) {
      special.lastIndex = this.at;
      const found = special.exec(source);
      if (found === null) break;
      this.at = found.index;
      if (!this.sign(found[0])) this.at += 1;
    }
    this.at = source.length;
    this.flush();
    this.delimiters.match(null);
    if (this.options.live === true) this.delimiters.openToTheEnd();
    return build(this.items);
  }

  /** The text since the last item becomes one. */
  private flush(to = this.at): void {
    if (to > this.from) this.push(this.source.slice(this.from, to), this.from);
    this.from = this.at;
  }

  private push(text: string, at: number, node: Inline | null = null): Item {
    const item: Item = { text, at, node, closes: [], opens: [] };
    this.items.push(item);
    return item;
  }

  /** What is before `at` is text, `length` characters from there are an item of their own. */
  private take(length: number, text: string, node: Inline | null = null): Item {
    this.flush();
    const item = this.push(text, this.at, node);
    this.at += length;
    this.from = this.at;
    return item;
  }

  /** Where `what` comes next; a search without success is not repeated. */
  private find(what: string, from: number): number {
    const known = this.searched.get(what);
    if (known !== undefined && (known < 0 || known >= from)) return known;
    const found = this.source.indexOf(what, from);
    this.searched.set(what, found);
    return found;
  }

  /** Reads what begins with `sign` at `at`; false if it is text. */
  private sign(sign: string): boolean {
    switch (sign) {
      case '\\':
        return this.escape();
      case '`':
        return this.code();
      case '*':
      case '_':
      case '~':
        return this.delimiter(sign);
      case '!':
        if (this.source[this.at + 1] !== '[') return false;
        return this.bracket('![');
      case '[':
        return this.bracket('[');
      case ']':
        return this.close();
      case '<':
        return this.angle();
      case '&':
        return this.entity();
      case '$':
        return this.dollar();
      case ':':
        return this.bare();
      default:
        return this.newline();
    }
  }

  private escape(): boolean {
    const next = this.source[this.at + 1] ?? '';
    if (next === '\n') {
      this.flush();
      this.at += 1;
      this.from = this.at;
      return true;
    }
    if (next === '(' || next === '[') {
      const end = this.find(next === '(' ? '\\)' : '\\]', this.at + 2);
      if (end > 0) return this.formula(2, end, 2, next === '[');
    }
    if (!/[!-/:-@[-`{-~]/.test(next)) return false;
    this.take(2, next);
    return true;
  }

  private formula(before: number, end: number, after: number, display: boolean): boolean {
    const text = this.source.slice(this.at + before, end);
    const source = this.source.slice(this.at, end + after);
    if (text.trim() === '' || text.length > limits.FORMULA) return false;
    this.take(source.length, '', { kind: 'maths', text, source, display, at: this.at });
    return true;
  }

  /** No space inside the dollars, no digit after the second: prices stay text. */
  private dollar(): boolean {
    const { source, at } = this;
    if (source[at + 1] === '$') {
      const end = this.find('$$', at + 2);
      if (end > 0 && this.formula(2, end, 2, true)) return true;
      this.at += 1;
      return false;
    }
    if (!/\S/.test(source[at + 1] ?? ' ')) return false;
    let end = this.find('$', at + 1);
    while (end > 0 && source[end - 1] === '\\') end = source.indexOf('$', end + 1);
    if (end < 0 || /\s/.test(source[end - 1] ?? '') || /\d/.test(source[end + 1] ?? ''))
      return false;
    return this.formula(1, end, 1, false);
  }

  private code(): boolean {
    const { source, at } = this;
    let length = 1;
    while (source[at + length] === '`') length += 1;
    const end = this.run(length, at + length);
    const live = end < 0 && this.options.live === true && length < 3 && at + length < source.length;
    if (end < 0 && !live) {
      this.at += length;
      return true;
    }
    const to = live ? source.length : end;
    let text = source.slice(at + length, to).replaceAll('\n', ' ');
    if (text.startsWith(' ') && text.endsWith(' ') && text.trim() !== '') text = text.slice(1, -1);
    this.take(to - at + (live ? 0 : length), '', { kind: 'code', text, at: at + length });
    return true;
  }

  /** Where the next run of exactly `length` backticks begins. */
  private run(length: number, from: number): number {
    if (this.runs.size === 0) {
      for (const { 0: run, index } of this.source.matchAll(/`+/g)) {
        const known = this.runs.get(run.length);
        if (known === undefined) this.runs.set(run.length, [index]);
        else known.push(index);
      }
      // The next one is the last: those that are passed are popped.
      for (const places of this.runs.values()) places.reverse();
    }
    const places = this.runs.get(length) ?? [];
    while ((places.at(-1) ?? from) < from) places.pop();
    return places.at(-1) ?? -1;
  }

  private delimiter(sign: string): boolean {
    const { source, at } = this;
    let length = 1;
    while (source[at + length] === sign) length += 1;
    if (sign === '~' && length !== 2) {
      this.at += length;
      return true;
    }
    const item = this.take(length, source.slice(at, at + length));
    this.delimiters.add(item, source, at, length);
    return true;
  }

  private bracket(mark: string): boolean {
    const below = this.delimiters.last;
    const item = this.take(mark.length, mark);
    this.brackets.push({ item, below, image: mark === '![', mark });
    return true;
  }

  private close(): boolean {
    const bracket = this.brackets.pop();
    if (bracket === undefined) return false;
    const within = this.brackets.length < this.floor && !bracket.image;
    this.floor = Math.min(this.floor, this.brackets.length);
    if (within || this.source[this.at + 1] !== '(') return false;
    const target = destination(this.source, this.at + 2);
    const live = target === 'open' && this.options.live === true;
    if (target === null || (target === 'open' && !live)) return false;
    const to = target === 'open' ? null : address(target.address);
    // A picture is never fetched, so one without an address that may be linked to is its text alone.
    if (to === null && !live && !bracket.image) return false;
    const length = target === 'open' ? this.source.length - this.at : target.to - this.at;
    const end = this.take(length, '');
    this.delimiters.take(bracket.below);
    const node: Spanning = { kind: bracket.image ? 'image' : 'link', to, kids: [] };
    bracket.item.text = '';
    bracket.item.opens.push({ mark: bracket.mark, node });
    end.closes.push(this.source.slice(end.at, end.at + length));
    if (!bracket.image) this.floor = this.brackets.length;
    return true;
  }

  private angle(): boolean {
    if (this.options.cell === true) {
      const found = /^<br ?\/?>/i.exec(this.source.slice(this.at, this.at + 6));
      if (found !== null) {
        this.take(found[0].length, '', { kind: 'break' });
        return true;
      }
    }
    const found = autolink(this.source, this.at);
    return found !== null && this.link(found.shown, found.address, found.length);
  }

  private link(shown: string, source: string, length: number): boolean {
    const to = address(source);
    if (to === null) return false;
    // What touches the end of a growing text is not the whole address yet.
    const open = this.options.live === true && this.at + length === this.source.length;
    const kids: Inline[] = [{ kind: 'text', text: shown, at: this.at }];
    this.take(length, '', { kind: 'link', to: open ? null : to, kids });
    return true;
  }

  private entity(): boolean {
    const found = entity(this.source, this.at);
    if (found === null) return false;
    this.take(found.length, found.text);
    return true;
  }

  private bare(): boolean {
    const found = bare(this.source, this.at);
    if (found === null || found.start < this.from) return false;
    this.at = found.start;
    if (this.link(found.address, found.address, found.address.length)) return true;
    this.at = found.start + found.address.length;
    return true;
  }

  /** A line ends as it is written: verses and addresses stay what they are. */
  private newline(): boolean {
    const { source } = this;
    let to = this.at;
    while (to > this.from && /[ \t]/.test(source[to - 1] ?? '')) to -= 1;
    this.flush(to);
    this.push('', this.at, { kind: 'break' });
    this.at += 1;
    while (/[ \t]/.test(source[this.at] ?? '')) this.at += 1;
    this.from = this.at;
    return true;
  }
}

interface Level {
  readonly kids: Inline[];
  /** False where the mark is shown as text, because there are too many within each other. */
  readonly real: boolean;
}

/** Makes the tree of the items. */
function build(items: Item[]): Inline[] {
  const root: Level = { kids: [], real: true };
  const levels: Level[] = [root];
  const top = (): Level => levels[levels.length - 1] ?? root;
  let depth = 0;
  const text = (added: string, at: number): void => {
    if (added === '') return;
    const { kids } = top();
    const last = kids[kids.length - 1];
    if (last?.kind === 'text') last.text += added;
    else kids.push({ kind: 'text', text: added, at });
  };
  for (const item of items) {
    for (const mark of item.closes) {
      if (levels.length === 1) break;
      const ended = levels.pop();
      if (ended?.real === true) depth -= 1;
      else text(mark, item.at);
    }
    if (item.node !== null) top().kids.push(item.node);
    else text(item.text, item.at);
    for (let i = item.opens.length - 1; i >= 0; i -= 1) {
      const opened = item.opens[i];
      if (opened === undefined) continue;
      const { kids } = top();
      if (depth >= limits.INLINE_DEPTH) {
        text(opened.mark, item.at);
        levels.push({ kids, real: false });
        continue;
      }
      depth += 1;
      const { node } = opened;
      kids.push(node);
      levels.push({ kids: node.kids, real: true });
    }
  }
  return root.kids;
}

/** A paragraph's text as a tree. Never throws. */
export function inline(source: string, options: Options = {}): Inline[] {
  return new Reader(options.live === true ? settledEnd(source) : source, options).read();
}
