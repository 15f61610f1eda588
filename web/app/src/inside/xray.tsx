import { useComputed, type ReadonlySignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { busy } from '../model/run';
import { count } from '../texts/format';
import { clock } from '../ui/clock';
import { Icon, IconButton } from '../ui/icons';
import { Branches } from './branches';
import { Candidates } from './candidates';
import { XrayController } from './controller';
import { Facts } from './facts';
import { Along } from './along';
import type { Insight } from './library';
import { introduced, setIntroduced } from './introduced';
import { Layers } from './layers';
import { insideMapsTexts } from './maps-texts';
import { covered } from './looks';
import { OpenTrace } from './open-trace';
import { Share } from './share';
import { insight, keeping } from './state';
import { Steps } from './steps';
import { Strip } from './strip';
import type { Subject } from './subject';
import { xrayTexts } from './texts';
import { TITLE, toTitle } from './title';
import { tellStep } from './told';
import { WhatIfFields } from './what-if';

interface Props {
  of: ReadonlySignal<Subject | null>;
  close(): void;
  /** Null: no model can be asked. Left out: the one in use. */
  engine?: ReadonlySignal<Insight | null>;
  /** Scrolls the text into view: a sheet covers a part of the window. */
  reveal(): void;
}

/** What the tokens of a text were chosen from: beside the text, or a sheet below it where that is narrow. */
export function Xray({ of, close, reveal, engine = insight }: Props) {
  const xray = useMemo(
    () => new XrayController({ subject: of, engine, busy, clock, keeping }),
    [of, engine],
  );
  const section = useRef<HTMLElement>(null);
  useEffect(() => xray.start(), [xray]);
  useLayoutEffect(() => {
    section.current?.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true });
    const end = section.current === null ? undefined : tellCovered(section.current);
    if (covered.peek() > 0) reveal();
    return end;
  }, []);
  const words = xrayTexts.value;
  return (
    <section
      class="xray"
      ref={section}
      // A press on a word leaves the keys here.
      tabIndex={-1}
      aria-labelledby={TITLE}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !busy.peek()) close();
        else if (!onKey(xray, event)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <header class="xray-head">
        <h2 id={TITLE} tabIndex={-1}>
          {words.title}
        </h2>
        <IconButton icon="close" label={words.close} onClick={close} />
      </header>
      <Intro />
      <Seen xray={xray} engine={engine} />
    </section>
  );
}

type Asked = ReadonlySignal<Insight | null>;

/** The first words, until the reader has had enough of them. */
function Intro() {
  const words = xrayTexts.value;
  if (introduced.value) return null;
  return (
    <p class="xray-intro">
      {words.intro}{' '}
      <button
        type="button"
        class="link"
        onClick={() => {
          setIntroduced();
          toTitle();
        }}
      >
        {words.introDone}
      </button>
    </p>
  );
}

/** Acts on a key. False: it is none of these, or its element uses it. */
function onKey(xray: XrayController, event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  // The line is a slider of the tokens: it has the arrows by itself.
  if (target.matches('input, select')) return false;
  const { key } = event;
  if (key === ' ') {
    if (target.matches('button, summary')) return false;
    xray.playOrPause();
  } else if (key === 'ArrowLeft') tellStep(xray, () => xray.step(-1));
  else if (key === 'ArrowRight') tellStep(xray, () => xray.step(1));
  else if (key === 'Home') tellStep(xray, () => xray.to(0));
  else if (key === 'End') tellStep(xray, () => xray.toTheEnd());
  else if (key === '+') xray.player.change(1);
  else if (key === '-') xray.player.change(-1);
  else return false;
  return true;
}

/** Tells how much of the window's lower edge the view covers, as long as it is a sheet there. */
function tellCovered(section: HTMLElement): () => void {
  const { style } = document.documentElement;
  const look = (): void => {
    const sheet = getComputedStyle(section).position === 'fixed';
    covered.value = sheet ? section.getBoundingClientRect().height : 0;
    style.setProperty('--xray-covers', `${covered.value}px`);
  };
  const observer = new ResizeObserver(look);
  observer.observe(section);
  window.addEventListener('resize', look);
  look();
  return () => {
    observer.disconnect();
    window.removeEventListener('resize', look);
    covered.value = 0;
    style.removeProperty('--xray-covers');
  };
}

function Seen({ xray, engine }: { xray: XrayController; engine: Asked }) {
  const nothing = xray.nothing.value;
  const empty = useComputed(() => xray.length.value === 0);
  const words = xrayTexts.value;
  if (nothing === 'other') return <p class="note">{words.other(xray.subject.value?.by ?? null)}</p>;
  if (xray.subject.value?.file?.tokens.length === 0) {
    return (
      <>
        <p class="note">{insideMapsTexts.value.noTokens}</p>
        <OpenTrace />
      </>
    );
  }
  if (nothing !== null) return <p class="note">{words.nothing[nothing]}</p>;
  if (empty.value) return <p class="note">{words.nothing.waiting}</p>;
  return (
    <>
      <Computed xray={xray} />
      {xray.retold.value === xray.subject.value?.id && <p class="note">{words.retold}</p>}
      <Along xray={xray} />
      <Steps xray={xray} />
      <Strip xray={xray} />
      <Token xray={xray} />
      {engine.value !== null && <WhatIfFields xray={xray} />}
      <Branches xray={xray} />
      <Share
        of={{
          whole: () => xray.whole(),
          trace: () => xray.trace(),
          at: xray.at.value,
          choice: xray.shown.value?.token === xray.at.value ? xray.shown.value.choice : null,
          pieceOf: (id) => xray.pieces.get(id) ?? `#${id}`,
        }}
      />
      {keeping.trouble.value !== null && <p class="hint">{insideMapsTexts.value.unkept}</p>}
      {engine.value !== null && <Layers xray={xray} engine={engine} />}
    </>
  );
}

/** How far what is computed afterwards is. */
function Computed({ xray }: { xray: XrayController }) {
  const words = xrayTexts.value;
  const { progress, failed } = xray.computing;
  if (failed.value)
    return (
      <div class="xray-computing" role="alert">
        <p>{words.failed}</p>
        <button type="button" class="secondary" onClick={() => xray.compute()}>
          {words.compute}
        </button>
      </div>
    );
  if (progress.value === null) return null;
  const { done, total } = progress.value;
  return (
    <div class="xray-computing">
      <p>{words.computing(count(done), count(total))}</p>
      <progress aria-label={words.progress} max={total} value={done} />
      <button type="button" class="quiet" onClick={() => xray.stop()}>
        {words.stop}
      </button>
    </div>
  );
}

/** The token that is looked at: what is known of it, and what it was chosen from. */
function Token({ xray }: { xray: XrayController }) {
  const token = xray.token();
  const words = xrayTexts.value;
  if (token === null) return null;
  const unknown = token.raw === null && xray.computing.progress.value === null;
  const chain = xray.chain.value;
  const never =
    chain?.sure === false
      ? words.unsure
      : xray.at.value === 0 && chain?.prompt.length === 0
        ? words.firstOfAll
        : null;
  return (
    <div class="xray-token">
      <Facts xray={xray} token={token} />
      {token.run.from === 'reader' && (
        <p class="xray-yours">
          <Icon name="edit" /> {words.yours}
        </p>
      )}
      {unknown && (
        <div class="xray-computing">
          <p>{never ?? words.missing}</p>
          {never === null && (
            <button
              type="button"
              class="secondary"
              disabled={busy.value}
              onClick={() => xray.compute()}
            >
              {words.compute}
            </button>
          )}
        </div>
      )}
      <Candidates xray={xray} />
    </div>
  );
}
