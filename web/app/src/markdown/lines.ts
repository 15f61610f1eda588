// What a line of Markdown begins with. Each pattern needs time linear in the line's length.

/** A line that is used up from its beginning. Tabs count as spaces up to the next multiple of four. */
export class Line {
  private at = 0;
  private column = 0;
  /** Spaces left of a tab that was used up in part. */
  private left = 0;

  constructor(private readonly line: string) {}

  /** The columns of white space here, and how many characters they are. */
  private white(): [columns: number, characters: number] {
    let columns = this.left;
    let at = this.at;
    for (; at < this.line.length; at += 1) {
      const code = this.line.charCodeAt(at);
      if (code === 32) columns += 1;
      else if (code === 9) columns += 4 - ((this.column + columns) % 4);
      else break;
    }
    return [columns, at - this.at];
  }

  get indent(): number {
    return this.white()[0];
  }

  get blank(): boolean {
    return this.at + this.white()[1] === this.line.length;
  }

  /** What is left, without white space before it. */
  get text(): string {
    return this.line.slice(this.at + this.white()[1]);
  }

  /** What is left, with its white space. */
  get rest(): string {
    return ' '.repeat(this.left) + this.line.slice(this.at);
  }

  /** Uses up white space. */
  skip(columns: number): void {
    let todo = columns;
    while (todo > 0) {
      if (this.left > 0) {
        const used = Math.min(this.left, todo);
        this.left -= used;
        this.column += used;
        todo -= used;
        continue;
      }
      const code = this.line.charCodeAt(this.at);
      if (code === 9) this.left = 4 - (this.column % 4);
      else if (code === 32) this.left = 1;
      else return;
      this.at += 1;
    }
  }

  /** Uses up characters that are not white space. */
  cut(characters: number): void {
    this.at += characters;
    this.column += characters;
  }

  /** Uses up the mark of a quote, if it is here. */
  quote(): boolean {
    const [columns, characters] = this.white();
    if (columns > 3 || this.line[this.at + characters] !== '>') return false;
    this.skip(columns);
    this.cut(1);
    this.skip(Math.min(1, this.indent));
    return true;
  }
}

export function heading(text: string): { level: number; text: string } | null {
  const level = /^#{1,6}(?=[ \t]|$)/.exec(text)?.[0].length ?? 0;
  if (level === 0) return null;
  const inner = text.slice(level).trim();
  // Marks at the end don't belong to it, if a space is before them.
  let to = inner.length;
  while (to > 0 && inner[to - 1] === '#') to -= 1;
  const closed = to < inner.length && (to === 0 || /[ \t]/.test(inner[to - 1] ?? ''));
  return { level, text: closed ? inner.slice(0, to).trimEnd() : inner };
}

export interface Fence {
  readonly mark: string;
  readonly info: string;
  /** Whether it ends a code block that began with `mark`. */
  closes(mark: string): boolean;
}

export function fence(text: string): Fence | null {
  const mark = /^(?:`{3,}|~{3,})/.exec(text)?.[0];
  if (mark === undefined) return null;
  const info = text.slice(mark.length).trim();
  if (mark[0] === '`' && info.includes('`')) return null;
  const closes = (open: string): boolean =>
    info === '' && mark[0] === open[0] && mark.length >= open.length;
  return { mark, info: /^\S*/.exec(info)?.[0] ?? '', closes };
}

export function isRule(text: string): boolean {
  return /^([-*_])(?:[ \t]*\1){2,}[ \t]*$/.test(text);
}

/** The level of the heading that this line makes of the paragraph before it; 0 if none. */
export function underline(text: string): number {
  return /^=+[ \t]*$/.test(text) ? 1 : /^-+[ \t]*$/.test(text) ? 2 : 0;
}

export interface Marker {
  /** Items with the same one belong to one list. */
  readonly mark: string;
  /** -1 without a number. */
  readonly number: number;
  /** Whether it may end a paragraph: an empty item may not, nor a number other than 1. */
  readonly interrupts: boolean;
}

export function marker(text: string): Marker | null {
  const found = /^(?:([-+*])|(\d{1,9})([.)]))(?=[ \t]|$)/.exec(text);
  if (found === null) return null;
  const number = found[2] === undefined ? -1 : Number(found[2]);
  const empty = text.slice(found[0].length).trim() === '';
  return {
    mark: found[1] ?? found[3] ?? '',
    number,
    interrupts: !empty && number <= 1 && number !== 0,
  };
}

/** The alignments of the columns; null if this is no such line. */
export function isDelimiterRow(text: string): string[] | null {
  if (!/^[-|: \t]+$/.test(text) || !text.includes('-')) return null;
  const columns = cells(text);
  if (!columns.every((cell) => /^:?-+:?$/.test(cell))) return null;
  return columns.map((cell) => {
    if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'end';
    return cell.startsWith(':') ? 'start' : '';
  });
}

/** The cells of a table's row. */
export function cells(line: string): string[] {
  const text = line.trim();
  const found: string[] = [];
  let cell = '';
  let from = text.startsWith('|') ? 1 : 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\' && text[at + 1] === '|') {
      cell += `${text.slice(from, at)}|`;
      at += 1;
      from = at + 1;
    } else if (char === '\\') at += 1;
    else if (char === '|') {
      found.push((cell + text.slice(from, at)).trim());
      cell = '';
      from = at + 1;
    }
  }
  const last = (cell + text.slice(from)).trim();
  if (last !== '' || found.length === 0) found.push(last);
  return found;
}
