import { opened } from '../inside/looks';
import { writingTexts } from './texts';

const ID = 'xray-button';

/** Opens the x-ray of the text, and closes it. */
export function XrayButton() {
  return (
    <button
      type="button"
      class="quiet"
      id={ID}
      title={`${writingTexts.value.xrayHint} (X)`}
      aria-expanded={opened.value === 'text'}
      onClick={toggleXray}
    >
      {writingTexts.value.xray}
    </button>
  );
}

/** The focus goes back to the button. */
export function closeXray(): void {
  opened.value = null;
  document.getElementById(ID)?.focus({ preventScroll: true });
}

export function toggleXray(): void {
  if (opened.peek() === 'text') closeXray();
  else opened.value = 'text';
}
