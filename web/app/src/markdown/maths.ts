// Formulas. KaTeX comes with the first one; until then, and where it can't read one, its source is shown.
import { words } from './words';

type Render = typeof import('./katex').render;

let render: Render | null = null;
let loading: Promise<void> | null = null;

interface Formula {
  readonly element: HTMLElement;
  readonly text: string;
  readonly source: string;
  readonly display: boolean;
}

/** Formulas that wait for KaTeX or for time. */
const waiting: Formula[] = [];
/** So long may formulas hold up one frame, in milliseconds. */
const SLICE = 8;

function paint({ element, text, source, display }: Formula): void {
  // Another formula may have its place by now.
  if (render === null || element.textContent !== source) return;
  const drawn = document.createElement('span');
  let refused = false;
  const trust = (): boolean => {
    refused = true;
    return false;
  };
  try {
    render(text, drawn, {
      displayMode: display,
      throwOnError: true,
      strict: 'ignore',
      trust,
      maxSize: 20,
      maxExpand: 200,
    });
  } catch {
    // Not a formula, or one that takes too much: the source stays.
    return;
  }
  // A formula with addresses or attributes stays its source.
  if (refused) return;
  element.replaceChildren(...drawn.childNodes);
  element.dataset.drawn = '';
  // What has to be scrolled can be focused.
  if (!display || element.scrollWidth <= element.clientWidth) return;
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', words.value.formula);
}

function paintWaiting(): void {
  const begun = performance.now();
  while (performance.now() - begun < SLICE) {
    const next = waiting.shift();
    if (next === undefined) return;
    paint(next);
  }
  setTimeout(paintWaiting);
}

/** Loads KaTeX. Without a network nothing is drawn; the next formula tries again. */
function load(): Promise<void> {
  loading ??= import('./katex').then(
    (loaded) => {
      render = loaded.render;
      paintWaiting();
    },
    () => {
      loading = null;
      waiting.length = 0;
    },
  );
  return loading;
}

/** Shows a formula in `element`; `source` is how it is written in the text. Never throws. */
export function showFormula(
  element: HTMLElement,
  text: string,
  source: string,
  display: boolean,
): void {
  element.textContent = source;
  delete element.dataset.drawn;
  waiting.push({ element, text, source, display });
  if (waiting.length > 1) return;
  if (render === null) void load();
  else paintWaiting();
}
