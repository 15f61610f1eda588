// A block of code with its language and a button that copies it.
import { visible } from './links';
import { words } from './words';

/** A code block's text as it was written; the DOM shows signs that turn text around by their names. */
const sources = new WeakMap<Element, () => string>();

type Colours = typeof import('./code-colours');
/** Null until the script of the colours has come, which the first block of code fetches. */
let colours: Colours | null = null;
let coming: Promise<Colours | null> | null = null;

function fetchColours(): Promise<Colours | null> {
  // Without the network code stays in one colour.
  coming ??= import('./code-colours').then(
    (all) => (colours = all),
    () => (coming = null),
  );
  return coming;
}

/** Some blocks are about to leave the page: their colours go with them. */
export function codeLeaves(): void {
  colours?.forgetGone();
}

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className !== '') made.className = className;
  return made;
}

export class CodeView {
  readonly element = element('div', 'code-block');
  private readonly language = element('span', 'code-language');
  private readonly button = element('button', 'quiet');
  private readonly pre = element('pre', '');
  private readonly text = new Text();
  private shown = '';
  private info: string | null = null;

  constructor() {
    const head = element('div', 'code-head');
    const said = element('span', 'sr-only');
    said.setAttribute('role', 'status');
    this.button.type = 'button';
    this.button.dataset.copy = '';
    this.button.textContent = words.value.copy;
    head.append(this.language, said, this.button);
    const code = element('code', '');
    code.append(this.text);
    this.pre.dir = 'ltr';
    this.pre.tabIndex = 0;
    this.pre.setAttribute('role', 'group');
    this.pre.append(code);
    this.element.append(head, this.pre);
    sources.set(this.element, () => this.shown);
  }

  show(text: string, info: string): void {
    if (info !== this.info) {
      this.info = info;
      const name = visible(info.slice(0, 40));
      this.language.textContent = name === '' ? words.value.code : name;
      this.button.setAttribute('aria-label', words.value.copyCode(name));
      this.pre.setAttribute(
        'aria-label',
        name === '' ? words.value.code : words.value.codeIn(name),
      );
    }
    if (text === this.shown) return;
    const grows = text.startsWith(this.shown);
    // Only what is new is added: a selection stays, and long code stays cheap.
    if (grows) this.text.appendData(visible(text.slice(this.shown.length)));
    else this.text.data = visible(text);
    this.shown = text;
    if (info === '') return;
    if (colours !== null) colours.colour(this.text, info, !grows);
    else void fetchColours().then((all) => all?.colour(this.text, this.info ?? '', false));
  }
}

function select(node: Node): void {
  const selection = getSelection();
  selection?.removeAllRanges();
  const range = document.createRange();
  range.selectNodeContents(node);
  selection?.addRange(range);
}

/** Handles a click in a message: copies the code whose button it is on. Where that is not allowed, selects it. */
export async function copyClicked(target: EventTarget | null): Promise<void> {
  const button = target instanceof Element ? target.closest('button[data-copy]') : null;
  const whole = button?.closest('.code-block') ?? null;
  const source = whole === null ? undefined : sources.get(whole);
  if (button === null || whole === null || source === undefined) return;
  let said = words.value.copied;
  try {
    await navigator.clipboard.writeText(source());
  } catch {
    const code = whole.querySelector('code');
    if (code !== null) select(code);
    said = words.value.selected;
  }
  const status = whole.querySelector('[role="status"]');
  button.textContent = said;
  if (status !== null) status.textContent = said;
  setTimeout(() => {
    button.textContent = words.value.copy;
    if (status !== null) status.textContent = '';
  }, 2000);
}
