// What is said of a model of the shelf, and the button that downloads and opens it.
import { bytes, seconds } from '../texts/format';
import { openAddress } from './offer';
import { t } from '../texts';
import { accept, here, mustAccept, secondsToCome, type Offered, type ShelfFile } from './shelf';
import { speedShort } from './speed';
import { termsInWords } from './shelf-words';

function sizeInWords({ bytes: size, sure }: ShelfFile): string {
  return sure ? bytes(size) : t.value.model.shelf.about(bytes(size));
}

/** In one line: about 2 min to download · 12 to 22 tokens/s · Licence: Apache-2.0. The button says the size. */
export function factsInWords({ model, file, fits, speed }: Offered): string {
  const words = t.value.model.shelf;
  const isHere = here.value.has(file.address);
  const takes = isHere ? null : secondsToCome(file);
  return [
    isHere ? words.here(sizeInWords(file)) : '',
    takes === null ? '' : words.takes(seconds(Math.max(1, takes))),
    fits ? speedShort(speed) : words.tooLarge,
    model.licence && words.licence(model.licence),
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The terms that have to be accepted first, if there are any. */
export function Terms({ model }: Offered) {
  if (model.terms === null || !mustAccept(model)) return null;
  const { address } = model.terms;
  return (
    <p class="terms">
      {termsInWords(model.terms)}{' '}
      <a href={address} target="_blank" rel="noopener noreferrer">
        {t.value.model.shelf.terms}
      </a>
    </p>
  );
}

/** What the button of a model does, in words. */
export function labelOf({ model, file }: Offered, short: boolean): string {
  const words = t.value.model.shelf;
  if (here.value.has(file.address)) return words.start;
  // An amount stays on one line with its unit.
  const size = sizeInWords(file).replace(/ /g, '\u00a0');
  if (mustAccept(model)) return words.accept(size);
  return (short ? words.download : words.downloadAndStart)(size);
}

interface OpenProps {
  of: Offered;
  primary?: boolean;
  /** After it was pressed. */
  then?: () => void;
}

export function OpenButton({ of, primary = false, then }: OpenProps) {
  const label = labelOf(of, !primary);
  return (
    <button
      type="button"
      class={primary ? 'primary' : 'secondary'}
      aria-label={primary ? undefined : t.value.page.named(of.model.name, label)}
      onClick={() => {
        accept(of.model);
        openAddress(of.file.address, of.file.sha256 ?? undefined);
        then?.();
      }}
    >
      {label}
    </button>
  );
}
