// Colours code: comments, strings, numbers and keywords. The text itself is not touched: the browser paints ranges of it
// (CSS custom highlights), so nothing moves while it is written. Browsers without these show code in one colour.

export type Kind = 'comment' | 'string' | 'number' | 'keyword';

/** Characters of a block, and parts of it, that are coloured at most. */
const MOST_CHARACTERS = 50_000;
const MOST_PARTS = 10_000;

const words = (text: string): string[] => text.split(' ');

const C = words(
  'abstract as assert async await bool boolean break byte case catch char class const continue crate def default defer ' +
    'delete do double dyn else enum export extends extern false final finally float fn for foreach from fun func function ' +
    'go goto if impl implements import in include inline instanceof int interface internal is let long loop match mod module ' +
    'mut namespace new nil null nullptr of operator out override package pub private protected public readonly ref return ' +
    'sealed select self short signed sizeof static string struct super switch template this throw throws trait true try type ' +
    'typedef typename typeof undefined union unsafe unsigned use using val var virtual void volatile when where while with yield',
);
const SCRIPT = words(
  'and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except export ' +
    'False false fi finally for from function global if import in is lambda local match module next nil None nonlocal not ' +
    'null or pass raise redo require rescue retry return self shift super then True true try unless until when while with yield',
);
const SQL = words(
  'add all alter and as asc begin between by case check column commit constraint create cross database default delete desc ' +
    'distinct do drop else elseif end exists false for foreign from full function group having if in index inner insert into ' +
    'is join key left like limit local nil not null offset on or order outer primary references repeat return right rollback ' +
    'select set table then true union unique until update using values view when where while with',
);

/** Texts in quotes end with their line, or where the text ends while it is written. */
const quoted = (quote: string): string => `${quote}(?:\\\\[^]|[^${quote}\\\\\\n])*(?:${quote}|$)`;
const [DOUBLE, SINGLE] = [quoted('"'), quoted("'")];
const BLOCK = '\\/\\*[^]*?(?:\\*\\/|$)';
const TICKS = '`(?:\\\\[^]|[^`\\\\])*(?:`|$)';
const TRIPLE = '"""[^]*?(?:"""|$)|\'\'\'[^]*?(?:\'\'\'|$)';
/** Rust's `'a` is no text. */
const LETTER = "'(?:\\\\[^'\\n]+|[^'\\\\\\n])'";

interface Grammar {
  scan: RegExp;
  keywords: ReadonlySet<string>;
  /** Keywords in capitals are the same. */
  anyCase: boolean;
}

function grammar(
  comments: string,
  strings: string,
  keywords: readonly string[],
  anyCase = false,
  word = '[\\p{L}_$][\\p{L}\\p{N}_$]*',
): Grammar {
  const number = '\\d[\\d\\p{L}_.]*';
  const scan = new RegExp(`(${comments})|(${strings})|(${number})|(${word})`, 'gu');
  return { scan, keywords: new Set(keywords), anyCase };
}

const C_LIKE = grammar(`\\/\\/.*|${BLOCK}`, `${DOUBLE}|${SINGLE}|${TICKS}`, C);
const RUST = grammar(`\\/\\/.*|${BLOCK}`, `${DOUBLE}|${LETTER}`, C);
// In a shell `$#` and `a#b` begin no comment.
const HASH = grammar('(?<![^\\s;])#.*', `${TRIPLE}|${DOUBLE}|${SINGLE}`, SCRIPT);
const DASHES = grammar(`--.*|${BLOCK}`, `${DOUBLE}|${SINGLE}`, SQL, true);
const STYLE = grammar(
  BLOCK,
  `${DOUBLE}|${SINGLE}`,
  [],
  false,
  '@[\\w-]+|[\\p{L}_-][\\p{L}\\p{N}_-]*',
);
const MARKUP = grammar(
  '<!--[^]*?(?:-->|$)',
  `(?<==\\s*)(?:${DOUBLE}|${SINGLE})`,
  [],
  false,
  '<\\/?[\\w:-]+',
);

const LANGUAGES: readonly [Grammar, string][] = [
  [
    C_LIKE,
    'js javascript mjs jsx ts typescript tsx json jsonc json5 java c h cpp c++ cc hpp cs csharp c# go golang swift kotlin ' +
      'kt php scala dart groovy objc glsl wgsl zig proto',
  ],
  [RUST, 'rust rs'],
  [
    HASH,
    'py python python3 rb ruby sh bash zsh shell console yaml yml toml ini r perl pl make makefile dockerfile docker cmake elixir julia nim powershell ps1',
  ],
  [DASHES, 'sql mysql postgres postgresql sqlite plsql lua haskell hs elm ada'],
  [STYLE, 'css scss less'],
  [MARKUP, 'html xml svg xhtml vue svelte'],
];

const BY_NAME = new Map(
  LANGUAGES.flatMap(([of, names]) => words(names).map((name) => [name, of] as const)),
);

