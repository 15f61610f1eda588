// The copy of a file of the reader's: it is offered where the model in use is shown, and listed with what is kept.
import { bytes, ofWhole } from '../texts/format';
import { focusSoon } from '../ui/focus';
import { openFiles } from './offer';
import { cancelCopy, canCopy, copies, copying, copyOf, keepCopy, removeCopy } from './copies';
import { type Copy } from './copies';
import { copyTexts } from './copy-texts';
import { ownFinding } from './advice';
import { Found } from './found';
import { refused, room } from './kept-list';
import { closeSheet } from './open';
import { Removal } from './removal';
import { refOf, type Source } from './source';
import { loading, model } from './state';
import { keptTexts } from './kept-texts';

/** Offers to keep a copy of the model in use. */
export function KeepCopy({ source }: { source: Source | undefined }) {
  if (source?.kind !== 'files' || !canCopy) return null;
  const ref = refOf(source);
  const words = copyTexts.value;
  if (copies.value.some((one) => one.ref === ref)) return <p class="note">{words.here}</p>;
  const now = copying.value;
  const size = source.files.reduce((sum, file) => sum + file.size, 0);
  const tight = room.value !== null && room.value < size;
  return (
    <div class="keep-copy">
      <p class="note">
        {now !== null
          ? words.copying(ofWhole(bytes(now.done), bytes(now.total)))
          : tight
            ? words.noRoom(bytes(size), bytes(room.value ?? 0))
            : words.why}
      </p>
      {(now !== null || !tight) && (
        <button
          type="button"
          class="secondary"
          onClick={now === null ? () => void keep(source) : cancelCopy}
        >
          {now === null ? words.keep(bytes(size)) : words.cancel}
        </button>
      )}
      <Trouble of={ref} />
    </div>
  );
}

async function keep(source: Extract<Source, { kind: 'files' }>): Promise<void> {
  await keepCopy(source);
  // The button may have gone away.
  if (document.activeElement === document.body) focusSoon('#model-name');
}

function Trouble({ of }: { of: string }) {
  const trouble = refused.value;
  if (trouble?.source !== of) return null;
  return (
    <p class="hint wrong" role="alert">
      <Found {...trouble} />
    </p>
  );
}

/** A copy in the list of what is kept. */
export function CopyRow({ copy }: { copy: Copy }) {
  const { ref, name } = copy;
  const words = keptTexts.value;
  const current = model.value?.source;
  const inUse = current?.kind === 'files' && refOf(current) === ref;
  const facts = [bytes(copy.bytes), copyTexts.value.isCopy, inUse ? words.inUse : ''];
  return (
    <li>
      <p class="kept-name">{name}</p>
      <p class="note">{facts.filter(Boolean).join(' · ')}</p>
      <Removal
        label={words.remove}
        of={name}
        question={words.removeQuestion(name)}
        remove={async () => {
          const removed = (await removeCopy(copy)) > 0;
          refused.value = removed ? null : { source: ref, ...ownFinding('busy', words.busyUsed) };
          return removed;
        }}
        others={
          !inUse && (
            <button
              type="button"
              class="quiet"
              aria-label={words.what(words.open, name)}
              disabled={loading.value !== null}
              onClick={() => {
                void copyOf(ref).then((files) => openFiles(files));
                closeSheet();
              }}
            >
              {words.open}
            </button>
          )
        }
      />
      <Trouble of={ref} />
    </li>
  );
}
