// What is said of traces as files and of maps of a model's layers; it comes with the room.
import type { TraceFileCode } from '../../inside/trace-file';
import { count } from '../format';
import { plural } from './plural';

/** Of a line and a field of it; the field may be ''. */
const fileWords: Record<TraceFileCode, (line: number, field: string) => string> = {
  size: () => 'The file is larger than 256 MiB.',
  empty: () => 'There is nothing in the file.',
  json: (line) => `Line ${count(line)} is not a JSON object. The file is damaged.`,
  first: () =>
    'This is not a trace. A trace is a file that this page saved, or one of “sluice run --trace”.',
  version: () => 'A newer version of Sluice wrote this trace.',
  long: (line, field) =>
    `Line ${count(line)} is too long${field === '' ? '' : ` at ${field}`}. The file is damaged.`,
  many: (line) => `Line ${count(line)} has more than this page can show.`,
  field: (line, field) =>
    `In line ${count(line)}, ${field} is missing or can’t be right. The file is damaged.`,
  after: (line) => `Line ${count(line)} follows the end of the text. The file is damaged.`,
  unread: () => 'The file couldn’t be read. Is it still there?',
};

export const insideMaps = {
  keep: 'Keep and share',
  open: 'Open a trace',
  openHint:
    'A file that was saved here, or one of “sluice run --trace”. You can also drop it on the page.',
  /** Of the model that wrote it. */
  by: (model: string) => `Written with ${model || 'a model without a name'}.`,
  /** That model is not in use. */
  without:
    'Its model is not loaded: you see what each token was chosen from, without the filters. Load the model to see all.',
  /** The run ended before its first token. */
  noTokens: 'There is no token in this trace.',
  prompt: 'Prompt',
  opening: 'The file is being read.',
  /** Why a file with a trace can't be opened: of a TraceFileError. */
  refused: (code: TraceFileCode, line: number, field: string) => fileWords[code](line, field),
  /** The file ends within a line. */
  cut: 'The run that wrote this file was ended: its last line is not whole and was left out.',
  save: 'Save the trace',
  saved: 'The trace was saved',
  saveHint:
    'All tokens with what they were chosen from, as JSON lines: for “sluice replay”, and for this page.',
  picture: 'Save as an image',
  pictureSaved: 'The image was saved',
  noPicture: 'This browser can’t make an image of it.',
  copyTable: 'Copy as a table',
  /** What was seen can't be kept with the text. */
  unkept:
    'This device has no room to keep this with the text: at the next visit it is computed anew.',
  /** In a file's name, after the model. */
  fileOf: (token: number) => `token ${token}`,
  columns: [
    'Token',
    'Number',
    'Probability',
    'After penalties',
    'When drawn',
    'Left out by',
    'Taken',
  ],
  taken: 'taken',

  layers: 'Layers',
  layer: (n: number) => `Layer ${n}`,
  notNow: 'Not while the model is writing.',
  stop: 'Stop',
  failed: 'It could not be computed.',

  lens: {
    title: 'What each layer would have said',
    about:
      'A model reads a text in layers. For each token, the map shows what would have come if the model had ended after this layer.',
    compute: 'Compute the map',
    computeHere: 'Compute it around this token',
    progress: 'How far the map is computed',
    of: (from: string, to: string) => `Tokens ${from} to ${to}`,
    colour: 'Colour',
    colours: { probability: 'How sure the layer is', divergence: 'How far it is from the end' },
    hint: 'The arrow keys lead through the map.',
    /** The corner of the table. */
    corner: 'Layer',
    /** Of a cell, read out: the likeliest token and its probability. */
    cell: (token: string, p: string) => `${token}, ${p}`,
    column: (place: string, token: string) => `${place}, ${token}`,
    at: (layer: string, token: string) => `${layer}, before ${token}`,
    entropy: 'Entropy',
    divergence: 'Divergence from the last layer',
  },

  arcs: {
    title: 'What the model looked at',
    about:
      'Attention: how much each head of a layer took from the tokens before, to choose this one. The wider the arc, the more.',
    compute: 'Compute the attention',
    computeHere: 'Compute it for this token',
    layer: 'Layer',
    head: 'Head',
    mean: 'Mean of all heads',
    headOf: (n: number) => `Head ${n}`,
    hint: 'The arrow keys lead along the words, and up and down through the layers.',
    earlier: (n: number, tokens: string) =>
      plural(n, { one: '1 token before these', other: `${tokens} tokens before these` }),
    chosen: (token: string) => `Then came ${token}.`,
    told: (place: string, token: string, p: string) => `${place}: ${token}, ${p}`,
    table: (layer: string, head: string) =>
      `The tokens that were looked at most: ${layer}, ${head}`,
    token: 'Token',
    weight: 'Attention',
    some: (n: number, layers: string) =>
      plural(n, {
        one: `Layer ${layers} does not attend: it remembers what it read in a state of its own.`,
        other: `Layers ${layers} do not attend: they remember what they read in a state of their own.`,
      }),
    none: 'The layers of this model do not attend: they remember what they read in a state of their own.',
  },
};
