import { count } from '../texts/format';
import type { XrayController } from './controller';
import { SPEEDS } from './player';
import { xrayTexts } from './texts';
import { tellStep } from './told';

const PATHS = {
  first: 'M17 6l-6 6 6 6M7 6v12',
  left: 'M14.5 6l-6 6 6 6',
  play: 'M8 5.5l10.5 6.5L8 18.5z',
  pause: 'M8.5 6v12M15.5 6v12',
  right: 'M9.5 6l6 6-6 6',
  last: 'M7 6l6 6-6 6M17 6v12',
} as const;

interface ButtonProps {
  icon: keyof typeof PATHS;
  label: string;
  onClick: () => void;
}

function StepButton({ icon, label, onClick }: ButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={onClick}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d={PATHS[icon]} />
      </svg>
    </button>
  );
}

/** Goes through the text: token by token, or by itself. */
export function Steps({ xray }: { xray: XrayController }) {
  const words = xrayTexts.value;
  const { playing, speed } = xray.player;
  const last = xray.length.value - 1;
  const at = xray.at.value;
  return (
    <div class="xray-steps" role="group" aria-label={words.player}>
      <StepButton
        icon="first"
        label={words.begin}
        onClick={() => tellStep(xray, () => xray.to(0))}
      />
      <StepButton
        icon="left"
        label={words.back}
        onClick={() => tellStep(xray, () => xray.step(-1))}
      />
      <StepButton
        icon={playing.value ? 'pause' : 'play'}
        label={playing.value ? words.pause : words.play}
        onClick={() => xray.playOrPause()}
      />
      <StepButton
        icon="right"
        label={words.next}
        onClick={() => tellStep(xray, () => xray.step(1))}
      />
      <StepButton
        icon="last"
        label={words.end}
        onClick={() => tellStep(xray, () => xray.toTheEnd())}
      />
      <p class="number">
        <span aria-hidden="true">
          {count(at + 1)} / {count(last + 1)}
        </span>
      </p>
      <label class="xray-speed">
        <span class="sr-only">{words.speed}</span>
        <select
          value={speed.value}
          onChange={(event) => (speed.value = Number(event.currentTarget.value))}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {words.perSecond(count(one))}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
