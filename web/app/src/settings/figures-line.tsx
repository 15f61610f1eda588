import { signal } from '@preact/signals';
import type { EngineStats } from '@sluice/engine';
import { sharing } from '../device';
import { milliseconds, steady, tokens as countTokens } from '../format';
import { stats } from '../model/state';
import { Dialog } from '../page/dialog';
import { Later } from '../page/parts';
import { run } from '../run';
import { t } from '../texts';

/** Whether the details are open. */
const figuresOpen = signal(false);

/** The figures of the present text, or of the last one; null until there are any. */
export function figuresShown(): EngineStats | null {
  // Until the first token of a text the figures are those of the text before.
  const begun = run.value !== 'waiting' && run.value !== 'reading';
  const s = stats.value;
  return s !== null && s.tokens > 0 && begun ? s : null;
}

/** The figures of the last text, as one quiet line. Its height is always the same. */
export function FiguresLine() {
  const texts = t.value.settings;
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
        <Later>{({ Details }) => <Details />}</Later>
      </Dialog>
    </>
  );
}

function inShort({ tokensPerSecond, ttftMs, tokens }: EngineStats): string[] {
  const texts = t.value.settings;
  return [
    ...(tokensPerSecond > 0 ? [texts.perSecond(steady(tokensPerSecond))] : []),
    ...(ttftMs > 0 ? [texts.firstTokenAfter(milliseconds(ttftMs))] : []),
    countTokens(tokens),
  ];
}
