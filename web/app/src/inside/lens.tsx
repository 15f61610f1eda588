// What each layer would have said, as a map: a row for each layer, the last one on top, and a column for each token.
import { signal, useSignal } from '@preact/signals';
import type { LensCell } from '@sluice/engine';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { count, digits } from '../texts/format';
import '../styles/inside-maps.css';
import { DemandBar } from './demand-bar';
import type { LayersController, LensMap } from './layers-controller';
import { insideMapsTexts } from './maps-texts';
import { xrayTexts } from './texts';
import { bare, inBits, named, share } from './words';

export type LensColour = 'probability' | 'divergence';
const COLOURS: readonly LensColour[] = ['probability', 'divergence'];

/** By what the cells are coloured. */
const colour = signal<LensColour>('probability');

/** How strongly a cell is coloured, from 0 to 1. */
export function strength({ top, divergence }: LensCell, by: LensColour): number {
  // The divergence of two distributions is at most ln 2.
  const value = by === 'probability' ? Math.exp(top[0]?.[1] ?? -Infinity) : divergence / Math.LN2;
  return Math.min(1, Math.max(0, value));
}

/** A place in the map: the row from the top, and the column. */
export interface CellPlace {
  row: number;
  column: number;
}

/** Where a key leads in a map of so many rows and columns; null: nowhere. */
export function led(
  { key, ctrlKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey'>,
  { row, column }: CellPlace,
  rows: number,
  columns: number,
): CellPlace | null {
  const to = (newRow: number, newColumn: number): CellPlace => ({
    row: Math.min(rows - 1, Math.max(0, newRow)),
    column: Math.min(columns - 1, Math.max(0, newColumn)),
  });
  switch (key) {
    case 'ArrowUp':
      return to(row - 1, column);
    case 'ArrowDown':
      return to(row + 1, column);
    case 'ArrowLeft':
      return to(row, column - 1);
    case 'ArrowRight':
      return to(row, column + 1);
    case 'PageUp':
      return to(0, column);
    case 'PageDown':
      return to(rows - 1, column);
    case 'Home':
      return to(ctrlKey ? 0 : row, 0);
    case 'End':
      return to(ctrlKey ? rows - 1 : row, columns - 1);
    default:
      return null;
  }
}

/** The map, and what computes it. */
export function LensPart({ of }: { of: LayersController }) {
  const words = insideMapsTexts.value;
  const { lens } = words;
  const map = of.lens.result.value;
  const heading = useId();
  const at = of.at.value;
  const within = map !== null && at >= map.from && at < map.from + map.chosen.length;
  return (
    <section class="lens" aria-labelledby={heading}>
      <h3 id={heading} tabIndex={-1}>
        {lens.title}
      </h3>
      <p class="hint">{lens.about}</p>
      <DemandBar
        of={of.lens}
        label={map === null ? lens.compute : lens.computeHere}
        progress={lens.progress}
        able={of.able.value}
        busy={of.busy.value}
        wanted={!within}
        begin={() => of.computeLens()}
        result="td[tabindex='0']"
      />
      {map !== null && <Map key={map.from} map={map} of={of} />}
    </section>
  );
}

function Map({ map, of }: { map: LensMap; of: LayersController }) {
  const words = insideMapsTexts.value;
  const { lens } = words;
  const name = useId();
  const table = useRef<HTMLTableElement>(null);
  const [rows, columns] = [map.layers.length, map.chosen.length];
  const here = of.at.value - map.from;
  const place = useSignal<CellPlace>({
    row: 0,
    column: Math.min(columns - 1, Math.max(0, here)),
  });
  /** The key has moved the place: the focus follows. */
  const follows = useRef(false);
  useLayoutEffect(() => {
    if (!follows.current) return;
    follows.current = false;
    table.current?.querySelector<HTMLElement>('td[tabindex="0"]')?.focus();
  }, [place.value]);
  // The column of the token that is looked at
  useEffect(() => {
    const box = table.current?.parentElement;
    const head = table.current?.querySelectorAll<HTMLElement>('thead th')[here + 1];
    if (box != null && head !== undefined)
      box.scrollLeft = head.offsetLeft - (box.clientWidth - head.offsetWidth) / 2;
  }, [here]);
  const titles = map.chosen.map((piece, i) => lens.column(count(map.from + i + 1), named(piece)));
  return (
    <>
      <div class="lens-head">
        <p class="label" id={name}>
          {lens.of(count(map.from + 1), count(map.from + columns))}
        </p>
        <Colours />
      </div>
      <div class="lens-box">
        <table
          ref={table}
          role="grid"
          aria-labelledby={name}
          onKeyDown={(event) => {
            const to = led(event, place.peek(), rows, columns);
            if (to === null || event.altKey || event.metaKey) return;
            event.preventDefault();
            event.stopPropagation();
            follows.current = true;
            place.value = to;
          }}
        >
          <thead>
            <tr>
              <th scope="col">{lens.corner}</th>
              {map.chosen.map((piece, i) => (
                <th key={i} scope="col" aria-current={i === here} aria-label={titles[i]}>
                  <bdi>{bare(piece)}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {map.layers
              .map((layer, i) => ({ layer, cells: map.cells[i] ?? [] }))
              .reverse()
              .map(({ layer, cells }, row) => (
                <tr key={layer}>
                  <th scope="row" aria-label={words.layer(layer + 1)}>
                    {count(layer + 1)}
                  </th>
                  {cells.map((cell, column) => (
                    <Cell
                      key={column}
                      cell={cell}
                      map={map}
                      here={column === here}
                      chosen={place.value.row === row && place.value.column === column}
                      look={() => {
                        place.value = { row, column };
                      }}
                      to={() => of.to(map.from + column)}
                    />
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      <Told map={map} place={place.value} />
      <p class="hint">{lens.hint}</p>
    </>
  );
}

interface CellProps {
  cell: LensCell;
  map: LensMap;
  /** In the column of the token that is looked at. */
  here: boolean;
  /** It is told below. */
  chosen: boolean;
  look: () => void;
  to: () => void;
}

function Cell({ cell, map, here, chosen, look, to }: CellProps) {
  const [id, logprob] = cell.top[0] ?? [-1, -Infinity];
  const piece = map.pieces.get(id) ?? '';
  const own = strength(cell, colour.value);
  return (
    <td
      role="gridcell"
      tabIndex={chosen ? 0 : -1}
      aria-label={insideMapsTexts.value.lens.cell(named(piece), share(Math.exp(logprob)))}
      {...(chosen && { 'aria-describedby': 'lens-told' })}
      data-here={here}
      style={{ '--strength': own.toFixed(3) }}
      onFocus={look}
      // Not what scrolls to where the mouse rests.
      onPointerMove={(event) => {
        if (event.pointerType === 'mouse' && !chosen) look();
      }}
      onClick={to}
    >
      <bdi>{bare(piece)}</bdi>
    </td>
  );
}

/** What a cell says: the likeliest tokens, how undecided the layer is, and how far from the end. */
function Told({ map, place }: { map: LensMap; place: CellPlace }) {
  const words = insideMapsTexts.value;
  const { lens } = words;
  const at = map.layers.length - 1 - place.row;
  const cell = map.cells[at]?.[place.column];
  if (cell === undefined) return null;
  const token = named(map.chosen[place.column] ?? '');
  return (
    <div class="lens-told" id="lens-told">
      <p class="label">{lens.at(words.layer((map.layers[at] ?? 0) + 1), token)}</p>
      <ol>
        {cell.top.map(([id, logprob]) => (
          <li key={id}>
            <bdi>{bare(map.pieces.get(id) ?? '')}</bdi>{' '}
            <span class="number">{share(Math.exp(logprob))}</span>
          </li>
        ))}
      </ol>
      <p class="hint">
        {lens.entropy} {inBits(cell.entropy)} · {lens.divergence}{' '}
        {xrayTexts.value.bits(digits(Math.max(0, cell.divergence) / Math.LN2))}
      </p>
    </div>
  );
}

function Colours() {
  const { colour: label, colours } = insideMapsTexts.value.lens;
  const id = useId();
  return (
    <div class="lens-colour">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={colour.value}
        onChange={({ currentTarget }) => {
          colour.value = COLOURS.find((one) => one === currentTarget.value) ?? 'probability';
        }}
      >
        {COLOURS.map((one) => (
          <option key={one} value={one}>
            {colours[one]}
          </option>
        ))}
      </select>
    </div>
  );
}
