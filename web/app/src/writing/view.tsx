import { does } from '../model/makes';
import { FiguresLine } from '../settings/figures-line';
import { Bar } from './bar';
import { Composer } from './composer';
import { Masks } from './masks';
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
  return (
    <div class="sheet writing">
      <Composer />
      <Text />
      <FiguresLine />
      <Bar />
    </div>
  );
}
