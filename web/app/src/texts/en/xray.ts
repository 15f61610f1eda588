// The x-ray of a text: what each token was chosen from.
import { plural } from './plural';

export const xray = {
  title: 'X-ray',
  close: 'Close the X-ray',
  /** Two sentences for somebody who has never seen it. */
  intro:
    'A language model gives every token that it knows a score, and the next one is drawn from the best. Step through the text to see what each token was drawn from, and try what another temperature or another token would have made of it.',
  introDone: 'Understood',

  nothing: {
    text: 'Write a text, and see here what each of its tokens is chosen from.',
    model: 'No model is loaded: it takes the one that wrote the text.',
    tokens: 'It is not known which tokens this text is made of. Write it again to see them.',
    waiting: 'The first token is on its way.',
  },
  other: (by: string | null) =>
    `${by ?? 'Another model'} wrote this text. It is not the model that is loaded, and only the model that wrote a text can say what it chose from.`,
  computing: (done: string, total: string) =>
    `Nobody looked while this was written: it is computed now. ${done} of ${total} tokens`,
  progress: 'How far it is computed',
  stop: 'Stop',
  missing: 'Nobody looked when this token was written.',
  firstOfAll: 'Nothing stands before this token: it was not chosen from anything.',
  compute: 'Compute it now',
  failed: 'It could not be computed.',
  unsure:
    'It is not known exactly what stood before this answer when it was written: it can’t be computed afterwards.',
  retold:
    'Nobody has kept the tokens of this answer: these are those that the model makes of its text now, with the settings of now.',
  yours: 'You chose this token in the place of another one.',

  line: 'Along the text',
  surprise: 'Surprise',
  entropy: 'Entropy',
  shadeBy: 'Shading',
  shades: { surprise: 'Surprise', entropy: 'Entropy', none: 'None' },
  bits: (n: string) => `${n} bits`,
  tokenOf: (token: string, all: string) => `Token ${token} of ${all}`,
  /** A token and its figures, read out. */
  told: (place: string, token: string, surprise: string) =>
    `${place}: ${token}, surprise ${surprise}`,

  player: 'Steps',
  begin: 'To the first token',
  back: 'Token before',
  play: 'Play',
  pause: 'Pause',
  next: 'Next token',
  end: 'To the last token',
  speed: 'Speed',
  perSecond: (n: string) => `${n}/s`,

  probability: 'Probability',
  nucleus: 'Nucleus',
  nucleusOf: (n: number, all: string, mass: string) =>
    plural(n, { one: `1 token, ${mass}`, other: `${all} tokens, ${mass}` }),
  place: 'Random number',
  surpriseHint: 'Surprise: how unlikely the token was. One bit is a coin that is tossed.',
  entropyHint:
    'Entropy: how undecided the model was. Three bits are eight tokens of the same chance.',

  filters: 'Filters, one after another',
  step: {
    penalties: 'penalties',
    topNSigma: 'top-n-sigma',
    topK: 'top-k',
    typicalP: 'typical-p',
    topP: 'top-p',
    minP: 'min-p',
    xtc: 'XTC',
    temperature: 'temperature',
  },
  left: (n: string, mass: string) => `${n} left, ${mass}`,

  candidates: (token: string) => `Candidates of token ${token}`,
  columns: { token: 'Token', before: 'Model', after: 'Drawn', cut: 'Left out by' },
  taken: 'taken',
  would: 'would be taken',
  changed: 'penalties',
  more: 'More candidates',
  fewer: 'Fewer candidates',
  writeOn: (token: string) => `Write on with ${token}`,
  writeOnHint: 'Press a token to write on with it in the place of this one, as another text.',
  space: 'space',

  whatIf: 'What if',
  whatIfHint: 'The bars are those that a run with these settings would have had at this token.',
  samplers: { temperature: 'Temperature', topK: 'Top-k', topP: 'Top-p', minP: 'Min-p' },
  off: 'off',
  asWritten: 'As it was written',
  anew: 'The scores that are kept do not suffice for these settings: this token was computed anew.',

  branches: 'Branches',
  parent: (token: string) => `The text that this one comes from, before ${token}`,
  child: (token: string) => `Another text, from ${token} on`,
};
