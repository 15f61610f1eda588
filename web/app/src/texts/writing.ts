// The writing view: the prompt, its text, and what can be done with it.
const en = {
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
  empty: 'What the model writes appears here, word by word.',
  openings: 'Or begin with one of these:',
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

  /** What of a link could not be used; the name of the part stands before. */
  ignored: {
    longPrompt: (most: number) => `only its first ${most} characters were taken`,
    address: 'not an http, https or hf address',
    view: 'neither write nor talk',
  },
  severalModels:
    'these files are several models; choose one file, or all the parts of one split model',

  pager: 'Texts of this visit',
  place: (n: string, all: string) => `${n} of ${all}`,
  previous: 'Earlier text',
  next: 'Later text',

  writing: 'Writing',
  done: (amount: string) => `Done: ${amount}`,
  stopped: (amount: string) => `Stopped: ${amount}`,
};

const de: typeof en = {
  prompt: 'Anfang',
  write: 'Schreiben',
  stop: 'Anhalten',
  keys: { enter: 'Enter', writes: ' schreibt, ', escape: 'Esc', stops: ' hält an' },
  ready: 'Bereit',
  noModel: 'Es ist kein Modell geladen. Wähle erst eines.',
  waiting: 'Wartet auf das Modell',
  waitingForRest: 'Wartet auf den Rest des Modells',
  reading: 'Liest den Anfang',
  answering: 'Das Modell antwortet gerade im Gespräch',
  promptSoFar: (facts) => `Anfang: ${facts}`,
  tokensAt: (amount, rate) => `${amount} · ${rate} Token/s`,
  bar: 'Beim Schreiben',
  toTheEnd: 'Zum Ende',

  text: 'Text',
  empty: 'Hier erscheint, was das Modell schreibt, Wort für Wort.',
  openings: 'Oder beginne mit einem von diesen:',
  continuesStories:
    'Dieses Modell setzt englische Geschichten fort. Zum Unterhalten öffne ein Chat-Modell.',
  continuesTexts: 'Dieses Modell setzt Texte fort. Zum Unterhalten öffne ein Chat-Modell.',
  openModels: 'Chat-Modell öffnen',

  endings: {
    eos: 'Der Text ist zu Ende',
    length: 'Bei der eingestellten Länge angehalten',
    stop: 'Bei einem Schlusstext angehalten',
    aborted: 'Angehalten',
    context: 'Der Kontext ist voll',
    failed: 'Abgebrochen',
  },
  ended: (how, amount) => `${how}: ${amount}`,
  seed: 'Startwert',
  writtenBy: (name) => `geschrieben von ${name}`,
  keepSeed: 'Startwert behalten',
  seedKept: 'Der Startwert steht nun in den Einstellungen',
  continue: 'Weiter',
  again: 'Noch einmal',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyLink: 'Link kopieren',
  linkCopied: 'Link kopiert',
  linkWithoutModel: (name) => `Im Link fehlt das Modell: ${name} ist eine Datei auf diesem Gerät.`,
  linkWithoutPrompt: 'Dieser Text ist zu lang für einen Link.',

  ignored: {
    longPrompt: (most) => `nur die ersten ${most} Zeichen wurden genommen`,
    address: 'keine http-, https- oder hf-Adresse',
    view: 'weder write noch talk',
  },
  severalModels:
    'diese Dateien sind mehrere Modelle; wähle eine Datei oder alle Teile eines geteilten Modells',

  pager: 'Texte dieses Besuchs',
  place: (n, all) => `${n} von ${all}`,
  previous: 'Früherer Text',
  next: 'Späterer Text',

  writing: 'Schreibt',
  done: (amount) => `Fertig: ${amount}`,
  stopped: (amount) => `Angehalten: ${amount}`,
};

export const writing = { en, de };
