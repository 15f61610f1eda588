// Reads Markdown's blocks line by line, as CommonMark describes it: each line is read once, whatever comes later. So a
// growing text costs only what was added, and the time is linear for every text.
//
// Two things differ from CommonMark on purpose: HTML is text, and there are no definitions of links ([a]: address),
// because a line could then change blocks far above it.
import { Line, cells, fence, heading, isDelimiterRow, isRule, marker, underline } from './lines';
import * as limits from './limits';

export type Type =
  | 'root'
  | 'quote'
  | 'list'
  | 'item'
  | 'table'
  | 'row'
  | 'paragraph'
  | 'heading'
  | 'code'
  | 'maths'
  | 'rule'
  | 'plain';

export interface Block {
  type: Type;
  readonly kids: Block[];
  /** Of a leaf: its text; of a code block without a newline at the end. */
  text: string;
  /** The number of the line that ended it; 0 while it is open. */
  closed: number;
  /** Of a heading 1 to 6; of an ordered list its first number; of an item the columns to its content. */
  number: number;
  /** Of a list its marker; of a code block its fence ('' if it is indented). */
  mark: string;
  /** The language of a code block. */
  info: string;
  /** The cells of a row; of a table the alignment of its columns. */
  cells: string[];
  /** Empty lines at the end of a code block, which belong to it only if more follows. */
  blank: number;
  /** Nothing is in it yet. */
  empty: boolean;
}

const CONTAINERS = new Set<Type>(['root', 'quote', 'list', 'item']);

function block(type: Type, more: Partial<Block> = {}): Block {
  const fields = { text: '', closed: 0, number: 0, mark: '', info: '', blank: 0, empty: true };
  return { type, kids: [], cells: [], ...fields, ...more };
}

/** What a line may change: the open blocks. */
interface Saved {
  readonly stack: Block[];
  readonly blocks: { readonly block: Block; readonly was: Block; readonly kids: number }[];
  readonly count: number;
  readonly length: number;
}

/**
 * A growing text as blocks. The last line is without its end until more comes, so it is read on trial: the next write()
 * takes it back first.
 */
export class Blocks {
  readonly root = block('root');
  /** Complete lines. A block with 0 < closed <= lines never changes again. */
  lines = 0;
  private stack: Block[] = [this.root];
  private pending = '';
  private trial: Saved | null = null;
  private count = 0;
  private length = 0;

  /** Adds text. The tree is whole only after end(). */
  write(text: string): void {
    this.takeBack();
    let from = 0;
    for (;;) {
      const to = text.indexOf('\n', from);
      if (to < 0) break;
      this.read(this.pending + text.slice(from, to));
      this.lines += 1;
      this.pending = '';
      from = to + 1;
    }
    this.pending += text.slice(from);
  }

  /**
   * Reads the last line, on trial. While the text grows (live) the open blocks stay open, and a line of which only the
   * marker is there is left out: what it will be is not known yet.
   */
  end(live: boolean): void {
    this.takeBack();
    this.trial = this.save();
    const { pending } = this;
    if (pending !== '' && !(live && this.waits(pending))) this.read(pending);
    if (!live) this.close(1);
  }

  /** The leaf that grows; undefined if there is none. */
  get open(): Block | undefined {
    const last = this.stack[this.stack.length - 1];
    if (last === undefined || CONTAINERS.has(last.type)) return undefined;
    return last.type === 'table' ? last.kids[last.kids.length - 1] : last;
  }