/** The grammar of a block with this info string ('js title="x"'); undefined: it stays in one colour. */
function grammarOf(info: string): Grammar | undefined {
  return BY_NAME.get(/^[^\s{,:]*/.exec(info)?.[0].toLowerCase() ?? '');
}

export interface Part {
  kind: Kind;
  from: number;
  to: number;
}

/**
 * The parts of a text from a place on, where no part may be open. `next`: where to go on when more has come: the last part
 * may not have ended yet.
 */
export function partsOf(text: string, info: string, from = 0): { parts: Part[]; next: number } {
  const of = grammarOf(info);
  const parts: Part[] = [];
  let next = from;
  if (of === undefined || from >= MOST_CHARACTERS) return { parts, next };
  const some = text.slice(0, MOST_CHARACTERS);
  of.scan.lastIndex = from;
  for (let found = of.scan.exec(some); found !== null; found = of.scan.exec(some)) {
    const [all, comment, string, number] = found;
    next = found.index;
    const kind =
      comment !== undefined
        ? 'comment'
        : string !== undefined
          ? 'string'
          : number !== undefined
            ? 'number'
            : null;
    const known =
      of.keywords.size === 0
        ? /^[<@]/.test(all)
        : of.keywords.has(of.anyCase ? all.toLowerCase() : all);
    if (kind === null && !known) continue;
    parts.push({ kind: kind ?? 'keyword', from: found.index, to: found.index + all.length });
    if (parts.length >= MOST_PARTS) break;
  }
  return { parts, next };
}

const able = typeof CSS !== 'undefined' && 'highlights' in CSS;

function highlightOf(kind: Kind): Highlight {
  const name = `code-${kind}`;
  let found = CSS.highlights.get(name);
  if (found === undefined) CSS.highlights.set(name, (found = new Highlight()));
  return found;
}

type Painted = Part & { range: StaticRange };

interface Block {
  painted: Painted[];
  next: number;
  /** Whether it is in view or near: the browser goes through all ranges whenever anything in the page changes. */
  near: boolean;
  /** What is at the end is painted when nothing has come for a while: a word may still become a longer one. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** By the text of a block. */
const blocks = new Map<Text, Block>();
/** Milliseconds after which a text is taken as ended. */
const ENDED_MS = 400;
/** So often what is shown no more is forgotten. */
const SWEEP_MS = 5000;
let sweeping = false;
let leaving = false;

function erase(block: Block, from: number): void {
  for (
    let last = block.painted.at(-1);
    last !== undefined && last.from >= from;
    last = block.painted.at(-1)
  ) {
    highlightOf(last.kind).delete(last.range);
    block.painted.pop();
  }
}

/** Blocks by the elements that hold their texts. */
const places = new WeakMap<Element, Block>();

const watch = able
  ? new IntersectionObserver(
      (seen) => {
        for (const { target, isIntersecting } of seen) show(places.get(target), isIntersecting);
      },
      // As much again as is in view, above and below
      { rootMargin: '100% 0px' },
    )
  : null;

function show(block: Block | undefined, near: boolean): void {
  if (block === undefined || block.near === near) return;
  block.near = near;
  for (const { kind, range } of block.painted) {
    if (near) highlightOf(kind).add(range);
    else highlightOf(kind).delete(range);
  }
}

function sweep(): void {
  for (const [text, block] of blocks) {
    if (text.isConnected) continue;
    if (text.parentElement !== null) watch?.unobserve(text.parentElement);
    clearTimeout(block.timer);
    erase(block, 0);
    blocks.delete(text);
  }
}

function sweepLater(): void {
  if (sweeping) return;
  sweeping = true;
  setTimeout(() => {
    sweeping = false;
    sweep();
    if (blocks.size > 0) sweepLater();
  }, SWEEP_MS);
}

/** Forgets what is shown no more, as soon as it has left: a block's text keeps its whole conversation in memory. */
export function forgetGone(): void {
  if (leaving || blocks.size === 0) return;
  leaving = true;
  setTimeout(() => {
    leaving = false;
    sweep();
  });
}

/** Colours a block whose text has grown, or is another one (`anew`). */
export function colour(text: Text, info: string, anew: boolean): void {
  if (!able) return;
  let block = blocks.get(text);
  if (block === undefined) {
    block = { painted: [], next: 0, near: true, timer: undefined };
    blocks.set(text, block);
    const place = text.parentElement;
    if (place !== null) {
      places.set(place, block);
      watch?.observe(place);
    }
  }
  sweepLater();
  if (anew) {
    erase(block, 0);
    block.next = 0;
  }
  clearTimeout(block.timer);
  paint(text, info, block, false);
  const own = block;
  block.timer = setTimeout(() => paint(text, info, own, true), ENDED_MS);
}

function paint(text: Text, info: string, block: Block, ended: boolean): void {
  const { data } = text;
  const { parts, next } = partsOf(data, info, block.next);
  // What is the same stays painted.
  let same = 0;
  const old = block.painted.filter(({ from }) => from >= block.next);
  for (const part of parts) {
    const had = old[same];
    if (had === undefined || had.kind !== part.kind || had.from !== part.from || had.to !== part.to)
      break;
    ++same;
  }
  const rest = parts.slice(same);
  erase(block, rest[0]?.from ?? old[same]?.from ?? Infinity);
  for (const part of rest) {
    if (block.painted.length >= MOST_PARTS) break;
    if (!ended && part.kind === 'keyword' && part.to === data.length) continue;
    const [startContainer, endContainer] = [text, text];
    const range = new StaticRange({
      startContainer,
      startOffset: part.from,
      endContainer,
      endOffset: part.to,
    });
    block.painted.push({ ...part, range });
    if (block.near) highlightOf(part.kind).add(range);
  }
  block.next = next;
}
