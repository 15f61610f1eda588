// The German of ../en/talk.ts.
import { count, digits, tokens } from '../../format';
import type { talk as english } from '../en/talk';

export const talk: typeof english = {
  heading: 'Gespräch',
  you: 'Du',
  model: 'Modell',
  greeting: 'Was möchtest du wissen?',
  greetingNote:
    'Eine Chat-KI, die in dieser Seite läuft, auf deinem eigenen Gerät. Nichts, was du schreibst, verlässt es.',
  suggestionsLabel: 'Erste Fragen',
  suggestions: [
    'Erkläre in drei Sätzen, warum der Himmel blau ist',
    'Schreib einen kurzen, netten Geburtstagsgruß',
    'Nenne mir fünf Ideen für einen verregneten Sonntag',
    'Was ist der Unterschied zwischen Wetter und Klima?',
  ],
  /** What stands in front while there is no chat model. */
  first: {
    label: 'Passt zu diesem Gerät',
    others: 'Andere',
    coming: 'Unterwegs',
    paused: 'Das Laden ist angehalten',
    typeMeanwhile: 'Deine erste Nachricht kannst du schon schreiben.',
    here: (name) =>
      `${name} ist da. Es schreibt einen Text weiter, den du beginnst, führt aber keine Gespräche.`,
    writeWith: (name) => `Mit ${name} schreiben`,
    story: 'Sluice Stories ist schon da, erzählt aber nur Geschichten.',
    tellStory: 'Lass es eine erzählen',
  },
  field: 'Nachricht',
  placeholder: 'Schreib eine Nachricht',
  send: 'Senden',
  stop: 'Anhalten',
  stopped: 'Angehalten',
  attach: 'Eine Textdatei anhängen',
  removeAttachment: (name) => `${name} entfernen`,
  attached: (name, n) => `${name}, ${count(n)} Zeichen`,
  attaching: (name) => `${name} wird gelesen`,
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
  toTheEnd: 'Zum Ende',
  system: 'Systemprompt',
  systemNote: 'Wie das Modell in diesem Gespräch antworten soll. Gilt ab der nächsten Antwort.',
  noModel: 'Es ist kein Modell geladen.',
  chooseModel: 'Ein Modell wählen',
};
