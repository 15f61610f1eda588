// New words are wet: they appear in the accent colour, in elements of their own, and dry to ink when their animation ends.

/** A new word. It follows a text node, or another wet word. */
export function wet(text: string): HTMLElement {
  const span = document.createElement('span');
  span.className = 'wet';
  span.textContent = text;
  return span;
}

export function isWet(node: Node | null): node is HTMLElement {
  return node instanceof HTMLElement && node.className === 'wet';
}

/**
 * A word has dried: it joins the text before it. Called when the animation of `span` ends. Where frames are late, animations need
 * not end in the order of the words: then it joins the word before it, which is still wet.
 */
export function dry(span: EventTarget | null): void {
  if (!(span instanceof Node) || !isWet(span)) return;
  const before = span.previousSibling;
  const text = span.textContent ?? '';
  if (before instanceof Text) before.appendData(text);
  else if (isWet(before)) before.append(text);
  else return;
  span.remove();
}
