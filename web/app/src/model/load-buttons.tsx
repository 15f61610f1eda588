import { useSignal } from '@preact/signals';
import type { CachedModel } from '@sluice/engine';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { bytes } from '../texts/format';
import { useQuestion } from '../ui/question';
import { partOf } from './kept';
import { discard } from './kept-list';
import { openSheet } from './open';
import { addressOf, type Source } from './source';
import { cancelLoading, forgetPaused, open, pausable, pauseLoading, type Paused } from './state';
import { loadsTexts } from './loads-texts';

/** The button that was pressed with the focus on it, and is about to go away. */
let pressed: Element | null = null;

function press(button: Element): void {
  pressed = document.activeElement === button ? button : null;
}

/** The button that comes in place of the pressed one takes the focus, unless the reader moved it. */
function useTakeOver(button: RefObject<HTMLButtonElement | null>): void {
  useLayoutEffect(() => {
    const lost = pressed !== null && document.activeElement === document.body;
    pressed = null;
    if (lost) button.current?.focus({ preventScroll: true });
  }, []);
}

/** A button goes away with what it ends: this moves the focus to where the reader goes on. */
function leave(button: Element): void {
  const dialog = button.closest('dialog');
  const next =
    dialog === null
      ? (document.querySelector<HTMLElement>('.primary:enabled') ??
        document.querySelector<HTMLElement>('.chip'))
      : dialog.querySelector<HTMLElement>('#model-name');
  next?.focus({ preventScroll: true });
}

interface Props {
  /** Symbols in place of words, where there is little room. */
  small?: boolean;
  /** Where the focus goes after Go on; default: to the button that comes in its place. */
  then?: () => void;
}

/** Pause and Cancel, as far as the present load allows them. */
export function LoadButtons({ small = false }: Props) {
  const words = loadsTexts.value.load;
  const pause = useRef<HTMLButtonElement>(null);
  useTakeOver(pause);
  return (
    <div class="load-buttons">
      {pausable.value && (
        <LoadButton
          label={words.pause}
          icon={small ? 'M8.5 6v12M15.5 6v12' : ''}
          button={pause}
          onClick={(pressedButton) => {
            press(pressedButton);
            pauseLoading();
          }}
        />
      )}
      <LoadButton
        label={words.cancel}
        icon={small ? 'M7 7l10 10M17 7l-10 10' : ''}
        onClick={(pressedButton) => {
          leave(pressedButton);
          cancelLoading();
        }}
      />
    </div>
  );
}

/** Go on and Discard, for a load that is paused. What has come is only discarded after a question, for which small has no room. */
export function PausedButtons({ source, small = false, then }: Props & Pick<Paused, 'source'>) {
  const words = loadsTexts.value.load;
  const goOn = useRef<HTMLButtonElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const { asking, ask, close } = useQuestion();
  const part = usePart(source);
  useTakeOver(goOn);
  useEffect(() => {
    if (asking) keep.current?.focus({ preventScroll: true });
  }, [asking]);
  const discardIt = (button: HTMLButtonElement): void => {
    leave(button);
    forgetPaused();
    void discard(addressOf(source) ?? '');
  };
  const discardOrAsk = async (button: HTMLButtonElement): Promise<void> => {
    // It may be pressed before the look at what has come ends.
    const come = part === undefined ? await partOf(addressOf(source) ?? '') : part;
    if (come === null) discardIt(button);
    else if (small) openSheet();
    else ask();
  };
  if (asking && part != null)
    return (
      <div class="load-buttons" role="group" aria-label={words.discardIt(bytes(part.stored))}>
        <p class="kept-question">{words.discardIt(bytes(part.stored))}</p>
        <LoadButton label={words.discard} onClick={discardIt} />
        <LoadButton label={loadsTexts.value.kept.keepIt} button={keep} onClick={close} />
      </div>
    );
  return (
    <div class="load-buttons">
      <LoadButton
        label={words.goOn}
        icon={small ? 'M9 6l8 6-8 6z' : ''}
        button={goOn}
        onClick={(pressedButton) => {
          if (then === undefined) press(pressedButton);
          void open(source);
          then?.();
        }}
      />
      <LoadButton
        label={words.discard}
        icon={small ? 'M5 8h14M9 8V5h6v3M7 8l1 11h8l1-11' : ''}
        onClick={(pressedButton) => void discardOrAsk(pressedButton)}
      />
    </div>
  );
}

interface ButtonProps {
  label: string;
  /** The path of a symbol in a square of 24; '': the label is shown. */
  icon?: string;
  button?: RefObject<HTMLButtonElement | null> | null;
  onClick(button: HTMLButtonElement): void;
}

function LoadButton({ label, icon = '', button = null, onClick }: ButtonProps) {
  const onPress = (event: Event): void => onClick(event.currentTarget as HTMLButtonElement);
  if (icon === '')
    return (
      <button type="button" class="quiet" ref={button} onClick={onPress}>
        {label}
      </button>
    );
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      ref={button}
      onClick={onPress}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d={icon} />
      </svg>
    </button>
  );
}

/** What is kept of a load that is paused; null: nothing; undefined: not known yet. */
export function usePart(source: Source): CachedModel | null | undefined {
  const part = useSignal<CachedModel | null | undefined>(undefined);
  const url = addressOf(source) ?? '';
  useEffect(() => {
    let asked = true;
    part.value = undefined;
    void partOf(url).then((found) => {
      if (asked) part.value = found;
    });
    return () => {
      asked = false;
    };
  }, [url]);
  return part.value;
}
