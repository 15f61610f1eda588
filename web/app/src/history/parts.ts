// What a message says, in parts: what a model thinks is one, and what it answers is another. Later kinds are added here.

/** 'text': what is said. 'reasoning': what a model thought before. */
export type PartKind = 'reasoning' | 'text';

/** A part of a message, in the order in which they were written. None is empty, and no two of a kind follow each other. */
export interface MessagePart {
  part: PartKind;
  text: string;
}

export type Parts = readonly MessagePart[];

const KINDS: readonly unknown[] = ['reasoning', 'text'] satisfies PartKind[];

export function isPartKind(value: unknown): value is PartKind {
  return KINDS.includes(value);
}

function all(parts: Parts, kind: PartKind): string {
  let found = '';
  for (const { part, text } of parts) if (part === kind) found += text;
  return found;
}

/** What is said, without what was thought. */
export function textOf({ parts }: { readonly parts: Parts }): string {
  return all(parts, 'text');
}

/** What a model thought. */
export function reasoningOf({ parts }: { readonly parts: Parts }): string {
  return all(parts, 'reasoning');
}

/** The parts with `text` after them. It joins the last one if that is of its kind; '' adds none. */
export function withMore(parts: Parts, part: PartKind, text: string): Parts {
  if (text === '') return parts;
  const last = parts.at(-1);
  if (last?.part !== part) return [...parts, { part, text }];
  return [...parts.slice(0, -1), { part, text: last.text + text }];
}

/** The parts of a text, and of what was thought before it. */
export function partsOf(text: string, reasoning = ''): Parts {
  return withMore(withMore([], 'reasoning', reasoning), 'text', text);
}

/** Whether two messages say the same. */
export function sameParts(a: Parts, b: Parts): boolean {
  return (
    a === b ||
    (a.length === b.length &&
      a.every(({ part, text }, i) => part === b[i]?.part && text === b[i]?.text))
  );
}
