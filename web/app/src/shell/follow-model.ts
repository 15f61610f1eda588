// The view goes with the model.
import { effect, untracked } from '@preact/signals';
import { does } from '../model/makes';
import { chosenView, view, wentByItself } from '../ui/view';

/** From now on, goes from the conversation to where a model is of use that can't talk, and back when there is one that can. */
export function followModel(): void {
  effect(() => {
    const now = does.value;
    untracked(() => {
      if (now === 'writes') {
        if (wentByItself.value) chosenView.value = null;
        wentByItself.value = false;
      } else if (now !== null && (wentByItself.value || view.value === 'talk')) {
        wentByItself.value = true;
        chosenView.value = now === 'finds' ? 'find' : 'write';
      }
    });
  });
}
