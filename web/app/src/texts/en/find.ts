// The room Find: files, the question, and the passages that are found.
import { bytes, count } from '../format';
import type { Refusal } from '../../find/reading';
import { plural } from './plural';

const passages = (n: number): string =>
  plural(n, { one: '1 passage', other: `${count(n)} passages` });

export const find = {
  heading: 'Find in your files',
  about:
    'Add text files and ask in plain words: the passages that fit best appear, also where they use other words. The files are read on this device and stay here.',
  question: 'What are you looking for?',
  find: 'Find',
  found: (n: number, question: string) =>
    n === 0
      ? `Nothing found for “${question}”`
      : `${passages(n)} for “${question}”, the best first`,
  /** Where a passage stands. */
  line: (n: number) => `line ${count(n)}`,
  source: (name: string, line: number) => `${name}, line ${line}`,
  all: 'Show all of it',
  less: 'Show less',
  attach: 'Attach to the conversation',
  attached: 'Attached',
  attachedTo: (n: number) =>
    plural(n, {
      one: 'A passage is attached to the message that you write next.',
      other: `${passages(n)} are attached to the message that you write next.`,
    }),
  toTalk: 'To the conversation',
  copy: 'Copy the passage',
  partOnly: 'Some files are not read to their end yet: more may be found later.',

  files: 'Files',
  choose: 'Add files',
  folder: 'Add a folder',
  drop: 'Or drop them here. Plain texts of every kind, up to 10 MB each: .txt, .md, .csv, .html, code.',
  facts: (n: number, size: number) =>
    size > 0 ? `${passages(n)} · ${bytes(size)}` : `${passages(n)} · not kept`,
  part: (done: number, n: number) => `${count(done)} of ${passages(n)} read`,
  others: (name: string) => `Read by another model, ${name}. Read it again to find in it now.`,
  readAgain: 'Read again',
  readAgainName: (name: string) => `Read ${name} again`,
  damaged: 'A file that was kept here is damaged. It can only be removed.',
  newer: 'A newer version of this page keeps this file.',
  damagedName: 'Damaged file',
  remove: 'Remove',
  removeName: (name: string) => `Remove ${name}`,
  removeQuestion: (name: string) => `Remove ${name} from here? Your own file stays where it is.`,
  keepIt: 'Keep it',
  removed: (name: string) => `${name} was removed`,
  reading: 'Reading the files',
  progress: (done: number, total: number) => `${count(done)} of ${passages(total)}`,
  stop: 'Stop',
  goOn: 'Go on reading',
  toRead: (n: number) =>
    plural(n, {
      one: '1 file is not read to its end.',
      other: `${n} files are not read to their end.`,
    }),
  stopped: 'Stopped. What was read can be searched.',
  allRead: 'All files are read',
  elsewhere: 'Another tab reads files just now. It goes on here afterwards.',
  full: 'This device has no room left to keep what was read. It can be searched until you close the page. Remove files here, or models, and go on.',
  failed:
    'The browser does not let this page keep the files. They can be searched until you close it.',
  never: 'In this browser, the files stay here until you close the page.',
  removeModels: 'Models on this device',
  again: 'Try to keep it again',

  /** Of a model that finds nothing. */
  needs: (name: string) =>
    `${name} writes texts. To find passages, open a model that compares texts.`,
  needsFills: (name: string) =>
    `${name} fills in masked words. To find passages, open a model that compares texts.`,
  noModel: 'To find passages, open a model that compares texts.',
  openModel: 'Choose a model',
  held: 'The model is busy elsewhere on this page',

  notRead: (n: number) =>
    plural(n, { one: '1 file was not added:', other: `${n} files were not added:` }),
  andMore: (n: number) => `and ${count(n)} more`,
  /** Why a file was not added. */
  why: {
    long: 'longer than 10 MB. Split it into parts.',
    lost: 'couldn’t be read. Is it still there?',
    empty: 'there is no text in it.',
    pdf: 'a PDF. Sluice can’t read these yet.',
    picture: 'a picture.',
    office: 'an office document. Save it as text first.',
    archive: 'an archive. Unpack it first.',
    sound: 'a sound.',
    film: 'a film.',
    model: 'a model. Press the name of the model in use to open it.',
    weights: 'a model, and no text.',
    other: 'not a text file.',
  } satisfies Record<Refusal, string>,

  /** In the list of what is on this device. */
  kept: 'Files in Find',
  keptFacts: (n: number, size: number) =>
    `${plural(n, { one: '1 file', other: `${count(n)} files` })} · ${bytes(size)}`,
  removeAllQuestion: 'Remove all files in Find from here? Your own files stay where they are.',
};
