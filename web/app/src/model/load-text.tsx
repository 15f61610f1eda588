import { useId } from 'preact/hooks';
import { doing, factsOf, keptOf } from './load';
import { amountOf } from './kept-list';
import { LoadButtons, PausedButtons, usePart } from './load-buttons';
import { nameOf } from './name';
import { loading, paused, type Loading, type Paused } from './state';
import { loadsTexts } from './loads-texts';

/** The present load, or the one that is paused, in one quiet line. */
export function LoadText() {
  const current = loading.value;
  if (current !== null) return <Current {...current} />;
  return paused.value === null ? null : <Rest {...paused.value} />;
}

function Current(current: Loading) {
  const id = useId();
  const { loaded = 0, total = 0 } = current.progress ?? {};
  const { amount, share, rate, left, note, waiting } = factsOf(current.progress);
  return (
    <div class="loading">
      <p class="load-text">
        <span class="load-name" id={id}>
          {doing(current)}
        </span>{' '}
        <Fact text={amount} kind="wide" />
        <Fact text={share} kind="narrow" />
        <Fact text={rate} kind="wide" />
        <Fact text={left} kind="" />
        <Fact text={note} kind="wide" />
        {waiting !== '' && (
          <>
            <span class="load-fact load-waits">{waiting}</span>
            <span class="load-brief" aria-hidden="true">
              {navigator.onLine ? loadsTexts.value.load.waitsBrief : 'offline'}
            </span>
          </>
        )}
      </p>
      {!current.back && <LoadButtons small />}
      <progress aria-labelledby={id} {...(total > 0 ? { max: total, value: loaded } : {})}>
        {share}
      </progress>
    </div>
  );
}

function Fact({ text, kind }: { text: string; kind: 'wide' | 'narrow' | '' }) {
  if (text === '') return null;
  return <span class={`load-fact ${kind}`}>{text}</span>;
}

function Rest({ source }: Paused) {
  const part = usePart(source);
  return (
    <div class="loading">
      <p class="load-text">
        <span class="load-name">{loadsTexts.value.load.paused(nameOf(source))}</span>{' '}
        <Fact text={part == null ? '' : amountOf(part)} kind="narrow" />
        <Fact text={keptOf(part)} kind="wide" />
      </p>
      <PausedButtons source={source} small />
    </div>
  );
}
