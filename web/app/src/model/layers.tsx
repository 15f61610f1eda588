import { effect, signal, untracked, useComputed, useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { WeightsView } from '@sluice/engine';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { bytes, milliseconds, ofWhole } from '../texts/format';
import { cellsOf, columnsFor, inWords, isWhole, partsOf, slotInWords, summaryOf } from './cells';
import { layersTexts } from './layers-texts';
import { Pacer } from '../ui/pacer';
import { loading, model, resting, stats, weights } from './state';
import { run } from './run';

const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/** The view that is drawn: the newest, at the pace of the picture, while the picture is seen. */
const drawn = signal<WeightsView | null>(null);

/** Milliseconds between two updates of the picture. A text that is written needs the processor more. */
function pace(): number {
  const [before, now] = [drawn.peek(), weights.peek()];
  // What a load begins with, and its end, are shown at once.
  if (before === null || (now !== null && isWhole(now) && !isWhole(before))) return 0;
  if (still.matches) return 1000;
  return run.peek() === 'writing' ? 400 : 200;
}

/** Milliseconds between two changes of the words: a screen reader says each to its end. */
const WORDS_MS = 5000;
/** What is over sooner is not said. */
const FIRST_WORDS_MS = 1000;

/** Keeps `drawn` up to date while `picture` is in view. */
function keepDrawn(picture: Element): () => void {
  let inView = true;
  const pacer = new Pacer(
    () => {
      drawn.value = weights.peek();
    },
    pace,
    () => inView && !document.hidden,
  );
  const look = (): void => pacer.changed();
  const dispose = effect(() => {
    void weights.value;
    look();
  });
  const observer = new IntersectionObserver(
    (entries) => {
      inView = entries.at(-1)?.isIntersecting ?? true;
      look();
    },
    { rootMargin: '100px' },
  );
  observer.observe(picture);
  document.addEventListener('visibilitychange', look);
  return () => {
    pacer.stop();
    dispose();
    observer.disconnect();
    document.removeEventListener('visibilitychange', look);
  };
}

/**
 * Draws the cells. They are changed by hand, and only those that differ: nothing of that moves another, so the browser
 * has to paint a few cells and no more.
 */
function drawCells(picture: HTMLElement, view: WeightsView | null, width: number): void {
  const count = view?.slots.length ?? 0;
  if (picture.childElementCount !== count) {
    picture.replaceChildren(
      ...Array.from({ length: count }, () => {
        const cell = document.createElement('i');
        cell.className = 'cell';
        return cell;
      }),
    );
    arrange(picture, width);
  }
  const cells = picture.children as HTMLCollectionOf<HTMLElement>;
  const writing = run.peek() === 'writing';
  (view === null ? [] : cellsOf(view, writing, resting.peek())).forEach(({ look, fill }, i) => {
    const cell = cells[i];
    if (cell === undefined) return;
    if (cell.dataset['look'] !== look) cell.dataset['look'] = look;
    const height = `${fill}%`;
    if (cell.style.getPropertyValue('--fill') !== height) cell.style.setProperty('--fill', height);
  });
}

function arrange(picture: HTMLElement, width: number): void {
  const columns = columnsFor(picture.childElementCount, width);
  picture.style.setProperty('--columns', String(columns));
  picture.dataset['rows'] = String(Math.ceil(picture.childElementCount / columns));
}

function Picture() {
  const picture = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = picture.current;
    if (element === null) return undefined;
    let width = 0;
    const stop = keepDrawn(element);
    const dispose = effect(() => {
      const view = drawn.value;
      void resting.value;
      untracked(() => drawCells(element, view, width));
    });
    const observer = new ResizeObserver((entries) => {
      width = entries.at(-1)?.contentRect.width ?? 0;
      arrange(element, width);
    });
    observer.observe(element);
    return () => {
      stop();
      dispose();
      observer.disconnect();
    };
  }, []);
  return (
    <div
      class="cells"
      ref={picture}
      aria-hidden="true"
      onPointerOver={(event) => {
        const cell = event.target as HTMLElement;
        const view = drawn.peek();
        const index = [...(picture.current?.children ?? [])].indexOf(cell);
        if (view !== null && index >= 0) cell.title = slotInWords(view, index);
      }}
    />
  );
}

