// The settings, and the figures of a text.
const en = {
  title: 'Settings',
  /** The button that opens the settings says in short how they are. */
  summary: (preset: string, length: string, seed: string | null, memory: string | null): string =>
    [
      preset,
      length,
      ...(seed === null ? [] : [`seed ${seed}`]),
      ...(memory === null ? [] : [`memory up to ${memory} MB`]),
    ].join(', '),
  upTo: (tokens: string) => `up to ${tokens}`,
  untilItEnds: 'until the answer ends',
  automatic: 'automatic',
  backTo: (value: string) => `Back to ${value}`,
  backToDefaults: 'Back to the defaults',

  answers: 'Answers',
  texts: 'Texts',
  presets: 'How it chooses its words',
  preset: {
    precise: {
      name: 'Precise',
      hint: 'Keeps to the likeliest words: for facts, code and summaries.',
    },
    balanced: { name: 'Balanced', hint: 'Some freedom, without losing the thread. The default.' },
    wild: { name: 'Wild', hint: 'Takes unlikely words, too: for ideas and surprises.' },
    own: { name: 'Own', hint: 'As you set it under “All samplers”.' },
  },
  samplers: 'All samplers',
  samplersHint: 'At each step the model weighs every token. These say which of them it may take.',
  default: 'The mark is the default.',
  sampler: {
    temperature: {
      label: 'Temperature',
      hint: 'Higher is more daring; 0 always takes the likeliest token.',
    },
    topP: { label: 'Top-p', hint: 'Only the likeliest that add up to this share; 1 for all.' },
    topK: { label: 'Top-k', hint: 'Only this many of the likeliest; 0 for all.' },
    minP: {
      label: 'Min-p',
      hint: 'Leaves out what is less likely than this share of the likeliest; 0 leaves out none.',
    },
    repeatPenalty: {
      label: 'Repeat penalty',
      hint: 'Above 1, the last 64 tokens become less likely, which helps against going in circles.',
    },
  },

  extent: 'Length and stop',
  length: 'Length',
  lengthHint: (tokens: string) =>
    `Tokens at most; about three quarters of a word each. Empty: ${tokens} for a text, and an answer goes on until it ends.`,
  seed: 'Seed',
  seedHint: 'The same seed gives the same text. Empty: a new one each time.',
  random: 'random',
  stops: 'Stop texts',
  stopsHint: (most: number) =>
    `The text ends before any of these; ${most} at most. \\n is a new line, \\t a tab.`,
  stop: (n: number) => `Stop text ${n}`,
  addStop: 'Add a stop text',
  removeStop: (n: number) => `Remove stop text ${n}`,
  wrongStop: (most: number) => `Not used: ${most} characters at most`,
  reasoning: 'Reasoning',
  reasoningName: { auto: 'Automatic', on: 'On', off: 'Off' },
  reasoningHint: {
    auto: 'As the model does by itself.',
    on: 'Thinks before it answers, if the model can: slower, and often better.',
    off: 'Answers at once, if the model lets it.',
  },
  reasoningBudget: 'Tokens to reason',
  reasoningBudgetHint: 'After so many it has to answer. Empty: as many as it likes.',
  unlimited: 'no limit',

  model: 'Model',
  modelHint: 'These count when a model is loaded.',
  context: 'Context',
  contextHint: 'Tokens of the conversation that the model can see. Empty: its own, up to 4,096.',
  contextIs: (tokens: string) => `automatic: ${tokens}`,
  contextMemory: (tokens: string, size: string) =>
    `${tokens} take about ${size} of memory when they are full.`,
  contextUnknown: 'What it takes is said when a model is loaded.',
  contextAbove: (tokens: string) =>
    `The model was trained on ${tokens}: beyond that it may lose the thread.`,
  kvType: 'Memory of the context',
  kvTypeHint: {
    f16: 'f16: two bytes a number. The default; no difference that one could read.',
    q8_0: 'q8_0: little more than one byte a number: room for almost twice the context. Words may differ slightly.',
    f32: 'f32: four bytes a number, exact. Twice the memory of f16.',
  },
  threads: 'Threads',
  threadsHint:
    'More are faster, up to the cores of the processor. Writing uses fewer if that is faster.',
  oneThread: 'one',
  oneThreadHint: 'This page can use only one thread. “One thread: why?” under a text says more.',
  memory: 'Memory (MB)',
  memoryHint:
    'At most for a model. What doesn’t fit is read again for each token, which is slower.',
  staleHint: 'The model was loaded with other settings.',
  loadAgain: 'Load the model again',
  loadingHint: 'The model is being loaded with these settings.',
  loadedHint: 'The model is loaded with these settings.',
  noModel: 'No model is loaded.',

  page: 'Page',
  language: 'Language',
  theme: 'Colours',
  view: 'View',
  auto: 'Automatic',
  themeName: { light: 'Light', dark: 'Dark' },
  viewName: { talk: 'Conversation', write: 'Writing' },
  viewHint: 'Automatic: a conversation, if the model can hold one.',

  // What can't be used
  outOfRange: (min: string, max: string) => `A whole number from ${min} to ${max}`,
  wrongMemory: (min: string, max: string) =>
    `Not used: a whole number of MB from ${min} to ${max}, or nothing`,
  notANumber: (min: number, max: number) => `not a number from ${min} to ${max}`,
  notOneOf: (choices: readonly string[]) => `not one of ${choices.join(', ')}`,
  notStops: 'not a list of stop texts',

  // Figures
  figures: 'Figures',
  details: 'Details',
  perSecond: (rate: string) => `${rate} tokens/s`,
  firstTokenAfter: (time: string) => `first token ${time}`,
  whyOneThread: 'One thread: why?',
  detailsTitle: 'How fast, and why',
  speed: 'The last text',
  writing: 'Writing',
  firstToken: 'First token',
  prompt: 'Prompt',
  promptTokens: 'Prompt’s tokens',
  cached: (total: string, cached: string) => `${total}, ${cached} of them known already`,
  written: 'Written',
  reasoned: (total: string, reasoned: string) => `${total}, ${reasoned} of them reasoning`,
  streamed: 'Read again',
  waited: 'Waited for weights',
  engine: 'The engine',
  flavour: 'Flavour',
  flavourWhy: {
    relaxed: 'The fastest build: this browser has relaxed SIMD instructions.',
    simd: 'This browser has SIMD instructions, but not the relaxed ones, which multiply faster.',
    threads: 'It can share memory, so several threads compute.',
    noThreads: 'Threads can’t share memory here, so one computes.',
  },
  kernels: 'Kernels',
  kernelsWhy: 'The inner loops, chosen for these instructions.',
  threadsWhy: {
    one: 'See the note below.',
    chosen: 'As set under Settings.',
    automatic: (cores: string) => `This device has ${cores}; eight are used at most.`,
  },
  cores: (n: number) => (n === 1 ? '1 core' : `${n} cores`),
  decodeThreads: 'To write',
  decodeThreadsWhy: {
    fewer: 'Measured: writing with this model is faster on fewer threads than reading a prompt.',
    all: 'Writing is fastest on all of them.',
    chosen: 'The number is set, so all of them write.',
  },
  memoryUsed: 'In memory',
  memoryWhy: 'Weights that have arrived, and the keys and values of the context.',
  limit: 'Limit',
  contextSize: 'Context',
  notes: 'Notes',
  isolation: {
    title: 'One thread.',
    noSharing:
      'This browser has no memory that threads could share. The text is the same, only slower. Other browsers use all processors.',
    notIsolated:
      'This page isn’t cross-origin isolated, so the browser gives it no memory that threads could share. The text is the same, only slower. To change that, its server has to send the headers',
    and: 'and',
  },
};

