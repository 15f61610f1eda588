// What the layers hold of the text that is looked at.
import { useEffect, useMemo } from 'preact/hooks';
import { busy } from '../model/run';
import { ArcsPart } from './arcs';
import type { ReadonlySignal } from '@preact/signals';
import type { XrayController } from './controller';
import type { Insight } from './library';
import { LayersController } from './layers-controller';
import { LensPart } from './lens';
import { insideMapsTexts } from './maps-texts';

interface Props {
  xray: XrayController;
  engine: ReadonlySignal<Insight | null>;
}

/** Folded until the reader wants it. */
export function Layers({ xray, engine }: Props) {
  const { chain, length, at } = xray;
  const of = useMemo(
    () =>
      new LayersController({
        engine,
        busy,
        chain,
        length,
        at,
        to: (token) => xray.to(token),
      }),
    [xray, engine],
  );
  useEffect(() => of.start(), [of]);
  return (
    <details class="layers-of">
      <summary>{insideMapsTexts.value.layers}</summary>
      <LensPart of={of} />
      <ArcsPart of={of} layers={engine.value?.info.layers ?? null} />
    </details>
  );
}
