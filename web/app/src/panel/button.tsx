import { tokens, count } from '../texts/format';
import { view } from '../ui/view';
import { t } from '../texts';
import { figuresTexts } from './figures-texts';
import { openSettings } from '../settings/open';
import { preset } from '../settings/presets';
import { TEXT_LENGTH, settings } from '../settings/settings';

/** The main settings in short. */
function summary(): string {
  const texts = figuresTexts.value;
  const { length, seed, memory } = settings.value;
  const endless = length === null && view.value === 'talk';
  return texts.summary(
    texts.preset[preset.value],
    endless ? texts.untilItEnds : texts.upTo(tokens(length ?? TEXT_LENGTH)),
    seed === null ? null : String(seed),
    memory === null ? null : count(memory),
  );
}

/** Opens the settings, and says in short how they are. */
export function SettingsButton() {
  return (
    <button type="button" class="settings-button" onClick={openSettings}>
      <span class="summary-title">{t.value.settings.title}</span>{' '}
      <span class="summary-text">{summary()}</span>
    </button>
  );
}
