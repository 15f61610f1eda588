import { useEffect, useRef } from 'preact/hooks';

interface Props {
  text: string;
  yes: string;
  no: string;
  onYes: () => void;
  /** Also for Escape. */
  onNo: () => void;
}

/** Asks before something is lost. The focus is on the answer that loses nothing. */
export function Question({ text, yes, no, onYes, onNo }: Props) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div
      class="question"
      role="alertdialog"
      aria-label={text}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        onNo();
      }}
    >
      <p>{text}</p>
      <button type="button" class="quiet" onClick={onYes}>
        {yes}
      </button>
      <button type="button" class="quiet" ref={keep} onClick={onNo}>
        {no}
      </button>
    </div>
  );
}
