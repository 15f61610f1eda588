import { useLayoutEffect } from 'preact/hooks';
import { does } from '../model/makes';
import { OpenButton, Terms, factsInWords } from '../model/offered';
import { openSheet, sheetOpen } from '../model/open';
import { front, shelf, type Offered } from '../model/shelf';
import { addressOf } from '../model/source';
import { loading, model, paused, problem, shownName } from '../model/state';
import { Problem, problemInCard } from '../model/problem';
import { writingParts } from '../writing/parts';
import { chooseView, chosenView } from '../ui/view';
import { busy } from '../model/run';
import { t } from '../texts';
import { focusField } from './field';
import { FirstComing, FirstPaused } from './first-coming';
import { goodForInWords } from '../model/shelf-words';

/** While there is no chat model: the one that suits this device, how far its download is, or why there is none. */
export function FirstModel() {
  useLayoutEffect(() => {
    problemInCard.value = true;
    return () => {
      problemInCard.value = false;
    };
  }, []);
  const current = loading.value;
  const stopped = paused.value;
  // The one that is in use is no answer to what it can’t do.
  const inUse = model.value === null ? undefined : addressOf(model.value.source);
  const suits = front.value?.file.address === inUse ? null : front.value;
  const comes = current !== null && current.source.kind !== 'bundled';
  return (
    <section class="first-model" aria-label={t.value.talk.first.label}>
      {!sheetOpen.value && <Problem />}
      {problem.value !== null ? null : comes ? (
        <FirstComing {...current} />
      ) : stopped !== null ? (
        <FirstPaused {...stopped} />
      ) : suits !== null ? (
        <Recommended {...suits} />
      ) : (
        shelf.value !== null && <Nothing />
      )}
    </section>
  );
}

function Recommended(of: Offered) {
  const { first } = t.value.talk;
  return (
    <>
      <div class="first-about">
        <p class="first-label">{first.label}</p>
        <p class="first-name">{of.model.name}</p>
        <p class="good-for">{goodForInWords(of.model)}</p>
        <p class="first-facts">{factsInWords(of)}</p>
        <Terms {...of} />
      </div>
      <div class="first-buttons">
        <OpenButton of={of} primary then={focusField} />
        <button type="button" class="secondary" onClick={() => openSheet()}>
          {first.others}
        </button>
      </div>
      <Here />
    </>
  );
}

/** The site offers none. */
function Nothing() {
  return (
    <>
      <div class="first-buttons">
        <button type="button" class="primary" onClick={() => openSheet()}>
          {t.value.talk.chooseModel}
        </button>
      </div>
      <Here />
    </>
  );
}

/** What the page can do without a download: converse with no model that is here, but write or find with it. */
function Here() {
  const { first } = t.value.talk;
  const current = model.value;
  if (current === null || current.source.kind === 'bundled') return <Story />;
  const name = shownName(current);
  const finds = does.value === 'finds';
  const isHere = { writes: first.here, finds: first.finds, fills: first.fills }[
    does.value ?? 'writes'
  ];
  return (
    <p class="first-story">
      {isHere(name)}{' '}
      <button type="button" class="link" onClick={() => chooseView(finds ? 'find' : 'write')}>
        {(finds ? first.findWith : first.writeWith)(name)}
      </button>
    </p>
  );
}

function Story() {
  const { first } = t.value.talk;
  return (
    <p class="first-story">
      {first.story}{' '}
      <button
        type="button"
        class="link"
        onClick={() => {
          chosenView.value = 'write';
          void writingParts.fetch().then((room) => {
            // While it comes, the text waits for it.
            const { source } = model.value ?? loading.value ?? {};
            if (!busy.value && source?.kind === 'bundled') room?.write();
          });
        }}
      >
        {first.tellStory}
      </button>
    </p>
  );
}
