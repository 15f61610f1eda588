import { useComputed } from '@preact/signals';
import type { XrayController } from './controller';
import { draw, highest, seriesOf } from './series';
import { SHADES, shade, type Shade } from './shade';
import { xrayTexts } from './texts';
import { told } from './told';

const WIDTH = 480;
const HEIGHT = 64;

/** Surprise and entropy along the text, and where the token is that is looked at: a slider over all tokens. */
export function Along({ xray }: { xray: XrayController }) {
  const lines = useComputed(() => {
    void xray.drawn.value;
    const series = seriesOf(xray.chain.value);
    const most = highest(series);
    return {
      surprise: draw(series.surprise, most, WIDTH, HEIGHT).path,
      entropy: draw(series.entropy, most, WIDTH, HEIGHT).area,
    };
  });
  const words = xrayTexts.value;
  const [at, length] = [xray.at.value, xray.length.value];
  return (
    <div class="xray-along">
      <div class="xray-along-head">
        <h3 class="label">{words.line}</h3>
        <ul class="xray-legend">
          <li data-of="surprise">{words.surprise}</li>
          <li data-of="entropy">{words.entropy}</li>
        </ul>
        <label class="xray-shade">
          {words.shadeBy}
          <select
            value={shade.value}
            onChange={(event) => (shade.value = event.currentTarget.value as Shade)}
          >
            {SHADES.map((one) => (
              <option key={one} value={one}>
                {words.shades[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="xray-line">
        <input
          type="range"
          min={1}
          max={Math.max(1, length)}
          value={at + 1}
          aria-label={words.line}
          aria-valuetext={told(xray)}
          onInput={(event) => xray.to(Number(event.currentTarget.value) - 1)}
        />
        <div class="xray-picture" aria-hidden="true">
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
            <path class="entropy" d={lines.value.entropy} />
            <path class="surprise" d={lines.value.surprise} />
          </svg>
          <span
            class="xray-here"
            style={{ left: `${(100 * (at + 0.5)) / Math.max(1, length)}%` }}
          />
        </div>
      </div>
    </div>
  );
}
