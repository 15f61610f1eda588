// What the model looked at when it chose a token: arcs over the words, by layer and head.
import { useSignal } from '@preact/signals';
import type { Attention } from '@sluice/engine';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { count } from '../texts/format';
import '../styles/inside-maps.css';
import { arcsOf, cutBefore, largest, weightsOf, type Arc, type Span } from './arc-shape';
import { DemandBar } from './demand-bar';
import type { LayersController, Looks } from './layers-controller';
import { insideMapsTexts } from './maps-texts';
import { xrayTexts } from './texts';
import { bare, named, share } from './words';

/** Pixels. */
const HEIGHT = 132;

/** The arcs, and what computes them. */
export function ArcsPart({ of, layers }: { of: LayersController; layers: number | null }) {
  const words = insideMapsTexts.value.arcs;
  const looks = of.looks.result.value;
  const heading = useId();
  return (
    <section class="arcs" aria-labelledby={heading}>
      <h3 id={heading} tabIndex={-1}>
        {words.title}
      </h3>
      <p class="hint">{words.about}</p>
      {of.led.value ? (
        <DemandBar
          of={of.looks}
          label={looks === null ? words.compute : words.computeHere}
          progress={words.title}
          able={of.able.value}
          busy={of.busy.value}
          wanted={looks?.token !== of.at.value}
          begin={() => of.computeLooks()}
          result="li[tabindex='0']"
        />
      ) : (
        <p class="hint">{xrayTexts.value.firstOfAll}</p>
      )}
      {looks !== null && <Without attention={looks.attention} layers={layers} />}
      {looks !== null && looks.attention.layers.length > 0 && <Picture {...looks} />}
    </section>
  );
}

/** The layers that don't attend. `layers`: how many there are; null: it is not known. */
function Without({ attention, layers }: { attention: Attention; layers: number | null }) {
  const words = insideMapsTexts.value.arcs;
  if (attention.layers.length === 0) return <p class="note">{words.none}</p>;
  const without = Array.from({ length: layers ?? 0 }, (_, i) => i).filter(
    (layer) => !attention.layers.includes(layer),
  );
  if (without.length === 0) return null;
  return <p class="note">{words.some(without.length, ranges(without))}</p>;
}

/** Numbers as people write them, from 1 on: 1–3, 5. */
export function ranges(places: readonly number[]): string {
  const found: [number, number][] = [];
  for (const one of places) {
    const last = found.at(-1);
    if (last?.[1] === one - 1) last[1] = one;
    else found.push([one, one]);
  }
  return found
    .map(([a, b]) => (a === b ? count(a + 1) : `${count(a + 1)}–${count(b + 1)}`))
    .join(', ');
}

