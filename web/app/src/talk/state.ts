// Talk, as the page has it.
import { library } from '../history/state';
import { traceWhileOpen } from '../inside/looks';
import { lender } from '../model/lender';
import { does } from '../model/makes';
import { runs } from '../model/run';
import { currentEngine, open } from '../model/state';
import { settings } from '../settings/settings';
import { announcement } from '../ui/announce';
import { clock } from '../ui/clock';
import { attach } from './attach';
import { TalkController } from './controller';
import { keepFields, keptFields } from './drafts';
import { draft } from './early';
import { subjectOf } from './look';
import { talkTexts } from './texts';
import { Fullness } from './fullness';

export const talk = new TalkController({
  library,
  lender,
  runs,
  settings,
  announceStop: () => {
    announcement.value = talkTexts.peek().stopped;
  },
  draft,
  drafts: { read: keptFields, keep: keepFields },
  clock,
  window,
  looks: () => traceWhileOpen('answer'),
});

/** The answer that is looked into. */
export const looked = subjectOf({ talk, lender, settings });

export const fullness = new Fullness({
  talk,
  lender,
  runs,
  does,
  settings,
  engine: currentEngine,
  load: (source) => void open(source),
  clock,
});

/** For the rest of the page: adds text files to the message that is being written. */
export const attachFiles = (files: readonly File[]): Promise<void> => attach(talk.field, files);

/** The same with a text that is there already. */
export const attachText = (name: string, text: string): void => talk.field.addText(name, text);
