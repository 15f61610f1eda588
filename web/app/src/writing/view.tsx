import { useEffect } from 'preact/hooks';
import { opened } from '../inside/looks';
import { insideParts } from '../inside/parts';
import { does } from '../model/makes';
import { FiguresLine } from '../panel/figures-line';
import { isTyping } from '../ui/focus';
import { With } from '../ui/later';
import { Bar } from './bar';
import { Composer } from './composer';
import { closeXray, toggleXray } from './xray-button';
import { Masks } from './masks';
import { looked } from './state';
import { Text } from './text';

/** The writing view: a prompt, and the text that continues it; or a text with masks, for a model that fills them in. */
export function WritingView() {
  if (does.value === 'fills') {
    return (
      <div class="sheet writing">
        <Masks />
      </div>
    );
  }
  return <Writing />;
}

function Writing() {
  useEffect(() => {
    window.addEventListener('keydown', onKey);
    return () => {
      window.removeEventListener('keydown', onKey);
      if (opened.peek() === 'text') opened.value = null;
    };
  }, []);
  const open = opened.value === 'text';
  return (
    <div class="writing-room" data-xray={open}>
      <div class="sheet writing">
        <Composer />
        <Text />
        <FiguresLine />
        <Bar />
      </div>
      {open && (
        <With of={insideParts}>
          {({ Xray }) => <Xray of={looked} close={closeXray} reveal={reveal} />}
        </With>
      )}
    </div>
  );
}

function reveal(): void {
  document.querySelector('.writing-room .text')?.scrollIntoView({ block: 'start' });
}

/** The key x opens the x-ray, and closes it. */
function onKey(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey } = event;
  if (key.toLowerCase() !== 'x' || ctrlKey || metaKey || altKey || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
  event.preventDefault();
  toggleXray();
}
