// Functions that tests run in the built page, in every browser. Each is self-contained.

/** Settings for a text that fills the context; a short story may end within a few frames. */
export const LONG = '#seed=90&temperature=2&length=4096';

interface Shifts {
  /** Of all that moved without the reader, as the browser counts it. */
  sum: number;
  /** For the message of a test that fails. */
  what: string[];
}

declare const window: { lengths?: number[]; shifts?: Shifts } & typeof globalThis;

/** Collects in `window.shifts` what moves without the reader, from the page's beginning if it is an init script. */
export function watchShifts(): void {
  const shifts: Shifts = { sum: 0, what: [] };
  window.shifts = shifts;
  type Shift = PerformanceEntry & {
    value: number;
    hadRecentInput: boolean;
    sources: { node: Element | null }[];
  };
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries() as Shift[]) {
      if (hadRecentInput) continue;
      shifts.sum += value;
      const names = sources.map(({ node }) => node?.className ?? node?.nodeName);
      shifts.what.push(`${value}: ${names.join(', ')}`);
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

export function shiftsSeen(): Shifts {
  if (window.shifts === undefined) throw new Error('nothing was watched');
  return window.shifts;
}

/** Collects the lengths of the growing text in `window.lengths`. */
export function watchLengths(): void {
  const lengths: number[] = [];
  const target = document.getElementById('written') as HTMLElement;
  new MutationObserver(() => lengths.push(target.textContent.length)).observe(target, {
    childList: true,
    characterData: true,
    subtree: true,
  });
  window.lengths = lengths;
}

/** The collected lengths, each once. */
export function lengthsSeen(): number[] {
  return [...new Set(window.lengths)];
}

/** Presses the button when the first words are shown. The test itself could be too late: a whole text takes little time. */
export function stopAtFirstWords(): void {
  const target = document.getElementById('written') as HTMLElement;
  const observer = new MutationObserver(() => {
    if (target.textContent === '') return;
    observer.disconnect();
    document.querySelector<HTMLButtonElement>('.composer button.primary')?.click();
  });
  observer.observe(target, { childList: true, subtree: true });
}

/** What a reader sees of the page. */
export interface Seen {
  model: string;
  loading: boolean;
  button: string;
  /** Whether a text has ended since `forgetEnd`. */
  written: boolean;
  text: string;
  state: string;
  /** The figures and the model's facts by their names. */
  values: Record<string, string>;
  problem: { code: string; text: string } | null;
  /** How many pixels of the page lie beside the window. */
  overflow: number;
}

/** Opens what is folded in the sheet of models. */
export function unfoldSheet(): void {
  for (const fold of document.querySelectorAll<HTMLDetailsElement>('dialog[open] details'))
    fold.open = true;
}

/** Closes the dialog that is open. (WebKitGTK's driver may say for a moment that its button can't be pressed.) */
export function closeDialog(): void {
  document.querySelector<HTMLButtonElement>('dialog[open] .dialog-head button')?.click();
}

/** Loads a model from an address, in the sheet, which must be open. */
export function submitAddress(address: string): void {
  const field = document.querySelector<HTMLInputElement>('dialog[open] #address');
  if (field === null) throw new Error('the sheet is not open');
  field.value = address;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  document.querySelector<HTMLButtonElement>('dialog[open] .by-address button')?.click();
}

/** Marks what shows the end of a text, so that the end of the next text can be told from it. */
export function forgetEnd(): void {
  document.querySelector('.ending')?.setAttribute('data-old', '');
}

export async function look(): Promise<Seen> {
  // The last words are shown with the next frame.
  await new Promise((shown) => requestAnimationFrame(shown));
  const text = (selector: string): string => document.querySelector(selector)?.textContent ?? '';
  const values = [...document.querySelectorAll('dt')].map((name) => [
    name.textContent,
    name.parentElement?.querySelector('dd')?.textContent ?? '',
  ]);
  const problem = document.querySelector<HTMLElement>('.notice.wrong');
  return {
    model: text('.chip-name'),
    loading: document.querySelector('.loading') !== null,
    button: text('.composer button.primary'),
    written: document.querySelector('.ending:not([data-old])') !== null,
    text: text('#written'),
    state: text('.how') || text('.composer .state'),
    values: Object.fromEntries(values) as Record<string, string>,
    problem:
      problem === null
        ? null
        : { code: problem.dataset['code'] ?? '', text: problem.textContent.trim() },
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}
