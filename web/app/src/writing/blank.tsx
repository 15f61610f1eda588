import { model, modelName } from '../model/state';
import { canTalk, canWrite } from '../model/makes';
import { openSheet } from '../model/open';
import { busy } from '../model/run';
import { STORIES } from './openings';
import { writing } from './state';
import { writingTexts } from './texts';

/** Whether the model knows nothing but English stories. */
function tellsStories(): boolean {
  const now = model.value;
  return now === null || now.source.kind === 'bundled' || /stories/i.test(modelName(now));
}

/** What stands where the text will be: how to begin, and what the model can't do. */
export function Blank() {
  const words = writingTexts.value;
  const stories = tellsStories();
  const openings = stories ? STORIES : words.beginnings;
  return (
    <div class="blank">
      <p class="empty">{words.empty}</p>
      <p class="label" id="openings-label">
        {words.openings}
      </p>
      <ul class="openings" aria-labelledby="openings-label">
        {openings.map((text) => (
          <li key={text}>
            <button
              type="button"
              class="opening"
              lang={stories ? 'en' : undefined}
              disabled={!canWrite.value || busy.value}
              onClick={() => {
                writing.prompt.value = text;
                // This button goes away: the focus is where the text can be stopped.
                document
                  .querySelector<HTMLElement>('.composer .primary')
                  ?.focus({ preventScroll: true });
                writing.write();
              }}
            >
              {text} …
            </button>
          </li>
        ))}
      </ul>
      {canTalk.value === false && (
        <p class="note continues">
          {stories ? words.continuesStories : words.continuesTexts}{' '}
          <button type="button" class="link" onClick={() => openSheet()}>
            {words.openModels}
          </button>
        </p>
      )}
    </div>
  );
}
