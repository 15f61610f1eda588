// What was seen of a text, to be kept and shared: all of it as a file, and one token as an image or a table.
import { useSignal } from '@preact/signals';
import type { Choice } from '@sluice/engine';
import { t } from '../texts';
import { announcement } from '../ui/announce';
import { fileName, saveFile } from '../ui/save-file';
import { copyTable } from './copy-table';
import { rowsOf, toHtml, toTabs } from './choice-table';
import { insideMapsTexts } from './maps-texts';
import { OpenTrace } from './open-trace';
import { lookOf, pictureOf } from './picture';
import type { Trace } from './trace';
import { writeTrace } from './trace-file';

/** What is shown. */
export interface Shared {
  /** The whole text, all candidates by their names; null: nothing is known of it. */
  whole(): Promise<Trace | null>;
  /** As far as it is known now. */
  trace(): Trace | null;
  /** The token that is looked at, and what it was chosen from; null: that is not known. */
  at: number;
  choice: Choice | null;
  pieceOf(id: number): string;
}

/** The name of a file, without its ending. */
function nameOf({ model }: Trace, more = ''): string {
  return [model.name, more].filter((part) => part !== '').join(' ');
}

export function Share({ of }: { of: Shared }) {
  const words = insideMapsTexts.value;
  const writing = useSignal(false);
  const { at, choice } = of;
  const saveTrace = async (): Promise<void> => {
    if (writing.peek()) return;
    writing.value = true;
    try {
      const trace = await of.whole();
      if (trace === null) return;
      saveFile(fileName(nameOf(trace), 'jsonl'), await writeTrace(trace, null));
      announcement.value = words.saved;
    } finally {
      writing.value = false;
    }
  };
  const savePicture = async (): Promise<void> => {
    const trace = of.trace();
    if (trace === null || choice === null) return;
    const look = lookOf(document.documentElement);
    const file = await pictureOf({ trace, at, choice, pieceOf: of.pieceOf, look });
    if (file !== null) saveFile(fileName(nameOf(trace, words.fileOf(at + 1)), 'png'), file);
    announcement.value = file === null ? words.noPicture : words.pictureSaved;
  };
  const copyIt = async (): Promise<void> => {
    if (choice === null) return;
    const rows = rowsOf(choice, of.pieceOf);
    const copied = await copyTable(toHtml(rows), toTabs(rows));
    announcement.value = copied ? t.peek().page.copied : t.peek().page.notCopied;
  };
  return (
    <div class="share-trace" role="group" aria-label={words.keep}>
      <button
        type="button"
        class="quiet"
        title={words.saveHint}
        aria-disabled={writing.value}
        onClick={() => void saveTrace()}
      >
        {words.save}
      </button>
      <button
        type="button"
        class="quiet"
        disabled={choice === null}
        onClick={() => void savePicture()}
      >
        {words.picture}
      </button>
      <button type="button" class="quiet" disabled={choice === null} onClick={() => void copyIt()}>
        {words.copyTable}
      </button>
      <OpenTrace />
    </div>
  );
}
