// Draws a growing text as DOM nodes. Blocks that are complete keep theirs; of the others only what has changed is drawn.
import { Blocks, type Block } from './blocks';
import { CodeView } from './code-view';
import { showFormula } from './maths';
import { cells } from './lines';
import { TextView } from './text-view';
import { words } from './words';

interface View {
  /** Blocks with the same key can use the same element. */
  readonly key: string;
  readonly element: HTMLElement;
  /** Where its kids are; of a table the body, the head has the first row. */
  readonly inside: HTMLElement;
  readonly kids: View[];
  /** Kids that are complete. */
  done: number;
  readonly texts: TextView[];
  readonly code: CodeView | null;
  shown: string;
}

interface How {
  readonly live: boolean;
  readonly wet: boolean;
  readonly open: Block | undefined;
  /** Complete lines: what they closed never changes. */
  readonly lines: number;
}

const TASK = /^\[([ xX])\][ \t]+(?=\S)/;

function keyOf({ type, number, info }: Block): string {
  if (type === 'heading') return `h${Math.min(number + 2, 6)}`;
  return type === 'list' && info === 'ol' ? 'ordered' : type;
}

const NAMES: Readonly<Record<string, keyof HTMLElementTagNameMap>> = {
  quote: 'blockquote',
  list: 'ul',
  ordered: 'ol',
  item: 'li',
  row: 'tr',
  paragraph: 'p',
  plain: 'p',
  rule: 'hr',
  maths: 'div',
  table: 'div',
  h3: 'h3',
  h4: 'h4',
  h5: 'h5',
  h6: 'h6',
};

function makeView(key: string, parent: Block): View {
  const code = key === 'code' ? new CodeView() : null;
  const element = code?.element ?? document.createElement(NAMES[key] ?? 'p');
  let inside = element;
  if (key === 'table') {
    element.className = 'table';
    element.tabIndex = 0;
    element.setAttribute('role', 'region');
    element.setAttribute('aria-label', words.value.table);
    const table = document.createElement('table');
    table.dir = 'auto';
    inside = document.createElement('tbody');
    table.append(document.createElement('thead'), inside);
    element.append(table);
  } else if (key === 'maths') element.className = 'maths display';
  else if (key === 'plain') element.className = 'plain';
  // A list or a quote takes its direction from its texts, if these have no `dir`; their lines have their own (the styles).
  const own = parent.type === 'root' || key !== 'paragraph';
  if (own && /^(?:h\d|paragraph|plain|quote|list|ordered)$/.test(key)) element.dir = 'auto';
  return { key, element, inside, kids: [], done: 0, texts: [], code, shown: '' };
}

/** The first line of a table, before the line below it is there. */
function preview(block: Block, how: How): Block {
  if (!how.live || block !== how.open || block.type !== 'paragraph') return block;
  if (!block.text.startsWith('|') || block.text.includes('\n')) return block;
  const head: Block = { ...block, type: 'row', cells: cells(block.text), kids: [] };
  return { ...block, type: 'table', cells: [], kids: [head] };
}

function drawKids(view: View, parent: Block, how: How): void {
  const { kids } = parent;
  for (let i = view.done; i < kids.length; i += 1) {
    const given = kids[i];
    if (given === undefined) break;
    const block = preview(given, how);
    const key = keyOf(block);
    const old = view.kids[i];
    let own = old;
    if (own === undefined || own.key !== key) {
      own = makeView(key, parent);
      const inside = key === 'row' && i === 0 ? view.element.querySelector('thead') : null;
      if (old === undefined) (inside ?? view.inside).append(own.element);
      else old.element.replaceWith(own.element);
      view.kids[i] = own;
    }
    // What was shown already as something else is not new.
    const dry = old !== undefined && old !== own;
    draw(own, block, parent, i, dry ? { ...how, wet: false } : how);
  }
  for (const gone of view.kids.splice(kids.length)) gone.element.remove();
  for (; view.done < kids.length; view.done += 1) {
    const closed = kids[view.done]?.closed ?? 0;
    if (closed === 0 || closed > how.lines) break;
  }
}

function drawText(view: View, text: string, how: How, live: boolean): void {
  view.texts[0] ??= new TextView(view.element);
  view.texts[0].show(text, { live }, how.wet);
}

