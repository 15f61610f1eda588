import { useLayoutEffect } from 'preact/hooks';
import { doing, factsOf } from '../model/load';
import { LoadButtons, PausedButtons } from '../model/load-buttons';
import { OpenButton, Terms, factsInWords } from '../model/offered';
import { openSheet, sheetOpen } from '../model/open';
import { front, shelf, type Offered } from '../model/shelf';
import { loading, model, paused, problem, type Loading } from '../model/state';
import { touch } from '../page/focus';
import { Problem, problemInCard } from '../page/problem';
import { fetchWriting } from '../page/parts';
import { chosenView } from '../page/view';
import { busy } from '../run';
import { language, t } from '../texts';

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
  const comes = current !== null && current.source.kind !== 'bundled';
  return (
    <section class="first-model" aria-label={t.value.talk.first.label}>
      {!sheetOpen.value && <Problem />}
      {problem.value !== null ? null : comes ? (
        <Coming {...current} />
      ) : stopped !== null ? (
        <div class="first-coming">
          <p class="first-name">{t.value.model.load.paused(nameOf(stopped.source))}</p>
          <PausedButtons source={stopped.source} />
        </div>
      ) : front.value !== null ? (
        <Recommended {...front.value} />
      ) : (
        shelf.value !== null && <Nothing />
      )}
    </section>
  );
}

/** The name on the shelf of what is loaded. */
function nameOf(source: Loading['source']): string {
  const on = shelf.value?.find(({ files }) =>
    files.some(({ address }) => source.kind === 'address' && source.url === address),
  );
  return on?.name ?? '';
}

function Recommended(of: Offered) {
  const { first } = t.value.talk;
  return (
    <>
      <div class="first-about">
        <p class="first-label">{first.label}</p>
        <p class="first-name">{of.model.name}</p>
        <p class="good-for">{of.model.goodFor[language.value]}</p>
        <p class="first-facts">{factsInWords(of)}</p>
        <Terms {...of} />
      </div>
      <div class="first-buttons">
        <OpenButton of={of} primary then={focusField} />
        <button type="button" class="secondary" onClick={() => openSheet()}>
          {first.others}
        </button>
      </div>
      <Story />
    </>
  );
}

/** The button goes away. */
function focusField(): void {
  if (!touch.matches) document.getElementById('draft')?.focus({ preventScroll: true });
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
      <Story />
    </>
  );
}

function Coming(current: Loading) {
  const { first } = t.value.talk;
  const { loaded = 0, total = 0 } = current.progress ?? {};
  const { amount, left, note, waiting } = factsOf(current.progress);
  const name = nameOf(current.source);
  return (
    <div class="first-coming">
      <p class="first-label">{first.coming}</p>
      <p class="first-name">{name === '' ? doing(current) : name}</p>
      <progress aria-label={doing(current)} {...(total > 0 ? { max: total, value: loaded } : {})} />
      <p class="first-facts">{[amount, left, note, waiting].filter(Boolean).join(' · ')}</p>
      <p>{first.typeMeanwhile}</p>
      {!current.back && <LoadButtons />}
    </div>
  );
}

/** What the page can do without a download. */
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
          void fetchWriting().then((room) => {
            if (!busy.value && model.value?.source.kind === 'bundled') room?.write();
          });
        }}
      >
        {first.tellStory}
      </button>
    </p>
  );
}