function Picture({ token, words: texts, chosen, attention }: Looks) {
  const words = insideMapsTexts.value;
  const { arcs } = words;
  /** The place of the layer among those that attend. */
  const layer = useSignal(attention.layers.length - 1);
  const head = useSignal<number | null>(null);
  const at = Math.min(layer.value, attention.layers.length - 1);
  const heads = attention.heads[at] ?? 0;
  const of = head.value !== null && head.value < heads ? head.value : null;
  const weights = weightsOf(attention, at, of);
  const layerName = words.layer((attention.layers[at] ?? 0) + 1);
  const headName = of === null ? arcs.mean : arcs.headOf(of + 1);
  const [layerId, headId] = [useId(), useId()];
  return (
    <>
      <div class="arcs-choose">
        <span>
          <label for={layerId}>{arcs.layer}</label>
          <select
            id={layerId}
            value={String(at)}
            onChange={({ currentTarget }) => {
              layer.value = Number(currentTarget.value);
            }}
          >
            {attention.layers.map((one, i) => (
              <option key={one} value={String(i)}>
                {words.layer(one + 1)}
              </option>
            ))}
          </select>
        </span>
        <span>
          <label for={headId}>{arcs.head}</label>
          <select
            id={headId}
            value={of === null ? 'mean' : String(of)}
            onChange={({ currentTarget }) => {
              head.value = currentTarget.value === 'mean' ? null : Number(currentTarget.value);
            }}
          >
            <option value="mean">{arcs.mean}</option>
            {Array.from({ length: heads }, (_, i) => (
              <option key={i} value={String(i)}>
                {arcs.headOf(i + 1)}
              </option>
            ))}
          </select>
        </span>
      </div>
      <Line
        key={token}
        texts={texts}
        weights={weights}
        label={`${layerName}, ${headName}`}
        change={(by) => {
          layer.value = Math.min(attention.layers.length - 1, Math.max(0, at + by));
        }}
      />
      <p class="hint">
        {arcs.chosen(named(chosen))} {arcs.hint}
      </p>
      <div class="sr-only">
        <table>
          <caption>{arcs.table(layerName, headName)}</caption>
          <thead>
            <tr>
              <th scope="col">{arcs.token}</th>
              <th scope="col">{arcs.weight}</th>
            </tr>
          </thead>
          <tbody>
            {largest(weights).map(([place, weight]) => (
              <tr key={place}>
                <th scope="row">
                  {count(place + 1)}: {named(texts[place] ?? '')}
                </th>
                <td>{share(weight)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface LineProps {
  texts: readonly string[];
  weights: Float32Array;
  /** The layer and the head. */
  label: string;
  /** Goes up or down by a layer. */
  change: (by: number) => void;
}

/** The words in a line, the arcs over them. */
function Line({ texts, weights, label, change }: LineProps) {
  const { arcs } = insideMapsTexts.value;
  const box = useRef<HTMLDivElement>(null);
  const line = useRef<HTMLOListElement>(null);
  const drawn = useSignal<{ arcs: Arc[]; width: number }>({ arcs: [], width: 0 });
  const place = useSignal(texts.length - 1);
  const { first, earlier } = cutBefore(weights);
  const shown = texts.slice(first);
  const own = Array.from(weights.subarray(first));
  const values = first > 0 ? [earlier, ...own] : own;
  // Text that comes with its font later moves the words.
  useLayoutEffect(() => {
    const list = line.current;
    if (list === null) return undefined;
    const draw = (): void => {
      const spans = Array.from(list.children as HTMLCollectionOf<HTMLElement>, (one): Span => {
        return { left: one.offsetLeft, width: one.offsetWidth };
      });
      drawn.value = { arcs: arcsOf(spans, values, HEIGHT), width: list.scrollWidth };
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(list);
    return () => observer.disconnect();
  }, [weights]);
  // The end of the line is where the arcs begin.
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollLeft = box.current.scrollWidth;
  }, [texts]);
  const focus = (to: number): void => {
    place.value = Math.min(texts.length - 1, Math.max(first, to));
    const item = line.current?.children[place.value - first + (first > 0 ? 1 : 0)];
    (item as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="arcs-box" ref={box}>
      <svg
        width={drawn.value.width}
        height={HEIGHT}
        viewBox={`0 0 ${drawn.value.width} ${HEIGHT}`}
        aria-hidden="true"
      >
        {drawn.value.arcs.map(({ path, width, weight }) => (
          <path key={path} d={path} stroke-width={width} opacity={0.25 + 0.75 * weight} />
        ))}
      </svg>
      <ol
        ref={line}
        aria-label={label}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
          const layer = { ArrowUp: 1, ArrowDown: -1 }[event.key];
          if (event.altKey || event.metaKey || event.ctrlKey) return;
          if (step === undefined && layer === undefined) return;
          event.preventDefault();
          event.stopPropagation();
          if (step !== undefined) focus(place.peek() + step);
          else change(layer ?? 0);
        }}
      >
        {first > 0 && (
          <li class="earlier" title={share(earlier)}>
            … <span class="sr-only">{arcs.earlier(first, count(first))}</span>
          </li>
        )}
        {shown.map((text, i) => (
          <li
            key={first + i}
            tabIndex={place.value === first + i ? 0 : -1}
            title={share(own[i] ?? 0)}
            aria-label={arcs.told(count(first + i + 1), named(text), share(own[i] ?? 0))}
            style={{ '--weight': (own[i] ?? 0).toFixed(3) }}
            onFocus={() => {
              place.value = first + i;
            }}
          >
            <bdi>{bare(text)}</bdi>
          </li>
        ))}
      </ol>
    </div>
  );
}
