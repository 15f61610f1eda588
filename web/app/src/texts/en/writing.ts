// The writing view: the prompt, its text, and what can be done with it.

export const writing = {
  prompt: 'Prompt',
  write: 'Write',
  stop: 'Stop',
  /** The keys' names, and what they do. */
  keys: { enter: 'Enter', writes: ' writes, ', escape: 'Esc', stops: ' stops' },
  ready: 'Ready',
  noModel: 'No model is loaded. Choose one first.',
  waiting: 'Waiting for the model',
  waitingForRest: 'Waiting for the rest of the model',
  reading: 'Reading the prompt',
  answering: 'The model is answering in the conversation',
  promptSoFar: (facts: string) => `Prompt: ${facts}`,
  tokensAt: (amount: string, rate: string) => `${amount} · ${rate} tokens/s`,
  bar: 'Writing',
  toTheEnd: 'To the end',

  text: 'Text',
  /** The button that shows what each token was chosen from. */
  xray: 'X-ray',
  xrayHint: 'What each word was chosen from',
  empty: 'What the model writes appears here, word by word.',
  openings: 'Or begin with one of these:',
  beginnings: [
    'The letter had lain on the kitchen table for three days before',
    'How a river finds its way to the sea: it begins',
    'Dear reader of a hundred years from now,',
  ],
  continuesStories: 'This model continues stories. To talk, open a chat model.',
  continuesTexts: 'This model continues texts. To talk, open a chat model.',
  openModels: 'Open a chat model',

  endings: {
    eos: 'The text came to its end',
    length: 'Stopped at the length that is set',
    stop: 'Stopped at a stop text',
    aborted: 'Stopped',
    context: 'The context is full',
    failed: 'It broke off',
  },
  ended: (how: string, amount: string) => `${how}: ${amount}`,
  seed: 'seed',
  writtenBy: (name: string) => `written by ${name}`,
  keepSeed: 'Keep this seed',
  seedKept: 'The seed is kept in the settings',
  continue: 'Continue',
  again: 'Again',
  copy: 'Copy',
  copied: 'Copied',
  copyLink: 'Copy link',
  linkCopied: 'Link copied',
  linkWithoutModel: (name: string) =>
    `The link leaves out the model: ${name} is a file on this device.`,
  linkWithoutPrompt: 'This text is too long for a link.',

  finds: (name: string) => `${name} writes nothing: it finds passages in files.`,
  findWith: 'To Find',

  pager: 'Texts of this visit',
  place: (n: string, all: string) => `${n} of ${all}`,
  previous: 'Earlier text',
  next: 'Later text',

  writing: 'Writing',
  done: (amount: string) => `Done: ${amount}`,
  stopped: (amount: string) => `Stopped: ${amount}`,
};