  private waits(line: string): boolean {
    if (line.length > 80) return false;
    const top = this.stack[this.stack.length - 1];
    if (top?.type === 'plain') return false;
    if (top?.type === 'code') return top.mark !== '' && /^[ \t>]*[`~]*$/.test(line);
    if (top?.type === 'maths') return /^[ \t>]*[$\\]*$/.test(line);
    return /^[ \t>]*(?:[-=*+#`~|:_$ \t]*|(?:[-+*]|\d{1,9}[.)])?[ \t]*(?:\[[ xX]?\]?)?|\d{1,9}|\\\[?)$/.test(
      line,
    );
  }

  private save(): Saved {
    const blocks = this.stack.map((open) => ({
      block: open,
      was: { ...open },
      kids: open.kids.length,
    }));
    return { stack: [...this.stack], blocks, count: this.count, length: this.length };
  }

  private takeBack(): void {
    if (this.trial === null) return;
    for (const { block: open, was, kids } of this.trial.blocks) {
      Object.assign(open, was);
      open.kids.length = kids;
    }
    this.stack = this.trial.stack;
    this.count = this.trial.count;
    this.length = this.trial.length;
    this.trial = null;
  }

  private get top(): Block {
    return this.stack[this.stack.length - 1] ?? this.root;
  }

  /** Closes the open blocks from the stack's place `from` on. */
  private close(from: number): void {
    while (this.stack.length > from) {
      const last = this.stack.pop();
      if (last === undefined) return;
      last.closed = this.lines + 1;
      // Without its end it is no formula.
      if (last.type === 'maths' && last.mark !== '') {
        last.type = 'paragraph';
        last.text = last.mark + last.text;
      }
    }
  }

  private add(added: Block, at: number): void {
    this.close(at);
    // A list has only items; whatever else comes ends it.
    if (this.top.type === 'list' && added.type !== 'item') this.close(this.stack.length - 1);
    const { top } = this;
    top.empty = false;
    top.kids.push(added);
    this.stack.push(added);
    this.count += 1;
  }

  private leaf(added: Block, at: number): void {
    this.add(added, at);
    this.close(this.stack.length - 1);
  }

  private read(source: string): void {
    const raw = source.endsWith('\r') ? source.slice(0, -1) : source;
    this.length += raw.length + 1;
    if (this.top.type === 'plain') {
      this.top.text += `\n${raw}`;
      return;
    }
    if (this.count > limits.BLOCKS || this.length > limits.TEXT) {
      this.add(block('plain', { text: raw }), 1);
      return;
    }
    const line = new Line(raw);
    const matched = this.match(line);
    if (matched < 0) return;
    const at = this.start(line, matched);
    if (at < 0) return;
    this.rest(line, at);
  }

  /** How many of the open blocks go on in this line; -1 if a leaf took it whole. */
  private match(line: Line): number {
    let at = 1;
    for (; at < this.stack.length; at += 1) {
      const open = this.stack[at];
      if (open === undefined) break;
      const { type } = open;
      if (type === 'quote') {
        if (!line.quote()) return at;
      } else if (type === 'item') {
        if (line.blank) {
          // An item that begins with an empty line has only that one.
          if (open.empty) return at;
        } else if (line.indent >= open.number) line.skip(open.number);
        else return at;
      } else if (type === 'code') return this.code(open, line) ? -1 : at;
      else if (type === 'maths') return this.maths(open, line) ? -1 : at;
      else if (type === 'paragraph' || type === 'table') return line.blank ? at : at + 1;
    }
    return at;
  }

  private code(open: Block, line: Line): boolean {
    if (open.mark === '') {
      if (line.blank) {
        open.blank += 1;
        return true;
      }
      if (line.indent < 4) return false;
      line.skip(4);
      open.text += '\n'.repeat(open.blank + 1) + line.rest;
      open.blank = 0;
      return true;
    }
    if (line.indent < 4 && fence(line.text)?.closes(open.mark) === true) {
      this.close(this.stack.length - 1);
      return true;
    }
    line.skip(Math.min(line.indent, open.number));
    open.text += (open.empty ? '' : '\n') + line.rest;
    open.empty = false;
    return true;
  }

  private maths(open: Block, line: Line): boolean {
    if (line.blank || open.text.length > limits.FORMULA) return false;
    const { text } = line;
    const closer = open.mark === '$$' ? '$$' : '\\]';
    const end = text.trimEnd();
    open.text += `\n${text}`;
    if (!end.endsWith(closer)) return true;
    open.text = open.text.slice(0, open.text.lastIndexOf(closer)).trim();
    open.info = open.mark;
    open.mark = '';
    this.close(this.stack.length - 1);
    return true;
  }

  /** Begins new blocks in this line. Returns how many open blocks go on; -1 if the line is used up. */
  private start(line: Line, matched: number): number {
    let at = matched;
    let depth = 0;
    for (const { type } of this.stack.slice(0, at)) {
      if (type === 'quote' || type === 'item') depth += 1;
    }
    for (;;) {
      const whole = at === this.stack.length;
      const { top } = this;
      const inParagraph = top.type === 'paragraph';
      if (line.blank) return at;
      if (line.indent >= 4) {
        // A paragraph goes on in an indented line.
        if (inParagraph || (whole && top.type === 'table')) return at;
        line.skip(4);
        this.add(block('code', { text: line.rest, info: '' }), at);
        return -1;
      }
      const { text } = line;
      if (depth < limits.DEPTH && line.quote()) {
        this.add(block('quote'), this.base(at));
        depth += 1;
        at = this.stack.length;
        continue;
      }
      const head = heading(text);
      if (head !== null) {
        this.leaf(block('heading', { number: head.level, text: head.text }), this.base(at));
        return -1;
      }
      const opened = fence(text);
      if (opened !== null) {
        const { mark, info } = opened;
        this.add(block('code', { mark, info, number: line.indent }), this.base(at));
        return -1;
      }
      const formula = /^(?:\$\$|\\\[)/.exec(text)?.[0];
      if (formula !== undefined && !text.includes(formula === '$$' ? '$$' : '\\]', 2)) {
        this.add(block('maths', { mark: formula, text: text.slice(2) }), this.base(at));
        return -1;
      }
      if (whole && inParagraph && this.turn(text)) return -1;
      if (isRule(text)) {
        this.leaf(block('rule'), this.base(at));
        return -1;
      }
      const item = depth < limits.DEPTH ? marker(text) : null;
      if (item === null || (inParagraph && whole && !item.interrupts)) return at;
      this.item(line, item.mark, item.number, this.base(at));
      depth += 1;
      at = this.stack.length;
    }
  }

  /** The place where a new block goes: a leaf that is open ends. */
  private base(at: number): number {
    const last = this.stack[at - 1];
    return last !== undefined && !CONTAINERS.has(last.type) ? at - 1 : at;
  }

  private item(line: Line, mark: string, number: number, at: number): void {
    const { indent } = line;
    line.skip(indent);
    const width = number < 0 ? 1 : line.text.search(/[.)]/) + 1;
    line.cut(width);
    const space = line.blank ? 1 : line.indent > 4 ? 1 : line.indent;
    line.skip(Math.min(space, line.indent));
    this.close(at);
    const list = this.top;
    if (list.type !== 'list' || list.mark !== mark) {
      this.add(
        block('list', { mark, number: Math.max(number, 0), info: number < 0 ? '' : 'ol' }),
        at,
      );
    }
    this.add(block('item', { number: indent + width + space }), this.stack.length);
  }

  /** An open paragraph becomes a heading or its last line the head of a table. */
  private turn(text: string): boolean {
    const { top } = this;
    const level = underline(text);
    if (level > 0) {
      top.type = 'heading';
      top.number = level;
      this.close(this.stack.length - 1);
      return true;
    }
    const columns = isDelimiterRow(text);
    if (columns === null) return false;
    const from = top.text.lastIndexOf('\n') + 1;
    const last = top.text.slice(from);
    if (!last.includes('|') && !text.includes('|')) return false;
    const head = cells(last);
    if (head.length !== columns.length || head.length > limits.COLUMNS) return false;
    if (from > 0) {
      top.text = top.text.slice(0, from - 1);
      this.close(this.stack.length - 1);
      this.add(block('table'), this.stack.length);
    } else {
      top.type = 'table';
      top.text = '';
    }
    this.top.cells = columns;
    this.row(head);
    return true;
  }

  private row(texts: string[]): void {
    const { top } = this;
    top.kids.push(block('row', { cells: texts, closed: this.lines + 1 }));
    this.count += 1;
  }

  /** What is left of the line is text. */
  private rest(line: Line, at: number): void {
    const { top } = this;
    if (line.blank) {
      this.close(at);
      return;
    }
    const text = line.rest;
    // A paragraph goes on in a line that doesn't begin as its containers want it.
    if (top.type === 'paragraph') {
      top.text += `\n${text}`;
      return;
    }
    if (top.type === 'table' && at === this.stack.length) {
      this.row(cells(text).slice(0, top.cells.length));
      return;
    }
    this.add(block('paragraph', { text }), at);
  }
}
