import { t } from '../texts';
import { About } from '../ui/footer';
import { view } from '../ui/view';
import { roomTexts } from './texts';
import { Extent } from './extent-fields';
import { ModelFields } from './model-fields';
import { shortcutsOpen } from '../settings/open';
import { PageFields } from './page-fields';
import { chosenPreset } from '../settings/presets';
import { Presets, Samplers } from './sampler-fields';
import { SETTING_NAMES, defaults, formatSetting, settings } from '../settings/settings';

/** All settings. */
export function Settings() {
  const texts = roomTexts.value;
  return (
    <div class="settings">
      <section>
        <h3>{view.value === 'talk' ? texts.answers : texts.texts}</h3>
        <Presets />
        <Samplers />
      </section>
      <section>
        <h3>{texts.extent}</h3>
        <Extent />
      </section>
      <section>
        <h3 id="settings-model" tabIndex={-1}>
          {texts.model}
        </h3>
        <ModelFields />
      </section>
      <section>
        <h3>{texts.page}</h3>
        <PageFields />
        <button
          type="button"
          class="quiet keys-button"
          onClick={() => (shortcutsOpen.value = true)}
        >
          {t.value.page.shortcuts} <kbd>?</kbd>
        </button>
        {view.value === 'talk' && <About />}
      </section>
      <ToDefaults />
    </div>
  );
}

/** What belongs to the reader and this device stays as it is. */
function ToDefaults() {
  const changed = SETTING_NAMES.some((name) => formatSetting(name, settings.value) !== null);
  return (
    <button
      type="button"
      class="quiet"
      disabled={!changed}
      onClick={() => {
        settings.value = { ...defaults.value };
        chosenPreset.value = null;
      }}
    >
      {roomTexts.value.backToDefaults}
    </button>
  );
}
