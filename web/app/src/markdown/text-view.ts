// A paragraph's text. A very long one is cut into pieces, of which only the last is read again while it grows.
import { InlineView } from './draw-inline';
import { inline, type Options } from './inline';
import { PIECE } from './limits';

/** Where a text is cut. Depends only on what is before the cut, so a growing text is cut at the same places. */
function cut(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (text.length - from > PIECE) {
    const end = from + PIECE;
    const space = Math.max(text.lastIndexOf(' ', end - 1), text.lastIndexOf('\n', end - 1)) + 1;
    let to = space > end - 500 ? space : end;
    if (to === end && /[\ud800-\udbff]/.test(text[to - 1] ?? '')) to -= 1;
    pieces.push(text.slice(from, to));
    from = to;
  }
  pieces.push(text.slice(from));
  return pieces;
}

export class TextView {
  private views: InlineView[];
  private shown: string[] = [];
  private live = false;

  constructor(readonly element: HTMLElement) {
    this.views = [new InlineView(element)];
  }

  /** Draws what is new; with `wet` new words are wet. */
  show(text: string, options: Options, wet: boolean): void {
    const live = options.live === true;
    const pieces = cut(text);
    if (
      pieces.length > 1 !== this.shown.length > 1 &&
      (pieces.length > 1 || this.shown.length > 0)
    ) {
      this.element.replaceChildren();
      this.views = pieces.length > 1 ? [] : [new InlineView(this.element)];
      if (this.shown.length > 0) this.shown = [];
    }
    pieces.forEach((piece, i) => {
      const last = i === pieces.length - 1;
      const wasLast = i === this.shown.length - 1;
      const was = this.shown[i];
      if (was === piece && (last && live) === (wasLast && this.live)) return;
      let view = this.views[i];
      if (view === undefined) {
        view = new InlineView(document.createElement('span'));
        this.element.append(view.element);
        this.views[i] = view;
      }
      const nodes = inline(piece, { ...options, live: last && live });
      view.show(nodes, wet ? known(was ?? '', piece) : Infinity);
    });
    if (pieces.length > 1)
      for (const gone of this.views.splice(pieces.length)) gone.element.remove();
    this.shown = pieces;
    this.live = live;
  }
}

/** How many characters of `text` were shown before. */
function known(was: string, text: string): number {
  return text.startsWith(was) ? was.length : text.length;
}
