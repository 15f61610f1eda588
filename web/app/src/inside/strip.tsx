import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { XrayController } from './controller';
import { clearMarks, markIn, pressedIn, shadeIn } from './in-text';
import { levelOf, seriesOf } from './series';
import { shade } from './shade';

/** Tokens that are drawn before and after the one that is looked at. */
const AROUND = 60;

/** The text around the token that is looked at, shaded. (A screen reader has the slider, and the text itself.) */
export function Strip({ xray }: { xray: XrayController }) {
  const strip = useRef<HTMLParagraphElement>(null);
  const at = xray.at.value;
  void xray.drawn.value;
  useInText(xray);
  // Only the strip itself scrolls.
  useLayoutEffect(() => {
    const box = strip.current;
    const here = box?.querySelector<HTMLElement>('[data-here=true]');
    if (box == null || here == null) return;
    const { top, height } = here.getBoundingClientRect();
    box.scrollTop += top - box.getBoundingClientRect().top - (box.clientHeight - height) / 2;
  });
  return (
    <p class="xray-strip" ref={strip} aria-hidden="true" onClick={(event) => pick(xray, event)}>
      {around(xray, at).map(({ token, text, level }) => (
        <span key={token} data-token={token} data-level={level} data-here={token === at}>
          {text}
        </span>
      ))}
    </p>
  );
}

/** The text on the page is shaded as well, once it is written, and its words can be pressed. */
function useInText(xray: XrayController): void {
  const { subject, chain, drawn, at } = xray;
  /** Counts the words that have dried: they are other nodes from then on. */
  const dried = useSignal(0);
  const still = useComputed(() => (subject.value?.growing === false ? subject.value : null));
  useSignalEffect(() => {
    void [drawn.value, dried.value];
    const root = still.value?.element?.() ?? null;
    if (root === null || chain.value === null) clearMarks();
    else shadeIn(root, chain.value, shade.value);
  });
  useSignalEffect(() => {
    void [drawn.value, dried.value];
    const root = still.value?.element?.() ?? null;
    const token = chain.value?.at(at.value) ?? null;
    if (root !== null && token !== null) markIn(root, token.begun, token.length);
  });
  useSignalEffect(() => {
    const root = still.value?.element?.() ?? null;
    if (root === null) return undefined;
    const abort = new AbortController();
    const { signal } = abort;
    root.addEventListener('animationend', () => (dried.value += 1), { signal });
    root.addEventListener(
      'click',
      (event) => {
        const character = pressedIn(root, event as MouseEvent);
        if (character !== null && chain.peek() !== null)
          xray.to(chain.peek()?.tokenAt(character) ?? 0);
      },
      { signal },
    );
    return () => abort.abort();
  });
  useEffect(() => clearMarks, []);
}

function pick(xray: XrayController, event: MouseEvent): void {
  const token = (event.target as HTMLElement).dataset['token'];
  if (token !== undefined) xray.to(Number(token));
}

/** The tokens around a place, with their texts and how strongly each is shaded. */
function around(xray: XrayController, at: number) {
  const chain = xray.chain.value;
  const text = xray.subject.value?.text() ?? '';
  if (chain === null) return [];
  const values = shade.value === 'none' ? null : seriesOf(chain)[shade.value];
  const found: { token: number; text: string; level: number }[] = [];
  let before = 0;
  for (const { ids, lengths, begun } of chain.runs) {
    let place = begun;
    for (let i = 0; i < ids.length; ++i) {
      const token = before + i;
      const end = place + (lengths[i] ?? 0);
      if (token > at + AROUND) return found;
      if (token >= at - AROUND) {
        const level = values === null ? 0 : levelOf(values[token]);
        found.push({ token, text: text.slice(place, end), level });
      }
      place = end;
    }
    before += ids.length;
  }
  return found;
}
