// Shades the text itself, where it stands on the page, and finds the token that is pressed there. Nothing of the page's elements is
// changed: browsers draw highlights over ranges of text (some can't: these have the strip alone).
import type { Chain } from './chain';
import { levelOf, seriesOf } from './series';
import type { Shade } from './shade';

const LEVELS = [1, 2, 3, 4] as const;
const HERE = 'xray-here';

const can = (): boolean => typeof Highlight === 'function' && CSS.highlights !== undefined;

/** Finds places in the texts of an element, from its beginning to its end. */
class Places {
  readonly #walker: TreeWalker;
  #node: Text | null;
  /** Characters before the present node. */
  #before = 0;

  constructor(root: Node) {
    this.#walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    this.#node = this.#walker.nextNode() as Text | null;
  }

  /** Characters are asked for in ascending order. Null: it is beyond the end. */
  find(character: number): [Text, number] | null {
    while (this.#node !== null && character - this.#before > this.#node.length) {
      this.#before += this.#node.length;
      this.#node = this.#walker.nextNode() as Text | null;
    }
    return this.#node === null ? null : [this.#node, character - this.#before];
  }
}

function rangeOf(places: Places, begun: number, length: number): StaticRange | null {
  const [from, to] = [places.find(begun), places.find(begun + length)];
  if (from === null || to === null || length === 0) return null;
  const [[startContainer, startOffset], [endContainer, endOffset]] = [from, to];
  return new StaticRange({ startContainer, startOffset, endContainer, endOffset });
}

/** Shades the tokens of a text that `root` shows. */
export function shadeIn(root: Element, chain: Chain, shade: Shade): void {
  if (!can()) return;
  const levels = LEVELS.map(() => new Highlight());
  const values = shade === 'none' ? null : seriesOf(chain)[shade];
  const places = new Places(root);
  let token = 0;
  for (const { begun, ids, lengths } of values === null ? [] : chain.runs) {
    let at = begun;
    for (let i = 0; i < ids.length; ++i, ++token) {
      const length = lengths[i] ?? 0;
      const highlight = levels[levelOf(values?.[token]) - 1];
      const range = highlight === undefined ? null : rangeOf(places, at, length);
      if (range !== null) highlight?.add(range);
      at += length;
    }
  }
  for (const [i, level] of LEVELS.entries())
    CSS.highlights.set(`xray-${level}`, levels[i] ?? new Highlight());
}

/** Marks the token that is looked at. */
export function markIn(root: Element, begun: number, length: number): void {
  if (!can()) return;
  const range = rangeOf(new Places(root), begun, length);
  const here = range === null ? new Highlight() : new Highlight(range);
  // It is drawn over the shading.
  here.priority = 1;
  CSS.highlights.set(HERE, here);
}

export function clearMarks(): void {
  if (!can()) return;
  for (const name of [HERE, ...LEVELS.map((level) => `xray-${level}`)]) CSS.highlights.delete(name);
}

/** The character of `root`'s text that was pressed; null: none was, or a text was selected. */
export function pressedIn(root: Element, { clientX, clientY }: MouseEvent): number | null {
  if (getSelection()?.isCollapsed === false) return null;
  const found = document.caretPositionFromPoint?.(clientX, clientY) ?? null;
  if (found === null || !root.contains(found.offsetNode)) return null;
  const before = document.createRange();
  before.setStart(root, 0);
  before.setEnd(found.offsetNode, found.offset);
  return before.toString().length;
}
