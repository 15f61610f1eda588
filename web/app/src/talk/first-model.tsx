import { useLayoutEffect } from 'preact/hooks';
import { bytes, ofWhole } from '../format';
import { doing, factsOf } from '../model/load';
import { LoadButtons, PausedButtons, usePart } from '../model/load-buttons';
import { does } from '../model/makes';
import { nameOf } from '../model/name';
import { OpenButton, Terms, factsInWords } from '../model/offered';
import { openSheet, sheetOpen } from '../model/open';
import { front, shelf, type Offered } from '../model/shelf';
import { addressOf } from '../model/source';
import {
  loading,
  model,
  paused,
  problem,
  shownName,
  type Loading,
  type Paused,
} from '../model/state';
import { touch } from '../page/focus';
import { Problem, problemInCard } from '../page/problem';
import { fetchWriting } from '../page/parts';
import { chooseView, chosenView } from '../page/view';
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
  // The one that is in use is no answer to what it can’t do.
  const inUse = model.value === null ? undefined : addressOf(model.value.source);
  const suits = front.value?.file.address === inUse ? null : front.value;
  const comes = current !== null && current.source.kind !== 'bundled';
  return (
    <section class="first-model" aria-label={t.value.talk.first.label}>
      {!sheetOpen.value && <Problem />}
      {problem.value !== null ? null : comes ? (
        <Coming {...current} />
      ) : stopped !== null ? (
        <Put {...stopped} />
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
      <Here />
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
      <Here />
    </>
  );
}

function Coming(current: Loading) {
  const { first } = t.value.talk;
  const { loaded = 0, total = 0 } = current.progress ?? {};
  const { amount, left, note, waiting } = factsOf(current.progress);
  return (
    <div class="first-coming">
      <p class="first-label">{first.coming}</p>
      <p class="first-name">{nameOf(current.source, current.info)}</p>
      <progress aria-label={doing(current)} {...(total > 0 ? { max: total, value: loaded } : {})} />
      <p class="first-facts">{[amount, left, note, waiting].filter(Boolean).join(' · ')}</p>
      <p>{first.typeMeanwhile}</p>
      {!current.back && <LoadButtons />}
    </div>
  );
}

/** A download that is paused. */
function Put({ source, progress }: Paused) {
  const { first } = t.value.talk;
  const words = t.value.model.load;
  const part = usePart(source);
  const { loaded = 0, total = 0 } = progress ?? {};
  const [came, whole] = part == null ? [loaded, total] : [part.stored, part.bytes];
  return (
    <div class="first-coming">
      <p class="first-label">{first.paused}</p>
      <p class="first-name">{nameOf(source)}</p>
      <progress aria-label={words.paused(nameOf(source))} max={whole || 1} value={came} />
      <p class="first-facts">
        {part === null ? words.nothingKept : ofWhole(bytes(came), bytes(whole))}
      </p>
      <p>{words.anotherDay}</p>
      <PausedButtons source={source} then={focusField} />
    </div>
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
