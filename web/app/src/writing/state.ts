// The writing view, as the page has it.
import { traceWhileOpen } from '../inside/looks';
import { lender } from '../model/lender';
import { does } from '../model/makes';
import { runs } from '../model/run';
import { settings } from '../settings/settings';
import { tokens } from '../texts/format';
import { announcement } from '../ui/announce';
import { WritingController } from './controller';
import { keepTexts, keptTexts } from './kept-texts';
import { subjectOf } from './look';
import { MasksController } from './masks-controller';
import { masksTexts } from './masks-texts';
import { prompt } from '../link/prompt';
import { writingTexts } from './texts';

export const writing = new WritingController({
  prompt,
  lender,
  runs,
  settings,
  kept: { read: keptTexts, keep: keepTexts },
  window,
  announce: (what, n) => {
    const words = writingTexts.peek();
    announcement.value = what === 'begun' ? words.writing : words[what](tokens(n));
  },
  looks: () => traceWhileOpen('text'),
});

/** The text that is shown, for those who look into it. */
export const looked = subjectOf(writing);

export const masks = new MasksController({
  prompt,
  lender,
  runs,
  does,
  announce: (what, words) => {
    announcement.value = masksTexts.peek()[what](words);
  },
});

/** For the rest of the page. */
export const readKept = (): void => writing.readKept();
export const write = (): void => writing.write();
export const fill = (): void => masks.fill();
