// The conversation view.
import { count, digits, tokens } from '../format';

const en = {
  heading: 'Conversation',
  you: 'You',
  model: 'Model',
  greeting: 'What would you like to know?',
  greetingNote:
    'The model runs in this page, on your own processor. What you write never leaves this device.',
  cantTalk:
    'This model continues texts. It was not made for conversation, so its answers will make little sense.',
  field: 'Message',
  placeholder: 'Write a message',
  send: 'Send',
  stop: 'Stop',
  stopped: 'Stopped',
  attach: 'Attach a text file',
  removeAttachment: (name: string) => `Remove ${name}`,
  attached: (name: string, n: number) => `${name}, ${count(n)} characters`,
  noText: (name: string) => `${name} is not a text file (UTF-8), so it can’t be read as one`,
  tooLong: (name: string) => `${name} is longer than 1 MB, more than a conversation can hold`,
  editing: 'You are editing a message. The answers that followed stay, on a branch of their own.',
  cancelEdit: 'Cancel',
  edit: 'Edit and go on from here',
  retry: 'Another answer',
  answer: 'Answer',
  copyAll: 'Copy all',
  all: 'More for this conversation',
  copyMessage: 'Copy this message',
  previous: 'Previous branch',
  next: 'Next branch',
  branch: (at: number, of: number) => `${at} of ${of}`,
  thinking: 'Thinking',
  thought: (time: string) => `Thought for ${time}`,
  thoughts: 'Thoughts',
  tool: 'Result of a tool',
  waitsForModel: 'Waiting for the model',
  reads: 'Reading',
  readsFacts: (facts: string) => `Reading: ${facts}`,
  elsewhere: 'Another conversation is being answered.',
  showIt: 'Show it',
  writes: (n: number, rate: number) =>
    rate > 0 ? `${tokens(n)} · ${digits(rate)} tokens/s` : tokens(n),
  cut: 'Stopped',
  length: 'Stopped at the length that is set, or at the end of the context',
  failed: 'This answer ended with an error',
  lost: 'The page was closed while this was being written',
  dropped: (n: number) =>
    n === 1
      ? 'The oldest message was left out of this answer’s context, which was full'
      : `The ${count(n)} oldest messages were left out of this answer’s context, which was full`,
  context: (used: number, all: number) => `${count(used)} of ${tokens(all)}`,
  contextLabel: 'Tokens of this conversation, of those that the context holds',
  nearlyFull:
    'The context is nearly full. The oldest messages will be left out of the next answers.',
  toTheEnd: 'To the end',
  system: 'System prompt',
  systemNote: 'How the model is to answer in this conversation. It counts from the next answer on.',
  noModel: 'No model is loaded.',
  chooseModel: 'Choose a model',
};

const de: typeof en = {
  heading: 'Gespräch',
  you: 'Du',
  model: 'Modell',
  greeting: 'Was möchtest du wissen?',
  greetingNote:
    'Das Modell rechnet in dieser Seite, auf deinem eigenen Prozessor. Was du schreibst, verlässt dieses Gerät nie.',
  cantTalk:
    'Dieses Modell setzt Texte fort. Für Gespräche ist es nicht gemacht, und seine Antworten ergeben wenig Sinn.',
  field: 'Nachricht',
  placeholder: 'Schreib eine Nachricht',
  send: 'Senden',
  stop: 'Anhalten',
  stopped: 'Angehalten',
  attach: 'Eine Textdatei anhängen',
  removeAttachment: (name) => `${name} entfernen`,
  attached: (name, n) => `${name}, ${count(n)} Zeichen`,
  noText: (name) => `${name} ist keine Textdatei (UTF-8) und kann nicht als solche gelesen werden`,
  tooLong: (name) => `${name} ist länger als 1 MB, mehr als ein Gespräch fassen kann`,
  editing:
    'Du änderst eine Nachricht. Die Antworten, die darauf folgten, bleiben auf einem eigenen Zweig.',
  cancelEdit: 'Abbrechen',
  edit: 'Ändern und von hier weitergehen',
  retry: 'Eine andere Antwort',
  answer: 'Antworten',
  copyAll: 'Alles kopieren',
  all: 'Mehr zu diesem Gespräch',
  copyMessage: 'Diese Nachricht kopieren',
  previous: 'Voriger Zweig',
  next: 'Nächster Zweig',
  branch: (at, of) => `${at} von ${of}`,
  thinking: 'Denkt nach',
  thought: (time) => `Hat ${time} nachgedacht`,
  thoughts: 'Gedanken',
  tool: 'Ergebnis eines Werkzeugs',
  waitsForModel: 'Wartet auf das Modell',
  reads: 'Liest',
  readsFacts: (facts) => `Liest: ${facts}`,
  elsewhere: 'In einem anderen Gespräch wird geantwortet.',
  showIt: 'Zeigen',
  writes: (n, rate) => (rate > 0 ? `${tokens(n)} · ${digits(rate)} Token/s` : tokens(n)),
  cut: 'Angehalten',
  length: 'Beendet an der eingestellten Länge oder am Ende des Kontexts',
  failed: 'Diese Antwort endete mit einem Fehler',
  lost: 'Die Seite wurde geschlossen, während dies geschrieben wurde',
  dropped: (n) =>
    n === 1
      ? 'Die älteste Nachricht war nicht im Kontext dieser Antwort, denn er war voll'
      : `Die ${count(n)} ältesten Nachrichten waren nicht im Kontext dieser Antwort, denn er war voll`,
  context: (used, all) => `${count(used)} von ${tokens(all)}`,
  contextLabel: 'Token dieses Gesprächs, von denen, die der Kontext fasst',
  nearlyFull:
    'Der Kontext ist fast voll. Die ältesten Nachrichten fehlen dann in den nächsten Antworten.',
  toTheEnd: 'Zum Ende',
  system: 'Systemprompt',
  systemNote: 'Wie das Modell in diesem Gespräch antworten soll. Gilt ab der nächsten Antwort.',
  noModel: 'Es ist kein Modell geladen.',
  chooseModel: 'Ein Modell wählen',
};

export const talk = { en, de };
