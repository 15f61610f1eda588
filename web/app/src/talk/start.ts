// The conversation that was open comes back after a reload.
import { library } from '../history/state';
import { remember, remembered } from './remembered';
import { talk } from './state';

export function startTalk(): Promise<void> {
  library.keepSummaries();
  return talk.comeBack({ remembered, remember });
}