function draw(view: View, block: Block, parent: Block, index: number, how: How): void {
  const live = how.live && block === how.open;
  switch (block.type) {
    case 'code':
      view.code?.show(block.text, block.info);
      break;
    case 'heading':
      drawText(view, block.text, how, live);
      break;
    case 'paragraph': {
      const task = parent.type === 'item' && index === 0 ? TASK.exec(block.text) : null;
      drawText(view, block.text.slice(task?.[0].length ?? 0), how, live);
      break;
    }
    case 'plain':
      drawPlain(view, block.text);
      break;
    case 'maths':
      drawMaths(view, block);
      break;
    case 'row':
      drawRow(view, block, parent, index, how);
      break;
    case 'rule':
      break;
    default:
      if (block.type === 'list' && block.info === 'ol' && block.number !== 1) {
        (view.element as HTMLOListElement).start = block.number;
      }
      drawKids(view, block, how);
      if (block.type === 'item') drawTask(view, block);
  }
}

function drawPlain(view: View, text: string): void {
  if (text === view.shown) return;
  const last = view.element.lastChild;
  if (last instanceof Text && text.startsWith(view.shown)) {
    last.appendData(text.slice(view.shown.length));
  } else view.element.textContent = text;
  view.shown = text;
}

function drawMaths(view: View, block: Block): void {
  const whole = block.mark === '';
  const [begin, end] = (block.info || block.mark) === '$$' ? ['$$', '$$'] : ['\\[', '\\]'];
  const source = whole ? `${begin}\n${block.text}\n${end}` : begin + block.text;
  if (source === view.shown) return;
  view.shown = source;
  if (whole) showFormula(view.element, block.text, source, true);
  else view.element.textContent = source;
}

function drawRow(view: View, row: Block, table: Block, index: number, how: How): void {
  row.cells.forEach((text, i) => {
    let cell = view.texts[i];
    if (cell === undefined) {
      const element = document.createElement(index === 0 ? 'th' : 'td');
      if (index === 0) element.setAttribute('scope', 'col');
      view.element.append(element);
      cell = new TextView(element);
      view.texts[i] = cell;
    }
    const align = table.cells[i] ?? '';
    if (align !== '') cell.element.dataset.align = align;
    else delete cell.element.dataset.align;
    const live = how.live && row === how.open && i === row.cells.length - 1;
    cell.show(text, { live, cell: true }, how.wet);
  });
  for (const gone of view.texts.splice(row.cells.length)) gone.element.remove();
}

function drawTask(view: View, item: Block): void {
  const first = item.kids[0];
  const found = first?.type === 'paragraph' ? TASK.exec(first.text) : null;
  const shown = view.element.querySelector(':scope > .task');
  if (found === null) {
    shown?.remove();
    return;
  }
  const done = found[1] !== ' ';
  const box = shown ?? document.createElement('span');
  if (shown === null) {
    box.className = 'task';
    box.setAttribute('role', 'img');
    view.element.prepend(box);
  }
  box.setAttribute('aria-label', done ? words.value.done : words.value.open);
  box.setAttribute('data-done', String(done));
}

/** One message in `element`, which must be empty. */
export class Drawing {
  private text = '';
  private blocks = new Blocks();
  private root: View;

  constructor(private readonly element: HTMLElement) {
    this.root = this.empty();
  }

  private empty(): View {
    const { element } = this;
    element.replaceChildren();
    return {
      key: 'root',
      element,
      inside: element,
      kids: [],
      done: 0,
      texts: [],
      code: null,
      shown: '',
    };
  }

  /** Forgets what is drawn: the next show() draws everything. */
  reset(): void {
    this.text = '';
    this.blocks = new Blocks();
    this.root = this.empty();
  }

  /**
   * Draws the text. Live, it may grow: then only what is new is drawn, and marks that are still open are drawn as what
   * they will be. A text that doesn't begin with the last one is drawn anew. Never throws, whatever the text is.
   */
  show(text: string, live: boolean, wet = live): void {
    if (!text.startsWith(this.text)) this.reset();
    this.blocks.write(text.slice(this.text.length));
    // A text that was there before is not new.
    const fresh = wet && (this.text !== '' || text.length < 100);
    this.text = text;
    this.blocks.end(live);
    const { open, lines, root } = this.blocks;
    drawKids(this.root, root, { live, wet: fresh, open, lines });
  }
}
