// Draws a paragraph's text as DOM nodes, and later only what has changed. New words are wet (ui/wet.ts).
import { isWet, wet } from '../ui/wet';
import type { Inline, Spanning } from './inline-items';
import { misleads, visible } from './links';
import { showFormula } from './maths';
import { words } from './words';

interface Drawn {
  node: Inline;
  readonly dom: Text | HTMLElement;
  readonly kids: Drawn[];
}

interface How {
  /** Text from this place on is new; Infinity if nothing is to be wet. */
  readonly wetFrom: number;
  readonly inLink: boolean;
}

/** The last DOM node of a text: wet words follow it. */
function lastOf(dom: Text | HTMLElement): ChildNode {
  let last: ChildNode = dom;
  if (dom instanceof Text) while (isWet(last.nextSibling)) last = last.nextSibling;
  return last;
}

function erase({ dom }: Drawn): void {
  if (dom instanceof Text) while (isWet(dom.nextSibling)) dom.nextSibling.remove();
  dom.remove();
}

function textOf(nodes: readonly Inline[]): string {
  let text = '';
  for (const node of nodes) {
    if ('kids' in node) text += textOf(node.kids);
    else if ('text' in node) text += node.text;
  }
  return text;
}

function setLink(element: HTMLElement, node: Spanning): void {
  const to = 'to' in node ? node.to : null;
  if (!(element instanceof HTMLAnchorElement)) return;
  for (const name of ['href', 'target', 'rel', 'title', 'data-host']) element.removeAttribute(name);
  if (to === null) return;
  element.href = to.href;
  element.target = '_blank';
  element.rel = 'noopener noreferrer nofollow';
  element.title = words.value.newTab(to.host);
  if (misleads(textOf(node.kids), to)) element.dataset.host = to.host;
}

function create(node: Exclude<Inline, { kind: 'text' }>, inLink: boolean): HTMLElement {
  switch (node.kind) {
    case 'link':
    case 'image': {
      const nowhere = inLink || (node.kind === 'image' && node.to === null);
      const link = document.createElement(nowhere ? 'span' : 'a');
      link.dir = 'auto';
      if (node.kind === 'image') {
        link.className = 'image';
        link.dataset.mark = words.value.image;
      }
      return link;
    }
    case 'maths': {
      const element = document.createElement('span');
      element.className = node.display ? 'maths display' : 'maths';
      return element;
    }
    case 'code': {
      const code = document.createElement('code');
      code.dir = 'auto';
      return code;
    }
    default:
      return document.createElement(node.kind === 'break' ? 'br' : node.kind);
  }
}

/** Whether the DOM node of `old` can become that of `node`. */
function same(old: Inline, node: Inline): boolean {
  if (old.kind !== node.kind) return false;
  if (old.kind === 'maths' && node.kind === 'maths') return old.display === node.display;
  if (old.kind === 'image' && node.kind === 'image')
    return (old.to === null) === (node.to === null);
  return true;
}

function grow(dom: Text, added: string, isNew: boolean): void {
  const last = lastOf(dom);
  if (isNew) last.after(wet(added));
  else if (last === dom) dom.appendData(added);
  else (last as HTMLElement).append(added);
}

function update(drawn: Drawn, node: Inline, old: Inline | null, how: How): void {
  drawn.node = node;
  const { dom } = drawn;
  if (node.kind === 'text' && dom instanceof Text) {
    const was = old?.kind === 'text' ? old.text : '';
    if (was === node.text) return;
    const shown = (text: string): string => (how.inLink ? visible(text) : text);
    if (old !== null && node.text.startsWith(was)) {
      grow(dom, shown(node.text.slice(was.length)), how.wetFrom < Infinity);
      return;
    }
    while (isWet(dom.nextSibling)) dom.nextSibling.remove();
    const known = Math.min(Math.max(how.wetFrom - node.at, 0), node.text.length);
    dom.data = shown(node.text.slice(0, known));
    if (known < node.text.length) dom.after(wet(shown(node.text.slice(known))));
    return;
  }
  if (dom instanceof Text) return;
  if (node.kind === 'code') {
    if (old?.kind !== 'code' || old.text !== node.text) dom.textContent = visible(node.text);
  } else if (node.kind === 'maths') {
    if (old?.kind !== 'maths' || old.source !== node.source) {
      showFormula(dom, node.text, node.source, node.display);
    }
  } else if ('kids' in node) {
    const isLink = node.kind === 'link' || node.kind === 'image';
    patch(dom, drawn.kids, node.kids, isLink ? { ...how, inLink: true } : how);
    if (isLink) setLink(dom, node);
  }
}

function patch(parent: HTMLElement, drawn: Drawn[], nodes: readonly Inline[], how: How): void {
  nodes.forEach((node, i) => {
    const old = drawn[i];
    if (old !== undefined && same(old.node, node)) {
      update(old, node, old.node, how);
      return;
    }
    const dom = node.kind === 'text' ? new Text() : create(node, how.inLink);
    const added: Drawn = { node, dom, kids: [] };
    parent.insertBefore(dom, old?.dom ?? null);
    update(added, node, null, how);
    if (old !== undefined) erase(old);
    drawn[i] = added;
  });
  for (const old of drawn.splice(nodes.length)) erase(old);
}

/** The text of one element. */
export class InlineView {
  private readonly drawn: Drawn[] = [];

  constructor(readonly element: HTMLElement) {}

  show(nodes: readonly Inline[], wetFrom: number): void {
    patch(this.element, this.drawn, nodes, { wetFrom, inLink: false });
  }
}