const de: typeof en = {
  title: 'Einstellungen',
  summary: (preset, length, seed, memory) =>
    [
      preset,
      length,
      ...(seed === null ? [] : [`Startwert ${seed}`]),
      ...(memory === null ? [] : [`Speicher bis ${memory} MB`]),
    ].join(', '),
  upTo: (tokens) => `bis zu ${tokens}`,
  untilItEnds: 'bis die Antwort endet',
  automatic: 'automatisch',
  backTo: (value) => `Zurück zu ${value}`,
  backToDefaults: 'Alles auf Anfang',

  answers: 'Antworten',
  texts: 'Texte',
  presets: 'Wie es seine Wörter wählt',
  preset: {
    precise: {
      name: 'Genau',
      hint: 'Bleibt bei den wahrscheinlichsten Wörtern: für Fakten, Code und Zusammenfassungen.',
    },
    balanced: {
      name: 'Ausgewogen',
      hint: 'Etwas Freiheit, ohne den Faden zu verlieren. Die Vorgabe.',
    },
    wild: {
      name: 'Wild',
      hint: 'Nimmt auch unwahrscheinliche Wörter: für Einfälle und Überraschungen.',
    },
    own: { name: 'Eigene', hint: 'Wie du es unter „Alle Regler“ einstellst.' },
  },
  samplers: 'Alle Regler',
  samplersHint:
    'Bei jedem Schritt wägt das Modell alle Token ab. Hier steht, welche davon es nehmen darf.',
  default: 'Die Marke ist die Vorgabe.',
  sampler: {
    temperature: {
      label: 'Temperatur',
      hint: 'Höher ist kühner; 0 nimmt immer das wahrscheinlichste Token.',
    },
    topP: {
      label: 'Top-p',
      hint: 'Nur die wahrscheinlichsten, die zusammen diesen Anteil haben; 1 für alle.',
    },
    topK: { label: 'Top-k', hint: 'Nur so viele der wahrscheinlichsten; 0 für alle.' },
    minP: {
      label: 'Min-p',
      hint: 'Lässt weg, was weniger wahrscheinlich ist als dieser Anteil des wahrscheinlichsten; 0 lässt nichts weg.',
    },
    repeatPenalty: {
      label: 'Wiederholungen',
      hint: 'Über 1 werden die letzten 64 Token unwahrscheinlicher; das hilft, wenn der Text sich im Kreis dreht.',
    },
  },

  extent: 'Länge und Ende',
  length: 'Länge',
  lengthHint: (tokens) =>
    `Höchstens so viele Token; eines ist etwa drei Viertel eines Worts. Leer: ${tokens} für einen Text, und eine Antwort geht weiter, bis sie endet.`,
  seed: 'Startwert',
  seedHint: 'Derselbe Startwert ergibt denselben Text. Leer: jedes Mal ein neuer.',
  random: 'zufällig',
  stops: 'Schlusstexte',
  stopsHint: (most) =>
    `Der Text endet vor jedem von ihnen; höchstens ${most}. \\n ist eine neue Zeile, \\t ein Tabulator.`,
  stop: (n) => `Schlusstext ${n}`,
  addStop: 'Schlusstext hinzufügen',
  removeStop: (n) => `Schlusstext ${n} entfernen`,
  wrongStop: (most) => `Gilt nicht: höchstens ${most} Zeichen`,
  reasoning: 'Nachdenken',
  reasoningName: { auto: 'Automatisch', on: 'An', off: 'Aus' },
  reasoningHint: {
    auto: 'Wie das Modell es von sich aus tut.',
    on: 'Denkt nach, bevor es antwortet, wenn das Modell es kann: langsamer und oft besser.',
    off: 'Antwortet sofort, wenn das Modell es zulässt.',
  },
  reasoningBudget: 'Token zum Nachdenken',
  reasoningBudgetHint: 'Nach so vielen muss es antworten. Leer: so viele es will.',
  unlimited: 'keine Grenze',

  model: 'Modell',
  modelHint: 'Das gilt, sobald ein Modell geladen wird.',
  context: 'Kontext',
  contextHint:
    'So viele Token des Gesprächs kann das Modell sehen. Leer: so viele es kennt, bis zu 4.096.',
  contextIs: (tokens) => `automatisch: ${tokens}`,
  contextMemory: (tokens, size) => `${tokens} brauchen, wenn sie voll sind, etwa ${size} Speicher.`,
  contextUnknown: 'Was er braucht, steht hier, sobald ein Modell geladen ist.',
  contextAbove: (tokens) =>
    `Das Modell ist mit ${tokens} trainiert: darüber hinaus verliert es vielleicht den Faden.`,
  kvType: 'Speicher des Kontexts',
  kvTypeHint: {
    f16: 'f16: zwei Byte je Zahl. Die Vorgabe; ein Unterschied ist nicht zu lesen.',
    q8_0: 'q8_0: wenig mehr als ein Byte je Zahl: Platz für fast den doppelten Kontext. Wörter können leicht abweichen.',
    f32: 'f32: vier Byte je Zahl, genau. Doppelt so viel Speicher wie f16.',
  },
  threads: 'Threads',
  threadsHint:
    'Mehr sind schneller, bis zur Zahl der Prozessorkerne. Zum Schreiben nimmt es weniger, wenn das schneller ist.',
  oneThread: 'einer',
  oneThreadHint:
    'Diese Seite kann nur einen Thread nutzen. Mehr dazu unter einem Text: „Ein Thread: warum?“.',
  memory: 'Speicher (MB)',
  memoryHint:
    'Höchstens für ein Modell. Was nicht hineinpasst, wird für jedes Token neu gelesen; das ist langsamer.',
  staleHint: 'Das Modell ist mit anderen Einstellungen geladen.',
  loadAgain: 'Modell neu laden',
  loadingHint: 'Das Modell wird mit diesen Einstellungen geladen.',
  loadedHint: 'Das Modell ist mit diesen Einstellungen geladen.',
  noModel: 'Es ist kein Modell geladen.',

  page: 'Seite',
  language: 'Sprache',
  theme: 'Farben',
  view: 'Ansicht',
  auto: 'Automatisch',
  themeName: { light: 'Hell', dark: 'Dunkel' },
  viewName: { talk: 'Gespräch', write: 'Schreiben' },
  viewHint: 'Automatisch: ein Gespräch, wenn das Modell eines führen kann.',

  outOfRange: (min, max) => `Eine ganze Zahl von ${min} bis ${max}`,
  wrongMemory: (min, max) =>
    `Gilt nicht: eine ganze Zahl von MB von ${min} bis ${max}, oder nichts`,
  notANumber: (min, max) => `keine Zahl von ${min} bis ${max}`,
  notOneOf: (choices) => `nicht eines von ${choices.join(', ')}`,
  notStops: 'keine Liste von Schlusstexten',

  figures: 'Zahlen',
  details: 'Details',
  perSecond: (rate) => `${rate} Token/s`,
  firstTokenAfter: (time) => `erstes Token ${time}`,
  whyOneThread: 'Ein Thread: warum?',
  detailsTitle: 'Wie schnell, und warum',
  speed: 'Der letzte Text',
  writing: 'Schreiben',
  firstToken: 'Erstes Token',
  prompt: 'Eingabe',
  promptTokens: 'Token der Eingabe',
  cached: (total, cached) => `${total}, davon ${cached} schon bekannt`,
  written: 'Geschrieben',
  reasoned: (total, reasoned) => `${total}, davon ${reasoned} Nachdenken`,
  streamed: 'Neu gelesen',
  waited: 'Auf Gewichte gewartet',
  engine: 'Die Maschine',
  flavour: 'Ausführung',
  flavourWhy: {
    relaxed: 'Die schnellste: dieser Browser kennt die lockeren SIMD-Befehle (relaxed SIMD).',
    simd: 'Dieser Browser kennt SIMD-Befehle, aber nicht die lockeren, die schneller multiplizieren.',
    threads: 'Speicher lässt sich teilen, also rechnen mehrere Threads.',
    noThreads: 'Threads können hier keinen Speicher teilen, also rechnet einer.',
  },
  kernels: 'Rechenkerne',
  kernelsWhy: 'Die innersten Schleifen, gewählt für diese Befehle.',
  threadsWhy: {
    one: 'Siehe den Hinweis unten.',
    chosen: 'Wie unter Einstellungen gesetzt.',
    automatic: (cores) => `Dieses Gerät hat ${cores}; genutzt werden höchstens acht.`,
  },
  cores: (n) => (n === 1 ? '1 Kern' : `${n} Kerne`),
  decodeThreads: 'Zum Schreiben',
  decodeThreadsWhy: {
    fewer: 'Gemessen: dieses Modell schreibt mit weniger Threads schneller, als wenn alle rechnen.',
    all: 'Mit allen schreibt es am schnellsten.',
    chosen: 'Die Zahl ist gesetzt, also schreiben alle.',
  },
  memoryUsed: 'Im Speicher',
  memoryWhy: 'Gewichte, die angekommen sind, und die Schlüssel und Werte des Kontexts.',
  limit: 'Grenze',
  contextSize: 'Kontext',
  notes: 'Hinweise',
  isolation: {
    title: 'Ein Thread.',
    noSharing:
      'Dieser Browser hat keinen Speicher, den Threads teilen könnten. Der Text ist derselbe, nur langsamer. Andere Browser nutzen alle Prozessoren.',
    notIsolated:
      'Diese Seite ist nicht von anderen Ursprüngen isoliert (cross-origin isolated), deshalb gibt ihr der Browser keinen Speicher, den Threads teilen könnten. Der Text ist derselbe, nur langsamer. Um das zu ändern, muss der Server diese Kopfzeilen senden:',
    and: 'und',
  },
};

export const settings = { en, de };
