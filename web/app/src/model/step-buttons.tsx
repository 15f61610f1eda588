// The buttons and links for the steps that an error's texts name.
import type { Finding } from './advice';
import { HUB, searchPage } from './hub';
import { closeSheet, openSheet } from './open';
import { stepsOf } from './steps';
import { openSettings } from '../settings/open';
import { t } from '../texts';
import { focusSoon, touch } from '../ui/focus';
import { address as typed } from './offer';
import { choose } from './return';
import { modelsTexts } from './models-texts';

interface Props {
  of: Finding;
  /** Of the model; null: it is a file, or not known. */
  address: string | null;
  /** The field for addresses is beside it. */
  atField?: boolean;
}

export function StepButtons({ of, address, atField = false }: Props) {
  const words = modelsTexts.value.notices;
  const steps = stepsOf(of, address);
  const file = { bad_file: words.chooseFile, offline: words.openFile }[of.code as string];
  return (
    <>
      {steps.page !== null && <Away to={steps.page.page}>{words.openPage}</Away>}
      {steps.download !== null && <Away to={steps.download}>{words.download}</Away>}
      {steps.search !== null && <Away to={searchPage(steps.search.name)}>{words.search(HUB)}</Away>}
      {steps.file && (
        <Act
          label={file ?? words.theFile}
          onClick={() => {
            closeSheet();
            void choose();
          }}
        />
      )}
      {steps.kept && <Act label={words.onDevice} stays onClick={() => openSheet('kept-heading')} />}
      {steps.others && (
        <Act label={words.others} stays onClick={() => openSheet('shelf-heading')} />
      )}
      {steps.address && !atField && (
        <Act
          label={words.address}
          stays
          onClick={() => {
            typed.value ||= address ?? '';
            openSheet('address');
          }}
        />
      )}
      {steps.settings && (
        <Act
          label={t.value.page.settings}
          stays
          onClick={() => {
            closeSheet();
            openSettings();
          }}
        />
      )}
    </>
  );
}

interface AwayProps {
  to: string;
  kind?: 'secondary' | '';
  children: string;
}

/** A link to another site, which opens in a tab of its own. */
export function Away({ to, kind = 'secondary', children }: AwayProps) {
  return (
    <a class={kind} href={to} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

interface ActProps {
  label: string;
  kind?: 'secondary' | 'quiet';
  /** The message is there afterwards. */
  stays?: boolean;
  onClick(): void;
}

export function Act({ label, kind = 'secondary', stays = false, onClick }: ActProps) {
  return (
    <button
      type="button"
      class={kind}
      onClick={() => {
        // The button goes away.
        if (!stays && !touch.matches)
          focusSoon('dialog[open] .dialog-head button', '#draft', '.composer textarea');
        onClick();
      }}
    >
      {label}
    </button>
  );
}
