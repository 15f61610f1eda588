import { computed } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ModelChip } from '../model/chip';
import { LoadLine } from '../model/load-line';
import { plain } from '../texts/plain-text';
import { IconButton } from '../ui/icons';
import { closeTrace, file } from './file-state';
import { hasModelOf } from './file-subject';
import type { Insight } from './library';
import { insideMapsTexts } from './maps-texts';
import { OpenTrace } from './open-trace';
import { insight } from './state';
import { xrayTexts } from './texts';
import { Xray } from './xray';

/** Characters of the prompt that are shown. */
const MOST_PROMPT = 600;

const subject = computed(() => file.value?.subject ?? null);
/** The engine in use, if it has the model of the file. */
const engine = computed<Insight | null>(() => {
  const [by, of] = [insight.value, subject.value?.file];
  return by !== null && of !== undefined && hasModelOf(by, of) ? by : null;
});

/** A trace from a file. */
export function TraceFile() {
  const words = insideMapsTexts.value;
  const now = file.value;
  useEffect(() => {
    if (now?.subject === null) document.getElementById('trace-file')?.focus();
  }, [now]);
  if (now === null) return null;
  const of = now.subject?.file;
  return (
    <div class="sheet trace-file">
      <div class="model-row">
        <ModelChip />
        <LoadLine />
      </div>
      <div class="trace-file-head">
        <h2 id="trace-file" tabIndex={-1}>
          <bdi>{plain(now.name)}</bdi>
        </h2>
        {of === undefined && (
          <IconButton icon="close" label={xrayTexts.value.close} onClick={closeTrace} />
        )}
      </div>
      {now.refused !== null && (
        <p class="notice wrong" role="alert">
          {words.refused(now.refused.code, now.refused.line, now.refused.field)}
        </p>
      )}
      {now.refused === null && of === undefined && <p role="status">{words.opening}</p>}
      {now.refused !== null && <OpenTrace />}
      {of !== undefined && (
        <>
          <p class="note">{words.by(of.model.name)}</p>
          {now.cut && <p class="note">{words.cut}</p>}
          {engine.value === null && <p class="note">{words.without}</p>}
          {of.promptText !== '' && (
            <details class="trace-prompt">
              <summary>{words.prompt}</summary>
              <p>{of.promptText.slice(0, MOST_PROMPT)}</p>
            </details>
          )}
          <Xray
            key={subject.value?.id}
            of={subject}
            engine={engine}
            close={closeTrace}
            reveal={() => undefined}
          />
        </>
      )}
    </div>
  );
}
