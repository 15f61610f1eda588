import { useId } from 'preact/hooks';
import { t } from '../texts';
import { doing, factsOf, keptOf } from './load';
import { amountOf } from './kept';
import { LoadButtons, PausedButtons, usePart } from './load-buttons';
import { nameOf } from './name';
import { loading, paused, type Loading, type Paused } from './state';

/**
 * The present load beside the field, in one quiet line. It takes no space of its own: in a `.model-row` it fills what the
 * chip leaves, elsewhere it lies over what is above it. So it moves nothing when it comes and goes.
 */
export function LoadLine() {
  const current = loading.value;
  return (
    <div class="load-place">
      {current !== null ? (
        <Current {...current} />
      ) : (
        paused.value !== null && <Rest {...paused.value} />
      )}
    </div>
  );
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
              {navigator.onLine ? t.value.model.load.waitsBrief : 'offline'}
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
        <span class="load-name">{t.value.model.load.paused(nameOf(source))}</span>{' '}
        <Fact text={part == null ? '' : amountOf(part)} kind="narrow" />
        <Fact text={keptOf(part)} kind="wide" />
      </p>
      <PausedButtons source={source} small />
    </div>
  );
}
