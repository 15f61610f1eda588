import { FiguresLine } from '../settings/figures-line';
import { Bar } from './bar';
import { Composer } from './composer';
import { Text } from './text';

/** The writing view: a prompt, and the text that continues it. */
export function WritingView() {
  return (
    <div class="sheet writing">
      <Composer />
      <Text />
      <FiguresLine />
      <Bar />
    </div>
  );
}
