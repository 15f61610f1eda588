import { signal } from '@preact/signals';
import type { EngineStats } from '@sluice/engine';
import { sharing } from '../ui/device';
import { milliseconds, steady, tokens as countTokens } from '../texts/format';
import { stats } from '../model/state';
import { Dialog } from '../ui/dialog';
import { With } from '../ui/later';
import { figuresShown } from './figures-shown';
import { settingsParts } from './parts';
import { figuresTexts } from './figures-texts';

/** Whether the details are open. */
const figuresOpen = signal(false);

/** The figures of the last text, as one quiet line. Its height is always the same. */
export function FiguresLine() {
  const texts = figuresTexts.value;
  const s = figuresShown();
  return (
    <>
      <div class="figures">
        <p class="figures-text">{s === null ? '' : inShort(s).join(' · ')}</p>
        {stats.value !== null && (
          <button
            type="button"
            class="quiet figures-more"
            aria-haspopup="dialog"
            onClick={() => {
              figuresOpen.value = true;
            }}
          >
            {sharing ? texts.details : texts.whyOneThread}
          </button>
        )}
      </div>
      <Dialog open={figuresOpen} title={texts.detailsTitle}>
        <With of={settingsParts}>{({ Details }) => <Details />}</With>
      </Dialog>
    </>
  );
}

function inShort({ tokensPerSecond, ttftMs, tokens }: EngineStats): string[] {
  const texts = figuresTexts.value;
  return [
    ...(tokensPerSecond > 0 ? [texts.perSecond(steady(tokensPerSecond))] : []),
    ...(ttftMs > 0 ? [texts.firstTokenAfter(milliseconds(ttftMs))] : []),
    countTokens(tokens),
  ];
}
