// The list of conversations, as the page has it.
import { states } from '@sluice/engine';
import { library } from '../history/state';
import { runs } from '../model/run';
import { chosenView, view } from '../ui/view';
import { talk } from '../talk/state';
import { announcement } from '../ui/announce';
import { clock } from '../ui/clock';
import { backToField, focusSoon } from '../ui/focus';
import { saveFile } from '../ui/save-file';
import { ListController } from './controller';
import { closeList, listOpen, listOver } from './open';

export const list = new ListController({
  library,
  talk,
  states,
  transfer: () => import('../history/transfer'),
  finish: () => runs.finish(),
  page: {
    toTalk: () => {
      chosenView.value = view.peek() === 'talk' ? chosenView.peek() : 'talk';
    },
    away: (back) => {
      if (!listOver.value || !listOpen.value) return;
      if (back) closeList();
      else listOpen.value = false;
    },
    focus: (to) => {
      if (to === 'backToField') backToField();
      else if (to === 'field') focusSoon('#draft');
      else if (to === 'list') focusSoon('.list-new');
      else focusSoon(`.item[data-id="${to.id}"] .item-open`, '.list-new');
    },
    isAtUndo: () => document.activeElement?.closest('.list-deleted') != null,
    save: saveFile,
    announce: (text) => {
      announcement.value = text;
    },
  },
  clock,
});

/** For the rest of the page. */
export const newConversation = (): void => list.newConversation();
