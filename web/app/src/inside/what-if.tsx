import { exact } from '../texts/format';
import { RANGES } from '../settings/settings';
import { MOVED, type Moved, type XrayController } from './controller';
import { xrayTexts } from './texts';

/** The most that the slider of top-k reaches: somewhat more than what is kept of each token. */
const MOST_TOP_K = 300;

/** Moves the samplers: the bars follow, and the text stays as it is. */
export function WhatIfFields({ xray }: { xray: XrayController }) {
  const words = xrayTexts.value;
  const moved = Object.keys(xray.whatIf.value).length > 0;
  return (
    <section class="xray-what-if" aria-labelledby="xray-what-if">
      <div class="xray-what-if-head">
        <h3 class="label" id="xray-what-if">
          {words.whatIf}
        </h3>
        <button
          type="button"
          class="quiet"
          disabled={!moved}
          onClick={() => {
            // This button can't be pressed any more.
            document.getElementById(`xray-${MOVED[0]}`)?.focus({ preventScroll: true });
            xray.moveBack();
          }}
        >
          {words.asWritten}
        </button>
      </div>
      <div class="xray-sliders">
        {MOVED.map((name) => (
          <Slider key={name} name={name} xray={xray} />
        ))}
      </div>
      <p class="hint">{words.whatIfHint}</p>
    </section>
  );
}

function Slider({ name, xray }: { name: Moved; xray: XrayController }) {
  const words = xrayTexts.value;
  const usual = xray.usual();
  if (usual === null) return null;
  const { min, max, step } = RANGES[name];
  const value = xray.whatIf.value[name] ?? usual[name];
  const off = (name === 'topP' && value === 1) || (name !== 'temperature' && value === 0);
  const shown = off ? words.off : exact(value);
  return (
    <div class="xray-slider" data-moved={name in xray.whatIf.value}>
      <label for={`xray-${name}`}>{words.samplers[name]}</label>
      <output for={`xray-${name}`}>{shown}</output>
      <input
        id={`xray-${name}`}
        type="range"
        min={min}
        max={name === 'topK' ? Math.max(MOST_TOP_K, usual.topK) : max}
        step={step}
        value={value}
        aria-valuetext={shown}
        onInput={(event) => xray.move(name, Number(event.currentTarget.value))}
      />
    </div>
  );
}
