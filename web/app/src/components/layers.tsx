import { effect, signal, untracked, useComputed, useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { bytes, milliseconds } from '../format';
import {
  columnsFor,
  fillOf,
  inWords,
  partsOf,
  slotInWords,
  summaryOf,
  type WeightsView,
} from '../layers';
import { run, weights } from '../state';

const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/** Milliseconds between two updates of the picture. A text that is written needs the processor more. */
function pace(): number {
  if (still.matches) return 1000;
  return run.peek() === 'writing' ? 400 : 200;
}

/** Milliseconds between two changes of the words: a screen reader says each to its end. */
const WORDS_MS = 5000;
/** A model that is loaded sooner is said only once. */
const FIRST_WORDS_MS = 1000;

/** The view that is drawn: the newest, at the pace of the picture, while the picture is seen. */
const drawn = signal<WeightsView | null>(null);

/** Keeps `drawn` up to date while `picture` is in view. */
function keepDrawn(picture: Element): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = -Infinity;
  let inView = true;
  const take = (): void => {
    timer = undefined;
    if (!inView || document.hidden) return;
    last = performance.now();
    drawn.value = weights.peek();
  };
  const want = (): void => {
    if (timer !== undefined || !inView || document.hidden) return;
    timer = setTimeout(take, Math.max(0, last + pace() - performance.now()));
  };
  const dispose = effect(() => {
    void weights.value;
    want();
  });
  const observer = new IntersectionObserver((entries) => {
    inView = entries.at(-1)?.isIntersecting ?? true;
    want();
  });
  observer.observe(picture);
  document.addEventListener('visibilitychange', want);
  return () => {
    clearTimeout(timer);
    dispose();
    observer.disconnect();
    document.removeEventListener('visibilitychange', want);
  };
}

/**
 * Draws the cells. They are changed by hand, and only those that differ: nothing of that moves another, so the browser
 * has to paint a few cells and no more.
 */
function drawCells(picture: HTMLElement, view: WeightsView | null): void {
  const slots = view?.slots ?? [];
  if (picture.childElementCount !== slots.length) {
    picture.replaceChildren(
      ...slots.map(() => {
        const cell = document.createElement('i');
        cell.className = 'cell';
        return cell;
      }),
    );
    arrange(picture, picture.clientWidth);
  }
  const cells = picture.children as HTMLCollectionOf<HTMLElement>;
  // When all is in memory, the layer of the moment is gone before it is seen.
  const calm =
    view !== null && slots.every(({ state }) => state === 'resident' || state === 'computing');
  slots.forEach((slot, i) => {
    const cell = cells[i];
    if (cell === undefined) return;
    const { kind, streamed } = slot;
    const state = calm && !streamed && run.peek() === 'writing' ? 'resident' : slot.state;
    const look = `${kind} ${state}${streamed ? ' again' : ''}`;
    if (cell.dataset['look'] !== look) cell.dataset['look'] = look;
    const fill = `${fillOf({ ...slot, state })}%`;
    if (cell.style.getPropertyValue('--fill') !== fill) cell.style.setProperty('--fill', fill);
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
    const stop = keepDrawn(element);
    const dispose = effect(() => {
      const view = drawn.value;
      untracked(() => drawCells(element, view));
    });
    const observer = new ResizeObserver((entries) => {
      arrange(element, entries.at(-1)?.contentRect.width ?? 0);
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
    const newest = (): string => (weights.value === null ? '' : inWords(weights.value));
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = -Infinity;
    const dispose = effect(() => {
      if (newest() === words.peek() || timer !== undefined) return;
      const wait = Math.max(FIRST_WORDS_MS, last + WORDS_MS - performance.now());
      timer = setTimeout(() => {
        timer = undefined;
        last = performance.now();
        words.value = untracked(newest);
      }, wait);
    });
    return () => {
      clearTimeout(timer);
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
  return (
    <section class="layers" aria-labelledby="layers-heading">
      <div class="layers-head">
        <h2 class="label" id="layers-heading">
          Layers
        </h2>
        <p class="layers-parts">{parts}</p>
      </div>
      <Words />
      <div class="layers-picture">
        <Picture />
        <ul class="legend">
          <Sample look="absent">To come</Sample>
          <Sample look="arriving">Arriving</Sample>
          <Sample look="resident">In memory</Sample>
          <Sample look="resident again">Read again</Sample>
          <Sample look="computing">Computing</Sample>
        </ul>
      </div>
      <Facts />
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
  const rate = (wanted: boolean) => (view: WeightsView) =>
    (view.source === 'network') === wanted && view.bytesPerSecond > 0
      ? `${bytes(view.bytesPerSecond)}/s`
      : NONE;
  return (
    <dl class="layers-facts">
      <Fact label="Network" of={rate(true)} />
      <Fact label="This device" of={rate(false)} />
      <Fact
        label="Layers here"
        of={(view) => {
          const { ready, layers } = summaryOf(view);
          return layers === 0 ? NONE : `${ready} of ${layers}`;
        }}
      />
      <Fact
        label="Read again"
        of={({ streamedBytes }) => (streamedBytes > 0 ? bytes(streamedBytes) : NONE)}
      />
      <Fact label="Waited" of={({ waitedMs }) => (waitedMs >= 1 ? milliseconds(waitedMs) : NONE)} />
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