/** What a screen reader says of the picture, when it has changed. */
function Words() {
  const words = useSignal('');
  useEffect(() => {
    const newest = (view: WeightsView | null): string =>
      view === null ? '' : inWords(view, resting.value);
    let of = model.peek();
    const pacer = new Pacer(
      () => {
        words.value = newest(weights.peek());
      },
      () => WORDS_MS,
      () => true,
      FIRST_WORDS_MS,
    );
    const dispose = effect(() => {
      const text = newest(weights.value);
      // What was said of another model is wrong now.
      if (of !== model.value) {
        words.value = text;
        if (text !== '') of = model.value;
      } else if (text !== words.peek()) {
        pacer.changed();
      }
    });
    return () => {
      pacer.stop();
      dispose();
    };
  }, []);
  return (
    <p class="sr-only" aria-live="polite">
      {words}
    </p>
  );
}

/** The picture of the model: a basin for each part of its weights, in the order of execution, and how full it is. */
export function Layers() {
  const parts = useComputed(() => (drawn.value === null ? '' : partsOf(drawn.value)));
  const { title, legend } = layersTexts.value;
  return (
    <section class="layers" aria-label={title}>
      <p class="layers-parts">{parts}</p>
      <Words />
      <div class="layers-body">
        <div>
          <Picture />
          <ul class="legend">
            <Sample look="absent">{legend.absent}</Sample>
            <Sample look="arriving">{legend.arriving}</Sample>
            <Sample look="resident">{legend.resident}</Sample>
            <Sample look="resident again">{legend.again}</Sample>
            <Sample look="computing">{legend.computing}</Sample>
          </ul>
        </div>
        <Facts />
      </div>
    </section>
  );
}

function Sample({ look, children }: { look: string; children: ComponentChildren }) {
  return (
    <li>
      <i class="cell" data-look={look} aria-hidden="true" />
      {children}
    </li>
  );
}

const NONE = '–';

/** What network and device give, and what it cost to wait for it. */
function Facts() {
  const rate = (network: boolean) => (view: WeightsView) => {
    // What doesn't stay in memory is downloaded past it.
    const rest = network && resting.value ? (loading.value?.progress?.bytesPerSecond ?? 0) : 0;
    const own = (view.source === 'network') === network ? view.bytesPerSecond : 0;
    const perSecond = Math.max(rest, own);
    return perSecond > 0 ? `${bytes(perSecond)}/s` : NONE;
  };
  const words = layersTexts.value;
  return (
    <dl class="layers-facts">
      <Fact label={words.network} of={rate(true)} />
      <Fact label={words.device} of={rate(false)} />
      <Fact
        label={words.ready}
        of={(view) => {
          const { ready, layers } = summaryOf(view);
          return layers === 0 ? NONE : ofWhole(String(ready), String(layers));
        }}
      />
      <Fact
        label={words.readAgain}
        of={({ rereadBytes }) => (rereadBytes > 0 ? bytes(rereadBytes) : NONE)}
      />
      <Fact
        label={words.waited}
        of={({ waitedMs }) => (waitedMs >= 1 ? milliseconds(waitedMs) : NONE)}
      />
      <Fact
        label={words.limit}
        of={() => {
          const limit = stats.value?.memoryBudget ?? 0;
          return limit > 0 ? bytes(limit) : NONE;
        }}
      />
    </dl>
  );
}

/** A figure whose text alone changes. */
function Fact({ label, of }: { label: string; of: (view: WeightsView) => string }) {
  const text: ReadonlySignal<string> = useComputed(() =>
    drawn.value === null ? NONE : of(drawn.value),
  );
  return (
    <div>
      <dt>{label}</dt>
      <dd>{text}</dd>
    </div>
  );
}
