// German.
import { bytes, count, digits, tokens } from '../format';
import type { HistoryCode } from '../../history/errors';
import type { Expected, TransferCode } from '../../history/checks';
import type { MarkdownWords } from '../../history/markdown-file';
import type { TraceFileCode } from '../../inside/trace-file';
import type { Advice } from '../en/errors';
import type { Params } from '../en/transfer';
import { pluralsOf } from '../plural';
import type { Texts } from '../texts';

const plural = pluralsOf('de');

const errors: Advice = {
  bad_file: {
    title: 'Diese Datei lässt sich nicht als Modell lesen',
    advice:
      'Wähle eine Datei, deren Name auf .gguf endet. Tut er das, ist sie beschädigt: Lade sie noch einmal herunter.',
  },
  unsupported_model: {
    title: 'Diese Art von Modell wird noch nicht unterstützt',
    advice: 'Nimm ein Modell einer verbreiteten Familie, wie Llama, Qwen3 oder Gemma 3.',
  },
  unsupported_type: {
    title: 'Diese Datei des Modells lässt sich hier noch nicht rechnen',
    advice: 'Nimm eine andere Datei desselben Modells: eine mit Q4_K_M, Q4_0 oder Q8_0 im Namen.',
  },
  out_of_memory: {
    title: 'Das Modell passt nicht in den Speicher dieses Browsers',
    advice: 'Schließe andere Tabs, oder nimm ein kleineres Modell.',
  },
  budget_too_small: {
    title: 'Das Modell braucht mehr Speicher, als es nehmen darf',
    advice: 'Erlaube ihm mehr unter Einstellungen, Speicher, oder nimm ein kleineres Modell.',
  },
  download_failed: {
    title: 'Das Modell konnte nicht heruntergeladen werden',
    advice: '',
    otherwise: 'Versuche es noch einmal, oder nimm ein anderes Modell.',
  },
  download_corrupt: {
    title: 'Angekommen ist nicht die Datei, die versprochen war',
    advice:
      'Nichts davon wurde behalten. Versuche es noch einmal; passiert es wieder, ist die Datei auf dem Server beschädigt.',
  },
  offline: {
    title: 'Vielleicht bist du offline',
    advice:
      'Verbinde dieses Gerät und versuche es noch einmal: Was angekommen ist, bleibt. Ohne Netz gehen deine Gespräche, die Modelle auf diesem Gerät und eine Modelldatei von dir.',
  },
  storage_full: {
    title: 'Auf diesem Gerät ist kein Platz, um das Modell zu behalten',
    advice:
      'Entferne Modelle, die du nicht brauchst, oder lade dieses, ohne es zu behalten: Dann muss es beim nächsten Besuch neu heruntergeladen werden.',
  },
  context_full: {
    title: 'Der Text ist länger, als das Modell lesen kann',
    advice: 'Kürze ihn, oder öffne ein Modell mit längerem Kontext.',
  },
  invalid_argument: {
    title: 'So lässt sich das nicht verwenden',
    advice: '',
    otherwise: 'Ändere, was du zuletzt eingegeben hast, oder setze die Einstellungen zurück.',
  },
  not_found: {
    title: 'Es ist nicht mehr auf diesem Gerät',
    advice: '',
    otherwise: 'Lade es noch einmal von dort, woher es kam.',
  },
  closed: { title: 'Das Modell wurde geschlossen', advice: 'Lade es neu.' },
  busy: {
    title: 'Das Modell schreibt noch',
    advice: '',
    otherwise: 'Warte, bis es fertig ist, oder halte es an.',
  },
  worker_died: {
    title: 'Die Recheneinheit ist unerwartet stehen geblieben',
    advice: 'Lade das Modell noch einmal; ist der Speicher knapp, schließe erst andere Tabs.',
  },
  unsupported_browser: {
    title: 'In diesem Browser läuft die Recheneinheit nicht',
    advice: '',
    otherwise: 'Nimm Chrome, Edge, Firefox oder Safari in einer aktuellen Fassung.',
  },
  unsupported_environment: {
    title: 'Auf dieser Seite läuft die Recheneinheit nicht',
    advice: '',
    otherwise: 'Das muss beheben, wem diese Seite gehört; die technischen Einzelheiten sagen, wie.',
  },
  aborted: { title: 'Angehalten', advice: '', otherwise: 'Versuche es noch einmal.' },
};

const layersOf = (n: number): string =>
  `${count(n)} ${plural(n, { one: 'Schicht', other: 'Schichten' })}`;

const expectedWords: Record<Expected, string> = {
  object: 'ein Objekt',
  list: 'eine Liste',
  text: 'ein Text',
  textOrNull: 'ein Text oder null',
  id: 'eine Kennung wie 0b8f3c1e-5a4d-4c6b-9e2f-7d1a3b5c9e0f',
  idOrNull: 'eine Kennung oder null',
  sameId: 'die Kennung, unter der die Nachricht steht',
  role: 'user, assistant oder tool',
  finish: 'stop, length, aborted, error oder null',
  figures: 'die Kennzahlen einer Antwort oder null',
  flag: 'true oder false',
  time: 'eine Zeit in Millisekunden seit 1970',
  count: 'eine ganze Zahl ab 0',
};

const transferWords: Record<TransferCode, (place: string, params: Params) => string> = {
  size: (_, { limit = 0 }) => `Die Datei ist größer als ${Math.round(limit / 2 ** 20)} MiB.`,
  json: () => 'Die Datei ist kein JSON.',
  format: () =>
    'In der Datei sind keine Gespräche: weder welche von Sluice noch eine Liste von Nachrichten.',
  version: (place) => `${place}: Die Datei stammt von einer neueren Version dieser Seite.`,
  empty: () => 'In der Datei sind keine Nachrichten.',
  type: (place, { expected = 'object' }) =>
    `${place}: Hier wird ${expectedWords[expected]} erwartet.`,
  long: (place, { limit = 0 }) => `${place}: Der Text hat mehr als ${limit} Zeichen.`,
  many: (place, { limit = 0 }) => `${place || 'Die Datei'}: Es sind mehr als ${limit} Einträge.`,
  parent: (place) =>
    `${place}: Diese Nachricht gibt es im Gespräch nicht, oder nicht an dieser Stelle.`,
  cycle: (place) => `${place}: Diese Nachricht ist eine Antwort auf sich selbst.`,
  twice: (place) => `${place}: Diese Kennung kommt zweimal vor.`,
};

const problemsWords: Record<HistoryCode, string> = {
  full: 'Auf diesem Gerät ist kein Platz mehr, darum ist das zuletzt Gesagte nicht gespeichert. Lösche Gespräche oder Modelle, oder exportiere dieses Gespräch.',
  none: 'Dieser Browser speichert für diese Seite nichts, vielleicht weil das Fenster privat ist. Gespräche bleiben, bis du die Seite schließt; exportiere, was du behalten willst.',
  newer:
    'In einem anderen Tab ist eine neuere Version dieser Seite. Lade diesen Tab neu, um weiterzumachen: Was er noch nicht gespeichert hat, geht verloren, kopiere es also vorher.',
  failed:
    'Das Gespräch konnte nicht gespeichert werden. Noch ist es hier; exportiere es, um sicherzugehen.',
};

const markdownWords: MarkdownWords = {
  untitled: 'Gespräch',
  system: 'Systemprompt',
  roles: { user: 'Du', assistant: 'Antwort', tool: 'Werkzeug' },
  reasoning: 'Überlegung',
};

const passages = (n: number): string =>
  plural(n, { one: '1 Stelle', other: `${count(n)} Stellen` });

const traceFileWords: Record<TraceFileCode, (line: number, field: string) => string> = {
  size: () => 'Die Datei ist größer als 256 MiB.',
  empty: () => 'Die Datei ist leer.',
  json: (line) => `Zeile ${count(line)} ist kein JSON-Objekt. Die Datei ist beschädigt.`,
  first: () =>
    'Das ist keine Aufzeichnung. Eine solche ist eine Datei, die diese Seite gespeichert hat, oder eine von „sluice run --trace“.',
  version: () => 'Eine neuere Version von Sluice hat diese Aufzeichnung geschrieben.',
  long: (line, field) =>
    `Zeile ${count(line)} ist zu lang${field === '' ? '' : `, bei ${field}`}. Die Datei ist beschädigt.`,
  many: (line) => `In Zeile ${count(line)} steht mehr, als diese Seite zeigen kann.`,
  field: (line, field) =>
    `In Zeile ${count(line)} fehlt ${field}, oder es kann nicht stimmen. Die Datei ist beschädigt.`,
  after: (line) => `Zeile ${count(line)} steht nach dem Ende des Textes. Die Datei ist beschädigt.`,
  unread: () => 'Die Datei ließ sich nicht lesen. Ist sie noch da?',
};

export const texts: Texts = {
  units: {
    bytes: ['B', 'KB', 'MB', 'GB', 'TB'],
    millions: 'short',
    tokens: (_, written) => `${written} Token`,
    rate: (written) => `${written} Token/s`,
    of: (part, whole) => `${part} von ${whole}`,
    left: (time) => `noch ${time}`,
    waitingForLayers: 'wartet auf Schichten',
    on: (date) => `am ${date}`,
  },

  page: {
    close: 'Schließen',
    copied: 'Kopiert',
    notCopied: 'Der Browser lässt diese Seite nicht kopieren',
    tagline: 'Eine Chat-KI auf deinem eigenen Gerät',
    title: 'Sluice: eine Chat-KI auf deinem eigenen Gerät',
    named: (name, said) => `${name}: ${said}`,
    views: 'Ansicht',
    talk: 'Sprechen',
    write: 'Schreiben',
    find: 'Finden',
    settings: 'Einstellungen',
    conversations: 'Gespräche',
    newConversation: 'Neues Gespräch',
    shortcuts: 'Tastenkürzel',
    keys: { control: 'Strg', shift: 'Umschalt', enter: 'Enter' },
    drop: 'Eine Modelldatei zum Öffnen hier ablegen',
    dropAny: 'Eine Modelldatei zum Öffnen hier ablegen, oder eine Textdatei zum Anhängen',
    dropFind: 'Textdateien zum Finden hier ablegen, oder eine Modelldatei zum Öffnen',
    skip: 'Zum Feld',
    partMissing: 'Dieser Teil der Seite konnte nicht heruntergeladen werden.',
    fetchPart: 'Noch einmal versuchen',
    ignored: {
      longPrompt: (most) => `nur die ersten ${most} Zeichen wurden genommen`,
      address: 'keine http-, https- oder hf-Adresse',
      view: 'weder write noch talk noch find',
    },
    severalModels:
      'diese Dateien sind mehrere Modelle; wähle eine Datei oder alle Teile eines geteilten Modells',
  },

  list: {
    untitled: 'Neues Gespräch',
    found: (n) =>
      n === 0
        ? 'Nichts gefunden'
        : plural(n, { one: '1 Gespräch gefunden', other: `${n} Gespräche gefunden` }),
    removed: (title) => `${title} ist gelöscht`,
    search: 'Suchen',
    searching: 'Sucht',
    showMore: (n) => `Mehr zeigen (noch ${n})`,
    none: 'Gespräche bleiben auf diesem Gerät, und nirgends sonst.',
    more: (title) => `Mehr zu ${title}`,
    allMore: 'Mehr',
    rename: 'Umbenennen',
    renameField: 'Titel des Gesprächs',
    save: 'Sichern',
    removeQuestion: (title) => `„${title}“ löschen?`,
    removeAll: 'Alle löschen',
    removeAllQuestion: (n) =>
      `Alle ${n} Gespräche löschen? Das lässt sich nicht rückgängig machen.`,
    keep: 'Behalten',
    exportAll: 'Alle als JSON sichern',
    importJson: 'Importieren',
    today: 'Heute',
    yesterday: 'Gestern',
    week: 'Letzte 7 Tage',
    older: 'Älter',
    fold: 'Die Liste der Gespräche ausblenden',
    remove: 'Löschen',
    deleted: 'Gelöscht.',
    undo: 'Rückgängig',
    takenBack: 'Das Gespräch ist wieder da',
  },

  footer: {
    use: 'In der eigenen Seite verwenden',
    packs: 'im Quelltext macht das Paket; ein Bundler ist nicht nötig.',
    cors: 'Ein Modell von einer anderen Seite braucht deren Erlaubnis (CORS).',
    snippet: 'HTML einer Seite, die schreibt',
    newer: 'Zur neueren Version dieser Seite',
    later: 'Die neuere Version kommt, wenn die anderen Tabs dieser Seite geschlossen sind',
    source: 'Quelltext',
    licence: 'Lizenz: Apache-2.0',
    notice: 'Was diese Seite enthält, und die Lizenzen dafür',
  },

  talk: {
    heading: 'Gespräch',
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
      finds: (name) => `${name} ist schon da und findet Stellen in Dateien.`,
      fills: (name) => `${name} ist schon da und setzt verdeckte Wörter ein.`,
      findWith: (name) => `Mit ${name} finden`,
      writeWith: (name) => `Mit ${name} schreiben`,
      story: 'Sluice Stories ist schon da, erzählt aber nur Geschichten.',
      tellStory: 'Lass es eine erzählen',
    },
    field: 'Nachricht',
    placeholder: 'Schreib eine Nachricht',
    send: 'Senden',
    attach: 'Eine Textdatei anhängen',
    system: 'Systemprompt',
    chooseModel: 'Ein Modell wählen',
  },

  talkRoom: {
    you: 'Du',
    model: 'Modell',
    stop: 'Anhalten',
    stopped: 'Angehalten',
    removeAttachment: (name) => `${name} entfernen`,
    attached: (name, n) => `${name}, ${count(n)} Zeichen`,
    attaching: (name) => `${name} wird gelesen`,
    editing:
      'Du änderst eine Nachricht. Die Antworten, die darauf folgten, bleiben auf einem eigenen Zweig.',
    cancelEdit: 'Abbrechen',
    edit: 'Ändern und von hier weitergehen',
    retry: 'Eine andere Antwort',
    xray: 'Röntgenblick in diese Antwort',
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
      plural(n, {
        one: 'Die älteste Nachricht war nicht im Kontext dieser Antwort, denn er war voll',
        other: `Die ${count(n)} ältesten Nachrichten waren nicht im Kontext dieser Antwort, denn er war voll`,
      }),
    context: (used, all) => `${count(used)} von ${tokens(all)}`,
    contextLabel: 'Token dieses Gesprächs, von denen, die der Kontext fasst',
    toTheEnd: 'Zum Ende',
    systemNote: 'Wie das Modell in diesem Gespräch antworten soll. Gilt ab der nächsten Antwort.',
    noModel: 'Es ist kein Modell geladen.',
    nearlyFull:
      'Der Kontext ist fast voll. Die ältesten Nachrichten fehlen dann in den nächsten Antworten.',
    counting: 'Die Nachricht wird gezählt.',
    messageTooLong: (over, context) =>
      `Diese Nachricht ist ${tokens(over)} länger als der Kontext von ${tokens(context)}.`,
    outgrown: (over) =>
      `Das Gespräch ist ${tokens(over)} länger als der Kontext. Die ältesten Nachrichten fehlen dann.`,
    shorten: 'Kürze sie, oder teile sie auf.',
    removeFile: 'Entferne eine Datei, oder kürze die Nachricht.',
    largerContext: (context, more) =>
      `Einen Kontext von ${count(context)} nehmen (${bytes(more)} mehr Speicher)`,
    pasted: 'Eingefügter Text',
    pastedAsFile: 'Der lange Text hängt jetzt an der Nachricht',
    pastedBack: 'Ins Feld',
    pastedBackLabel: (name) => `${name} ins Feld setzen`,
    noChatModel: 'Kein Chat-Modell.',
    goOn: 'Weiter',
    unread: {
      tooLong: (name) => `${name} ist länger als 1 MB, mehr als ein Gespräch fassen kann.`,
      lost: (name) => `${name} konnte nicht gelesen werden. Gibt es die Datei noch?`,
      pdf: (name) => `${name} ist ein PDF. So etwas kann Sluice noch nicht lesen.`,
      picture: (name) => `${name} ist ein Bild. So etwas kann Sluice noch nicht lesen.`,
      office: (name) => `${name} ist ein Office-Dokument. So etwas kann Sluice noch nicht lesen.`,
      archive: (name) => `${name} ist ein Archiv. So etwas kann Sluice noch nicht lesen.`,
      sound: (name) => `${name} ist eine Tonaufnahme. So etwas kann Sluice noch nicht lesen.`,
      film: (name) => `${name} ist ein Film. So etwas kann Sluice noch nicht lesen.`,
      model: (name) =>
        `${name} ist ein Modell. Drücke auf den Namen des jetzigen Modells, um es zu öffnen.`,
      weights: (name) =>
        `${name} ist ein Modell in einer Form, die die Seite nicht lesen kann. Suche eine Datei davon, deren Name auf .gguf endet, oder mache eine mit dem Programm (sluice convert).`,
      other: (name) => `${name} ist keine Textdatei, und Sluice kann sie nicht lesen.`,
    },
    savedPrompts: 'Gesicherte Systemprompts',
    promptName: 'Name zum Sichern',
    savePrompt: 'Sichern',
    promptSaved: (name) => `${name} ist auf diesem Gerät gesichert`,
    removePrompt: (name) => `Den Systemprompt ${name} löschen`,
    waitsFor: (name) => `Wartet auf ${name}`,
    waitsPaused: 'Wartet, bis das Laden weitergeht',
    unanswered: 'Darauf hat noch niemand geantwortet.',
    onlyStories: (name) => `${name} erzählt nur Geschichten und kann keine Fragen beantworten.`,
    couldAnswer: (name) => `${name} kann es und passt zu diesem Gerät.`,
    answerWith: (name) => `Mit ${name} antworten`,
    answerWhenHere: (name) => `Mit ${name} antworten, sobald es da ist`,
    goOnAndAnswer: (name) => `${name} weiter laden, dann antworten`,
    tellStory: (name) => `${name} eine Geschichte erzählen lassen`,
    writtenWith: (name) => `Geschrieben mit ${name}.`,
    writtenWithOther: (file) => `Geschrieben mit einer früheren oder anderen Datei namens ${file}.`,
    loadIt: 'Laden',
    findIt: (file) => `${file} wieder auswählen`,
    loadFrom: (host) => `Laden von ${host}`,
    goOnWith: (name) => `Weiter mit ${name}`,
  },

  settings: {
    title: 'Einstellungen',
    notANumber: (min, max) => `keine Zahl von ${min} bis ${max}`,
    notOneOf: (choices) => `nicht eines von ${choices.join(', ')}`,
    notStops: 'keine Liste von Schlusstexten',
  },

  settingsRoom: {
    automatic: 'automatisch',
    backTo: (value) => `Zurück zu ${value}`,
    backToDefaults: 'Alles auf Anfang',
    answers: 'Antworten',
    texts: 'Texte',
    presets: 'Wie es seine Wörter wählt',
    presetHint: {
      precise: 'Bleibt bei den wahrscheinlichsten Wörtern: für Fakten, Code und Zusammenfassungen.',
      balanced: 'Etwas Freiheit, ohne den Faden zu verlieren. Die Vorgabe.',
      wild: 'Nimmt auch unwahrscheinliche Wörter: für Einfälle und Überraschungen.',
      own: 'Wie du es unter „Alle Regler“ einstellst.',
    },
    samplers: 'Alle Regler',
    samplersHint:
      'Bei jedem Schritt wägt das Modell alle Token ab. Hier steht, welche davon es nehmen darf.',
    default: 'Die Marke ist die Vorgabe.',
    modelDefault: 'Die Marke ist die Vorgabe; die Datei dieses Modells hat dafür eigene Werte.',
    penalties: 'Gegen Wiederholungen',
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
        hint: 'Über 1 werden die jüngsten Token unwahrscheinlicher; das hilft, wenn der Text sich im Kreis dreht.',
      },
      repeatLastN: {
        label: 'Rückblick',
        hint: 'So viele der jüngsten Token zählen als Wiederholung, auch die der Eingabe; 0 für keine.',
      },
      presencePenalty: {
        label: 'Vorkommen',
        hint: 'Macht ein Token unwahrscheinlicher, sobald es geschrieben ist.',
      },
      frequencyPenalty: {
        label: 'Häufigkeit',
        hint: 'Macht ein Token unwahrscheinlicher, je öfter es geschrieben ist.',
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
    contextMemory: (tokens, size) =>
      `${tokens} brauchen, wenn sie voll sind, etwa ${size} Speicher.`,
    contextUnknown: 'Was er braucht, steht hier, sobald ein Modell geladen ist.',
    contextAbove: (tokens) =>
      `Das Modell ist mit ${tokens} trainiert: darüber hinaus verliert es vielleicht den Faden.`,
    kvType: 'Speicher des Kontexts',
    kvTypeName: { f16: 'Üblich', q8_0: 'Halb', f32: 'Doppelt' },
    kvTypeHint: {
      f16: 'Die Vorgabe. Ein Unterschied ist nicht zu lesen.',
      q8_0: 'Platz für fast den doppelten Kontext. Wörter können leicht abweichen.',
      f32: 'Genau bis zur letzten Stelle. Kaum je nötig.',
    },
    threads: 'Threads',
    threadsHint:
      'Mehr sind schneller, bis zur Zahl der Prozessorkerne. Zum Schreiben nimmt es weniger, wenn das schneller ist.',
    oneThread: 'einer',
    oneThreadHint:
      'Diese Seite kann nur einen Thread nutzen. Mehr dazu unter einem Text: „Warum nicht schneller?“.',
    memory: 'Speicher (MB)',
    memoryHint:
      'Höchstens für ein Modell. Was nicht hineinpasst, wird für jedes Wort neu gelesen; das ist langsamer.',
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
    viewName: { talk: 'Gespräch', write: 'Schreiben', find: 'Finden' },
    viewHint: 'Automatisch: ein Gespräch, außer wenn ein Link einen Text bringt.',
    outOfRange: (min, max) => `Eine ganze Zahl von ${min} bis ${max}`,
    wrongMemory: (min, max) =>
      `Gilt nicht: eine ganze Zahl von MB von ${min} bis ${max}, oder nichts`,
    speed: 'Der letzte Text',
    writing: 'Schreiben',
    firstToken: 'Erstes Token',
    prompt: 'Eingabe',
    promptTokens: 'Token der Eingabe',
    reused: (total, reused) => `${total}, davon ${reused} schon bekannt`,
    written: 'Geschrieben',
    reasoned: (total, reasoned) => `${total}, davon ${reasoned} Nachdenken`,
    reread: 'Neu gelesen',
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
    cores: (n) => plural(n, { one: '1 Kern', other: `${n} Kerne` }),
    decodeThreads: 'Zum Schreiben',
    decodeThreadsWhy: {
      fewer:
        'Gemessen: dieses Modell schreibt mit weniger Threads schneller, als wenn alle rechnen.',
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
    /** What the keys of the list of shortcuts do. */
    keys: {
      send: 'Die Nachricht senden',
      write: 'Den Text schreiben',
      find: 'Stellen finden',
      hits: 'Von Stelle zu Stelle',
      line: 'Eine neue Zeile in der Nachricht',
      stop: 'Anhalten',
      new: 'Neues Gespräch',
      search: 'In den Gesprächen suchen',
      edit: 'Die letzte Nachricht ändern (im leeren Feld)',
      field: 'Ins Feld',
      xray: 'Röntgenblick in den Text oder in die letzte Antwort',
      steps: 'Im Röntgenblick: Token für Token',
      play: 'Im Röntgenblick: abspielen, Pause',
      space: 'Leertaste',
      model: 'Modelle',
      settings: 'Einstellungen',
      list: 'Diese Liste',
    },
  },

  figures: {
    summary: (preset, length, seed, memory) =>
      [
        preset,
        length,
        ...(seed === null ? [] : [`Startwert ${seed}`]),
        ...(memory === null ? [] : [`Speicher bis ${memory} MB`]),
      ].join(', '),
    upTo: (tokens) => `bis zu ${tokens}`,
    untilItEnds: 'bis die Antwort endet',
    preset: { precise: 'Genau', balanced: 'Ausgewogen', wild: 'Wild', own: 'Eigene' },
    figures: 'Zahlen',
    details: 'Details',
    perSecond: (rate) => `${rate} Token/s`,
    firstTokenAfter: (time) => `erstes Wort nach ${time}`,
    whyOneThread: 'Warum nicht schneller?',
    detailsTitle: 'Wie schnell, und warum',
  },

  model: {
    errors,
    chip: {
      label: 'Modell',
      none: 'Modell wählen',
      inUse: (name) => `Modell: ${name}`,
      coming: (name) => `${name} ist unterwegs`,
      paused: (name) => `${name} ist angehalten`,
    },
    /** The models on offer. */
    shelf: {
      about: (size: string) => `etwa ${size}`,
      takes: (time: string) => `Herunterladen dauert etwa ${time}`,
      here: (size: string) => `auf diesem Gerät (${size})`,
      tooLarge: 'zu groß für dieses Gerät, langsam',
      licence: (name: string) => `Lizenz: ${name}`,
      terms: 'Bedingungen lesen',
      start: 'Starten',
      download: (size: string) => `Herunterladen (${size})`,
      downloadAndStart: (size: string) => `Herunterladen und starten (${size})`,
      accept: (size: string) => `Zustimmen und herunterladen (${size})`,
    },
    sheet: {
      title: 'Modell',
    },
    speed: {
      about: (rate) => `etwa ${rate}`,
      between: (least, most) => `${least} bis ${most}`,
      slowShort: 'langsam',
    },
    said: {
      cancelled: 'Das Laden wurde abgebrochen',
      paused: 'Angehalten',
      loading: (name) => `Lädt ${name}`,
      rest: (name) => `${name} kann benutzt werden; der Rest wird noch heruntergeladen`,
      ready: (name) => `${name} ist bereit`,
    },
    notices: {
      close: 'Schließen',
      tryAgain: 'Noch einmal versuchen',
      offline: 'Du bist offline',
      ignored: 'Teile dieses Links wurden ausgelassen',
    },
  },

  loads: {
    load: {
      loading: (name) => `Lädt ${name}`,
      again: (name) => `Lädt wieder: ${name}`,
      restReady: (name) => `Bereit; der Rest von ${name} wird noch heruntergeladen`,
      restWaits: (name) => `Das Schreiben wartet auf den Rest von ${name}`,
      takesOver: (name) => `${name} ist bereit und übernimmt, wenn dieser Text fertig ist`,
      paused: (name) => `Angehalten: ${name}`,
      header: 'Liest den Anfang der Datei',
      checking: 'prüft, ob es die richtige Datei ist',
      waits: 'wartet; es geht von selbst weiter',
      waitsBrief: 'wartet',
      offline: 'du bist offline; es geht von selbst weiter',
      otherTab: 'ein anderer Tab lädt es',
      serverBusy: 'der Server kann gerade nicht; es geht von selbst weiter',
      fromDevice: 'von diesem Gerät',
      wereHere: (amount) => `${amount} waren schon hier`,
      pause: 'Anhalten',
      cancel: 'Abbrechen',
      goOn: 'Weiter',
      discard: 'Verwerfen',
      discardIt: (amount) => `Die ${amount}, die schon da sind, verwerfen?`,
      nothingKept: 'Nichts davon konnte behalten werden: Es fängt von vorn an.',
      partKept: (amount) => `${amount} sind auf diesem Gerät.`,
      anotherDay: 'Du kannst diesen Tab schließen und an einem anderen Tag weitermachen.',
      stays: (name) => `Bis dahin kannst du mit ${name} weitermachen.`,
    },
    kept: {
      keepIt: 'Behalten',
      busyComing: 'Es wird gerade hier heruntergeladen. Halte das erst an, oder brich es ab.',
      busyUsed:
        'Es ist hier oder in einem anderen Tab in Gebrauch. Öffne erst ein anderes Modell, oder schließe den Tab.',
    },
    said: {
      removed: (name) => `${name} wurde entfernt`,
      free: (amount) => `${amount} sind wieder frei`,
      pinned: (name) => `${name} bleibt immer`,
      unpinned: (name) => `${name} bleibt, solange Platz ist`,
    },
  },

  models: {
    another: {
      nameless: 'Ein Modell ohne Namen',
      download: (amount) => `Herunterladen (${amount})`,
    },
    memory: {
      takes: (total) => `Es nimmt bis zu ${total} Speicher.`,
      tooMuch: (all, total, again) =>
        `Es würde bis zu ${all} Speicher nehmen, mehr als es hier darf. Darum bleibt es unter ${total}, und ${again} ` +
        `werden für jedes Wort neu von diesem Gerät gelesen. Das ist langsamer: Es kommt darauf an, wie schnell dieses Gerät liest.`,
    },
    notices: {
      offer: (host) => `Dieser Link verlangt ein Modell von ${host}`,
      unasked:
        'Dieser Server wurde noch nach nichts gefragt. Fragst du ihn, kennt er deine IP-Adresse.',
      asking: 'Der Server wird danach gefragt …',
      found: (name, parameters, size) =>
        `${name}: ${parameters} Parameter, ${size} zum Herunterladen.`,
      look: 'Zeigen, was es ist',
      askAgain: 'Noch einmal fragen',
      no: 'Nein, beim jetzigen Modell bleiben',
      chooseFile: 'Eine andere Datei wählen',
      openFile: 'Eine Modelldatei wählen',
      theFile: 'Die Datei wählen',
      openPage: 'Seine Seite öffnen',
      download: 'Mit dem Browser herunterladen',
      search: (host) => `Auf ${host} suchen`,
      onDevice: 'Modelle auf diesem Gerät',
      others: 'Andere Modelle',
      address: 'Die Adresse ändern',
      withoutLimit: 'Ohne die Grenze laden',
      withoutKeeping: 'Laden, ohne es zu behalten',
      removeModels: 'Modelle entfernen',
      alsoFailed: (name) => `Auch ${name} konnte nicht geladen werden.`,
      technical: 'Technische Einzelheiten',
    },
    speed: {
      reread: (rate) => `${rate}, für jedes Wort von diesem Gerät gelesen`,
      slow: 'langsam: wird für jedes Wort von diesem Gerät gelesen',
      fits: 'passt',
      fitsPartly: 'passt nicht ganz',
    },
  },

  sheet: {
    shelf: {
      heading: 'Modelle zur Auswahl',
      more: 'Weitere Modelle',
      inUse: 'In Benutzung',
      token: 'Das Tempo zählt in Token: eines ist etwa drei Viertel eines Worts.',
    },
    noneLoaded: 'Keines geladen',
    bundled:
      'Kommt mit dieser Seite. Es schreibt einfache Kindergeschichten auf Englisch und kann sonst nichts.',
    file: 'Eine Datei auf diesem Gerät. Sie wird hier gelesen und nirgendwohin gesendet.',
    keptHere: 'Von seinem Server, und auf diesem Gerät behalten für das nächste Mal.',
    notKept: 'Von seinem Server in den Speicher dieser Seite. Es wird nicht behalten.',
    more: 'Mehr über dieses Modell',
    layers: 'Schichten',
    layersOf: (name) => `Schichten von ${name}`,
    another: 'Ein anderes Modell',
    back: 'Zurück zum Modell dieser Seite',
    facts: {
      parameters: 'Parameter',
      size: 'Größe',
      memory: 'Speicher',
      speed: 'Tempo',
      architecture: 'Architektur',
      types: 'Typen',
      layers: 'Schichten',
      context: 'Kontext',
      vocabulary: 'Wortschatz',
      licence: 'Lizenz',
      from: 'Von',
      upTo: (amount) => `bis zu ${amount}`,
      thisPage: 'dieser Seite',
      fromFile: (name, others) =>
        `${name}${others === 0 ? '' : ` und ${others} weiteren`}, dieses Gerät`,
    },
  },

  shelf: {
    goodFor: {
      'smollm2-135m': 'zum Ausprobieren; antwortet überall sofort, weiß wenig',
      'gemma-3-270m':
        'Angaben herausziehen, sortieren, kurze Anweisungen; für seine Größe viele Sprachen',
      'smollm2-360m': 'kurze Texte auf Englisch umschreiben und einordnen, auch auf dem Handy',
      'qwen3-0.6b': 'kleine Gespräche in vielen Sprachen, mit oder ohne Nachdenken',
      'qwen3.5-0.8b':
        'kleine Gespräche in vielen Sprachen, mit oder ohne Nachdenken; lange Texte brauchen wenig Speicher',
      'gemma-3-1b': 'angenehme Texte in vielen Sprachen',
      'llama-3.2-1b': 'ein viel benutztes kleines Gesprächsmodell; Zusammenfassungen',
      'qwen3.5-2b': 'überlegte Antworten auf einem Laptop oder einem neueren Telefon',
      'gemma-4-e2b':
        'Gespräche in vielen Sprachen auf einem Laptop; braucht viel weniger Speicher, als die Datei groß ist',
      'all-minilm-l6-v2': 'Stellen in englischen Texten finden; klein und schnell',
      'embeddinggemma-300m': 'Stellen in Texten in vielen Sprachen finden',
    },
    terms: {
      'https://ai.google.dev/gemma/terms':
        'Wer es benutzt, stimmt den Bedingungen von Google zu, die manches verbieten.',
      'https://www.llama.com/llama3_2/license/':
        'Wer es benutzt, stimmt der Lizenz von Meta und ihren Nutzungsregeln zu. Built with Llama.',
      'https://www.liquid.ai/lfm-license':
        'Wer es benutzt, stimmt der Lizenz von Liquid AI zu: Organisationen mit mehr als 10 Millionen US-Dollar Jahresumsatz brauchen eine andere.',
    },
  },

  found: {
    codes: {
      out_of_memory: [
        'Für {tokens} Token braucht es {neededBytes} mehr, und {availableBytes} sind frei.',
        'Es braucht mindestens {leastBytes}, und es gibt höchstens {availableBytes}.',
        'Es braucht {neededBytes}, und es gibt höchstens {availableBytes}.',
        'Für weitere {neededBytes} war kein Speicher da.',
      ],
      budget_too_small: [
        'Es braucht mindestens {leastBytes} und darf {availableBytes} nehmen.',
        'Es braucht {neededBytes} und darf {availableBytes} nehmen.',
      ],
      offline: ['{host} ist nicht zu erreichen.'],
      storage_full: [
        'Es braucht {neededBytes} mehr, und {availableBytes} sind frei.',
        'Es braucht {neededBytes} mehr.',
      ],
      context_full: ['Er hat {tokens} Token oder mehr, und Platz ist für {room}.'],
    },
    details: {
      unsupported_model: [
        'Es hat einen unbekannten Tensor {tensor}.',
        'Sein Tokenizer heißt „{tokenizer}“.',
        'Sein {key} ist {value}.',
        'Seine Architektur heißt „{architecture}“.',
      ],
      unsupported_type: ['{tensor} hat den Typ {type}.', 'Ein Tensor hat den Typ {type}.'],
      download_corrupt: ['Ihre SHA-256 ist {foundSha256}, und {expectedSha256} wurde erwartet.'],
      worker_died: ['Der Browser meldet: {said}'],
      unsupported_browser: ['Ihm fehlt {missing}.'],
    },
    reasons: {
      simd: 'Er ist zu alt, oder etwas, das Sluice braucht, ist abgeschaltet. Nimm Chrome oder Edge 91, Firefox 89, Safari 16.4 oder neuer.',
      status:
        '{host} hat mit {status} geantwortet. Versuche es später noch einmal, oder nimm eine andere Adresse.',
      missing:
        '{host} hat mit {status} geantwortet. Diese Datei gibt es dort nicht: Prüfe die Adresse.',
      denied:
        '{host} hat mit {status} geantwortet: Dieses Modell gibt es nicht, oder es braucht dort ein Konto. Prüfe die Adresse. Stimmt sie, öffne seine Seite, melde dich an, nimm die Bedingungen an und lade die Datei dort herunter. Dann wähle die Datei hier.',
      unreachable:
        '{host} hat nicht geantwortet, oder lässt andere Seiten die Datei nicht lesen. Prüfe deine Verbindung und versuche es noch einmal, oder lade die Datei herunter und wähle sie hier.',
      redirect:
        '{host} leitet dorthin weiter, wo die Datei nicht zu lesen ist. Nimm die Adresse, an der das endet.',
      insecure: 'Diese Seite darf nur Adressen mit https lesen. Nimm eine solche.',
      stalled: '{host} hat zu lange nichts gesendet. Versuche es noch einmal.',
      broken: 'Die Verbindung zu {host} ist abgebrochen. Versuche es noch einmal.',
      changed: 'Die Datei auf {host} hat sich geändert, während sie kam. Lade sie noch einmal.',
      answer: '{host} hat etwas anderes gesendet als verlangt. Nimm einen anderen Server.',
    },
  },

  notes: {
    notes: {
      token_not_in_vocabulary:
        '{key} ist {id}, und der Wortschatz hat {tokens} Token. Es wird weggelassen.',
      unknown_pre_tokenizer:
        'Der Pre-Tokenizer „{name}“ ist unbekannt. Der übliche wird benutzt, der Texte etwas anders lesen kann.',
      no_pre_tokenizer:
        'Die Datei nennt keinen Pre-Tokenizer. Der übliche wird benutzt, der Texte etwas anders lesen kann.',
      merges_skipped:
        'Verbindungen des Wortschatzes, die Token nennen, die er nicht hat, werden übergangen: {merges}.',
      special_tokens_too_long:
        'Besondere Token, die zu lang sind, um in Texten gesucht zu werden: {tokens}.',
      no_bos_token:
        'Die Datei will ein Token vor jedem Text und sagt nicht, welches. Es wird keines gesetzt.',
      sampling_value_unusable:
        'Die Datei empfiehlt {value} für {key}; das ist nicht erlaubt. Es wird weggelassen.',
      context_beyond_training:
        'Der Kontext von {contextSize} Token ist größer als die {trained}, für die das Modell trainiert wurde. Was es ' +
        'darüber hinaus schreibt, ergibt vielleicht keinen Sinn.',
      fewer_threads:
        'Nur {threads} von {asked} Threads konnten gestartet werden. Es geht, aber langsamer.',
      no_chat_template:
        'Die Datei hat keine Chat-Vorlage. Die von {family} wird benutzt; das ist geraten.',
      tools_left_out:
        'Die eingebaute Vorlage von {family} kennt keine Werkzeuge. Sie werden weggelassen.',
      content_parts_joined:
        'Die Chat-Vorlage kennt keine Nachrichten in Teilen. Die Texte der Teile werden verbunden.',
      content_parts_unknown:
        'Die Chat-Vorlage kennt keine Nachrichten in Teilen. Was das Modell davon bekommt, sagt ihm vielleicht nichts.',
      unknown_role: 'Sluice kennt die Rolle {role} einer Nachricht nicht: {token} bleibt Text.',
      threads_need_https: 'Es gibt einen Thread, weil die Seite ohne https kommt.',
      threads_need_isolation:
        'Es gibt einen Thread, weil die Seite nicht von anderen Ursprüngen isoliert ist.',
      threads_need_shared_memory:
        'Es gibt einen Thread, weil dieser Browser keinen Speicher hat, den Threads teilen könnten.',
      threads_need_flavour:
        'Es gibt einen Thread, weil diese Bauart der Recheneinheit nicht mehr hat.',
      weights_reread:
        'Das Modell braucht {neededBytes} Speicher und bekommt {availableBytes} ({limit}): {rereadBytes} seiner Gewichte ' +
        'werden für jedes Wort und für jeden Teil einer langen Frage neu gelesen.',
      model_not_kept: 'Das Modell wird auf diesem Gerät nicht behalten. Der Grund: {reason}.',
      state_not_kept:
        'Der Zustand dieser Unterhaltung wird auf diesem Gerät nicht behalten. Der Grund: {reason}. Nach einem Neuladen ' +
        'wird er neu berechnet.',
      sha256_unknown:
        'Die Liste der Dateien an seiner Adresse war nicht zu lesen. Darum ist nicht bekannt, ob das Modell unverändert ankam.',
    },
    reasons: {
      insecure: 'Die Adresse der Seite hat kein https',
      unsupported: 'Dieser Browser behält keine Dateien für Seiten',
      refused:
        'Der Browser verweigert es, wie in privaten Fenstern oder wo das Speichern gesperrt ist',
      storage_full: 'Es ist kein Platz',
      in_use: 'Ein anderer Tab benutzt ihn',
      newer: 'Eine neuere Fassung dieser Seite behält es',
      size: 'Sein Server nannte eine falsche Größe',
      out_of_memory: 'Eine Antwort brauchte den Speicher dafür',
      unreadable: 'Die Datei lässt sich nicht öffnen',
    },
    limits: {
      given: 'wie unter Einstellungen, Speicher gesetzt',
      browser: 'das meiste, was dieser Browser einer Seite gibt',
      device:
        'die Hälfte des Speichers dieses Geräts; eine andere Grenze lässt sich unter Einstellungen, Speicher setzen',
    },
  },

  another: {
    choose: 'Eine Modelldatei wählen',
    orDrop: 'oder irgendwo auf der Seite ablegen',
    address: 'Adresse',
    addressHint: 'Einer Modelldatei, oder einer Seite, die welche hat.',
    placeholder: 'https://… oder Konto/Modell',
    load: 'Herunterladen',
    list: 'Dateien zeigen',
    wrong: {
      empty: 'Füge die Adresse einer Modelldatei ein, oder einer Seite, die welche hat.',
      too_long: 'Das ist zu lang für eine Adresse.',
      characters: 'Darin sind Zeichen, die keine Adresse hat. Kopiere sie noch einmal.',
      scheme: 'Nur Adressen, die mit https:// oder http:// beginnen, lassen sich abrufen.',
      credentials: 'Lass Benutzername und Passwort weg: Sie gehören nicht in eine Adresse.',
      no_model:
        'Auf dieser Seite geht es um kein Modell. Öffne die Seite des Modells, und kopiere deren Adresse.',
      no_address:
        'Das ist keine Adresse. Tippe Konto/Modell, wie es auf der Seite eines Modells steht, oder füge einen Link zu seiner Datei ein.',
    },
    asking: (host) => `${host} wird gefragt, was es gibt …`,
    found: 'Was gefunden wurde',
    files: (name) => `Modelle von ${name}`,
    none: 'Hier ist kein Modell, das diese Seite öffnen kann',
    noneAdvice:
      'Sie öffnet Dateien, deren Name auf .gguf endet. Dasselbe Modell hat sie oft auf einer eigenen Seite.',
    lookAt: (name) => `${name} ansehen`,
    search: (host, text) => `Auf ${host} nach „${text}“ suchen`,
    recommended: 'Empfohlen für dieses Gerät',
    parts: (parts) => `in ${parts} Dateien`,
    account: (host) => `Dieses Modell gibt es bei ${host} nicht, oder es braucht dort ein Konto`,
    missing: (host) => `Dieses Modell gibt es bei ${host} nicht`,
    spelling: 'Prüfe die Schreibweise:',
    accountAdvice:
      'Stimmt sie, öffne seine Seite, melde dich an, nimm die Bedingungen an und lade die Datei dort herunter. Dann wähle die Datei hier.',
  },

  copy: {
    keep: (size) => `Eine Kopie in diesem Browser behalten (${size})`,
    why: 'Mit einer Kopie in diesem Browser öffnet sie sich bei deinem nächsten Besuch von selbst.',
    noRoom: (size, room) =>
      `Eine Kopie braucht ${size}, und dieser Browser hat noch Platz für ${room}.`,
    copying: (amount) => `Kopiert: ${amount}`,
    cancel: 'Abbrechen',
    here: 'Eine Kopie davon bleibt in diesem Browser.',
    kept: (name) => `Eine Kopie von ${name} bleibt hier`,
    full: 'Dieser Browser hat keinen Platz mehr für eine Kopie. Entferne ein behaltenes Modell, und versuche es noch einmal.',
    failed: 'Die Kopie gelang nicht. Ist die Datei noch da?',
    isCopy: 'Kopie einer Datei von dir',
  },

  kept: {
    title: 'Auf diesem Gerät',
    total: (amount) => `${amount} werden behalten.`,
    room: (amount) => `Platz ist noch für ${amount}.`,
    none: 'Modelle von einer Adresse werden hier behalten, damit sie nur einmal kommen und ohne Netz laufen.',
    never: 'Dieser Browser lässt die Seite keine Modelle behalten.',
    remove: 'Entfernen',
    removeAll: 'Alle entfernen',
    removeAllQuestion: 'Alle entfernen, außer denen, die in Gebrauch sind oder immer bleiben?',
    removeQuestion: (name) => `${name} entfernen?`,
    removePinned: (name) => `${name} soll immer bleiben. Trotzdem entfernen?`,
    keepThem: 'Behalten',
    open: 'Öffnen',
    goOn: 'Weiter',
    goOnWith: (name) => `Weiter mit ${name}`,
    pin: 'Immer behalten',
    unpin: 'Nicht immer behalten',
    pinHint: 'Wird Platz gebraucht, gehen erst andere Modelle',
    what: (verb, name) => `${verb}: ${name}`,
    packed: (amount) => `${amount} gepackt für schnelleres Lesen`,
    parts: (amount, parts) => `${amount} in ${parts} Teilen`,
    inUse: 'in Gebrauch',
    coming: 'unterwegs',
    used: (when) => `benutzt ${when}`,
    pinned: 'bleibt immer',
    verified: 'geprüft',
    newer: 'von einer neueren Fassung dieser Seite behalten, die diese nicht lesen kann',
  },

  back: {
    removed: (name) => `${name} ist nicht mehr auf diesem Gerät.`,
    file: (name) => `Zuletzt hast du ${name} benutzt, eine Datei auf diesem Gerät.`,
    unknown: (name, file) =>
      `Zuletzt hast du ${name} benutzt, die Datei ${file} auf diesem Gerät. Dieser Browser findet sie nicht von selbst wieder.`,
    refused: (name) => `Der Browser lässt diese Seite ${name} nicht lesen.`,
    gone: (name) => `${name} wurde verschoben oder gelöscht.`,
    changed: (name, file) =>
      `${file} hat sich geändert, seit du sie zuletzt als ${name} benutzt hast.`,
    other: (name, file) =>
      `${file} ist nicht die Datei, die du als ${name} benutzt hast, oder sie hat sich seitdem geändert.`,
    again: (host) => `Wieder herunterladen von ${host}`,
    open: (name) => `${name} wieder öffnen`,
    find: (file) => `${file} wieder auswählen`,
    use: (file) => `${file} benutzen, wie sie jetzt ist`,
    own: 'Das Modell dieser Seite benutzen',
  },

  layers: {
    title: 'Schichten',
    count: layersOf,
    embedding: 'Einbettung',
    head: 'Kopf',
    headIn: (parts) => `Kopf in ${parts} Teilen`,
    table: 'Rest der Einbettung',
    whole: (n) => `Das ganze Modell ist im Speicher: ${layersOf(n)}.`,
    onTheirWay: (n) =>
      plural(n, {
        one: 'Die Schicht des Modells ist unterwegs.',
        other: `Die ${layersOf(n)} des Modells sind unterwegs.`,
      }),
    quarters: (quarters, n) =>
      `${['', 'Ein Viertel', 'Die Hälfte', 'Drei Viertel'][quarters] ?? ''} der ${layersOf(n)} des Modells ${quarters === 3 ? 'sind' : 'ist'} im Speicher; der Rest ist unterwegs.`,
    stay: (stay, n, settled) => {
      const whose = `${stay === 0 ? 'Keine' : stay === 1 ? 'Eine' : stay} der ${layersOf(n)} des Modells`;
      if (settled) return `${whose} ${stay > 1 ? 'bleiben' : 'bleibt'} im Speicher.`;
      if (stay === 0) return `${whose} wird im Speicher bleiben.`;
      return `${whose} ${plural(stay, { one: 'wird im Speicher bleiben und ist', other: 'werden im Speicher bleiben und sind' })} unterwegs.`;
    },
    turns: (layers, parts, amount) => {
      const what =
        layers > 0
          ? layersOf(layers)
          : `${parts} ${plural(parts, { one: 'Teil', other: 'Teile' })}`;
      const one = (layers > 0 ? layers : parts) === 1;
      return `${what} ${one ? 'kommt und geht' : 'wechseln sich ab'}: ${amount} werden für jedes Token neu gelesen.`;
    },
    stillComing: 'Der Rest des Modells wird noch heruntergeladen.',
    kinds: {
      layer: 'Schicht',
      embedding: 'Einbettung',
      head: 'Kopf',
      table: 'Rest der Einbettung',
    },
    partOf: (name, part, parts) => `${name}, Teil ${part} von ${parts}`,
    states: {
      absent: 'noch nicht hier',
      arriving: 'kommt an',
      resident: 'im Speicher',
      computing: 'rechnet gerade',
    },
    notNow: 'gerade nicht hier',
    again: 'für jedes Token neu gelesen',
    legend: {
      absent: 'Kommt noch',
      arriving: 'Kommt an',
      resident: 'Im Speicher',
      again: 'Neu gelesen',
      computing: 'Rechnet',
    },
    network: 'Netz',
    device: 'Dieses Gerät',
    ready: 'Schichten hier',
    readAgain: 'Neu gelesen',
    waited: 'Gewartet',
    limit: 'Grenze',
  },

  history: {
    problems: problemsWords,
    markdown: markdownWords,
    exportMarkdown: 'Als Markdown sichern',
    exportJson: 'Als JSON sichern',
    allFile: 'Sluice-Gespräche',
    readOnly: 'Dieses Gespräch wird in einem anderen Tab geschrieben.',
    takeOver: 'Hier schreiben',
  },

  transfer: {
    refused: (code, place, params) =>
      `${transferWords[code](place, params)} Es wurde nichts importiert.`,
    imported: (n) =>
      plural(n, { one: '1 Gespräch wurde importiert', other: `${n} Gespräche wurden importiert` }),
  },

  writing: {
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
    xray: 'Röntgenblick',
    xrayHint: 'Woraus jedes Wort gewählt wurde',
    empty: 'Hier erscheint, was das Modell schreibt, Wort für Wort.',
    openings: 'Oder beginne mit einem von diesen:',
    beginnings: [
      'Der Brief lag schon drei Tage auf dem Küchentisch, als',
      'Wie ein Fluss den Weg zum Meer findet: Er beginnt',
      'Liebe Leserin in hundert Jahren,',
    ],
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
    linkWithoutModel: (name) =>
      `Im Link fehlt das Modell: ${name} ist eine Datei auf diesem Gerät.`,
    linkWithoutPrompt: 'Dieser Text ist zu lang für einen Link.',
    finds: (name) => `${name} schreibt nichts: Es findet Stellen in Dateien.`,
    findWith: 'Zu Finden',
    pager: 'Texte dieses Besuchs',
    place: (n, all) => `${n} von ${all}`,
    previous: 'Früherer Text',
    next: 'Späterer Text',
    writing: 'Schreibt',
    done: (amount) => `Fertig: ${amount}`,
    stopped: (amount) => `Angehalten: ${amount}`,
  },

  masks: {
    text: 'Text mit Lücken',
    insert: (mask) => `${mask} einfügen`,
    fill: 'Wörter suchen',
    back: 'Das letzte Wort zurücknehmen',
    heading: 'Wörter',
    empty: (mask) =>
      `Schreibe einen Text mit ${mask} an der Stelle eines Worts: Hier erscheinen die Wörter zur Auswahl, die am besten passen.`,
    examples: [
      'Paris ist die [MASK] von Frankreich.',
      'Nach dem Regen roch der [MASK] nach [MASK].',
      'Sie öffnete den Brief und begann zu [MASK].',
    ],
    press: 'Drücke „Wörter suchen“.',
    looking: 'Sucht nach Wörtern',
    done: 'Alle Lücken sind gefüllt.',
    one: 'Wort',
    numbered: (n) => `Wort ${n}`,
    wordsForOne: 'Wähle ein Wort',
    wordsFor: (n) => `Wähle Wort ${n}`,
    found: (words) => `Am wahrscheinlichsten: ${words}`,
    put: (word) => `${word} steht im Text`,
  },

  find: {
    heading: 'In deinen Dateien finden',
    about:
      'Gib Textdateien dazu und frage in eigenen Worten: Es erscheinen die Stellen, die am besten passen, auch wenn sie andere Wörter benutzen. Die Dateien werden auf diesem Gerät gelesen und bleiben hier.',
    question: 'Was suchst du?',
    find: 'Finden',
    found: (n, question) =>
      n === 0
        ? `Nichts gefunden zu „${question}“`
        : `${passages(n)} zu „${question}“, die beste zuerst`,
    line: (n) => `Zeile ${count(n)}`,
    source: (name, line) => `${name}, Zeile ${line}`,
    all: 'Ganz zeigen',
    less: 'Weniger zeigen',
    attach: 'Ans Gespräch hängen',
    attached: 'Angehängt',
    attachedTo: (n) =>
      plural(n, {
        one: 'Eine Stelle hängt an der Nachricht, die du als nächste schreibst.',
        other: `${passages(n)} hängen an der Nachricht, die du als nächste schreibst.`,
      }),
    toTalk: 'Zum Gespräch',
    copy: 'Die Stelle kopieren',
    partOnly: 'Einige Dateien sind noch nicht zu Ende gelesen: Später findet sich vielleicht mehr.',
    files: 'Dateien',
    choose: 'Dateien dazugeben',
    folder: 'Einen Ordner dazugeben',
    drop: 'Oder lege sie hier ab. Reine Texte jeder Art, je bis 10 MB: .txt, .md, .csv, .html, Quelltext.',
    facts: (n, size) =>
      size > 0 ? `${passages(n)} · ${bytes(size)}` : `${passages(n)} · nicht gesichert`,
    part: (done, n) => `${count(done)} von ${passages(n)} gelesen`,
    others: (name) =>
      `Von einem anderen Modell gelesen, ${name}. Lies sie neu, um jetzt darin zu finden.`,
    readAgain: 'Neu lesen',
    readAgainName: (name) => `${name} neu lesen`,
    damaged: 'Eine Datei, die hier lag, ist beschädigt. Sie lässt sich nur entfernen.',
    newer: 'Diese Datei gehört einer neueren Version dieser Seite.',
    damagedName: 'Beschädigte Datei',
    remove: 'Entfernen',
    removeName: (name) => `${name} entfernen`,
    removeQuestion: (name) => `${name} hier entfernen? Deine eigene Datei bleibt, wo sie ist.`,
    keepIt: 'Behalten',
    removed: (name) => `${name} ist entfernt`,
    reading: 'Liest die Dateien',
    progress: (done, total) => `${count(done)} von ${passages(total)}`,
    stop: 'Anhalten',
    goOn: 'Weiterlesen',
    toRead: (n) =>
      plural(n, {
        one: '1 Datei ist nicht zu Ende gelesen.',
        other: `${n} Dateien sind nicht zu Ende gelesen.`,
      }),
    stopped: 'Angehalten. In dem, was gelesen ist, lässt sich suchen.',
    allRead: 'Alle Dateien sind gelesen',
    elsewhere: 'Gerade liest ein anderer Tab Dateien. Danach geht es hier weiter.',
    full: 'Auf diesem Gerät ist kein Platz mehr, um das Gelesene zu behalten. Suchen lässt sich darin, bis du die Seite schließt. Entferne hier Dateien, oder Modelle, und mache weiter.',
    failed:
      'Der Browser lässt diese Seite die Dateien nicht behalten. Suchen lässt sich darin, bis du sie schließt.',
    never: 'In diesem Browser bleiben die Dateien hier, bis du die Seite schließt.',
    removeModels: 'Modelle auf diesem Gerät',
    again: 'Noch einmal sichern',
    needs: (name) =>
      `${name} schreibt Texte. Öffne zum Finden von Stellen ein Modell, das Texte vergleicht.`,
    needsFills: (name) =>
      `${name} setzt verdeckte Wörter ein. Öffne zum Finden von Stellen ein Modell, das Texte vergleicht.`,
    noModel: 'Öffne zum Finden von Stellen ein Modell, das Texte vergleicht.',
    openModel: 'Ein Modell wählen',
    held: 'Das Modell ist gerade anderswo auf dieser Seite beschäftigt',
    notRead: (n) =>
      plural(n, { one: '1 Datei kam nicht dazu:', other: `${n} Dateien kamen nicht dazu:` }),
    andMore: (n) => `und ${count(n)} weitere`,
    why: {
      long: 'länger als 10 MB. Teile sie auf.',
      lost: 'ließ sich nicht lesen. Gibt es die Datei noch?',
      empty: 'es steht kein Text darin.',
      pdf: 'ein PDF. So etwas kann Sluice noch nicht lesen.',
      picture: 'ein Bild.',
      office: 'ein Office-Dokument. Sichere es erst als Text.',
      archive: 'ein Archiv. Packe es erst aus.',
      sound: 'eine Tonaufnahme.',
      film: 'ein Film.',
      model: 'ein Modell. Drücke auf den Namen des jetzigen Modells, um es zu öffnen.',
      weights: 'ein Modell und kein Text.',
      other: 'keine Textdatei.',
    },
    kept: 'Dateien in Finden',
    keptFacts: (n, size) =>
      `${plural(n, { one: '1 Datei', other: `${count(n)} Dateien` })} · ${bytes(size)}`,
    removeAllQuestion:
      'Alle Dateien in Finden hier entfernen? Deine eigenen Dateien bleiben, wo sie sind.',
  },

  insideMaps: {
    keep: 'Behalten und teilen',
    open: 'Eine Aufzeichnung öffnen',
    openHint:
      'Eine Datei, die hier gespeichert wurde, oder eine von „sluice run --trace“. Du kannst sie auch auf die Seite ziehen.',
    by: (model) => `Geschrieben mit ${model || 'einem Modell ohne Namen'}.`,
    without:
      'Das Modell dazu ist nicht geladen: Du siehst, woraus jedes Token gewählt wurde, ohne die Filter. Lade das Modell, um alles zu sehen.',
    noTokens: 'In dieser Aufzeichnung ist kein Token.',
    prompt: 'Anfang',
    opening: 'Die Datei wird gelesen.',
    refused: (code, line, field) => traceFileWords[code](line, field),
    cut: 'Der Lauf, der diese Datei schrieb, wurde beendet: Ihre letzte Zeile ist unvollständig und wurde weggelassen.',
    save: 'Aufzeichnung speichern',
    saved: 'Die Aufzeichnung wurde gespeichert',
    saveHint:
      'Alle Token und woraus sie gewählt wurden, als JSON-Zeilen: für „sluice replay“ und für diese Seite.',
    picture: 'Als Bild speichern',
    pictureSaved: 'Das Bild wurde gespeichert',
    noPicture: 'Dieser Browser kann kein Bild davon machen.',
    copyTable: 'Als Tabelle kopieren',
    unkept:
      'Auf diesem Gerät ist kein Platz, um das mit dem Text zu behalten: Beim nächsten Besuch wird es neu berechnet.',
    fileOf: (token) => `Token ${token}`,
    columns: [
      'Token',
      'Nummer',
      'Wahrscheinlichkeit',
      'Nach Abzügen',
      'Beim Ziehen',
      'Ausgelassen von',
      'Genommen',
    ],
    taken: 'genommen',

    layers: 'Schichten',
    layer: (n) => `Schicht ${n}`,
    notNow: 'Nicht, solange das Modell schreibt.',
    stop: 'Anhalten',
    failed: 'Das ließ sich nicht berechnen.',

    lens: {
      title: 'Was jede Schicht gesagt hätte',
      about:
        'Ein Modell liest einen Text in Schichten. Die Karte zeigt für jedes Token, was gekommen wäre, wenn das Modell nach dieser Schicht geendet hätte.',
      compute: 'Karte berechnen',
      computeHere: 'Um dieses Token berechnen',
      progress: 'Wie weit die Karte berechnet ist',
      of: (from, to) => `Token ${from} bis ${to}`,
      colour: 'Farbe',
      colours: {
        probability: 'Wie sicher die Schicht ist',
        divergence: 'Wie weit sie vom Ende weg ist',
      },
      hint: 'Die Pfeiltasten führen durch die Karte.',
      corner: 'Schicht',
      cell: (token, p) => `${token}, ${p}`,
      column: (place, token) => `${place}, ${token}`,
      at: (layer, token) => `${layer}, vor ${token}`,
      entropy: 'Entropie',
      divergence: 'Abstand zur letzten Schicht',
    },

    arcs: {
      title: 'Worauf das Modell geachtet hat',
      about:
        'Aufmerksamkeit: wie viel jeder Kopf einer Schicht von den Token davor nahm, um dieses zu wählen. Je breiter der Bogen, desto mehr.',
      compute: 'Aufmerksamkeit berechnen',
      computeHere: 'Für dieses Token berechnen',
      layer: 'Schicht',
      head: 'Kopf',
      mean: 'Mittel aller Köpfe',
      headOf: (n) => `Kopf ${n}`,
      hint: 'Die Pfeiltasten führen die Wörter entlang, auf und ab durch die Schichten.',
      earlier: (n, tokens) =>
        plural(n, { one: '1 Token vor diesen', other: `${tokens} Token vor diesen` }),
      chosen: (token) => `Dann kam ${token}.`,
      told: (place, token, p) => `${place}: ${token}, ${p}`,
      table: (layer, head) => `Die am meisten beachteten Token: ${layer}, ${head}`,
      token: 'Token',
      weight: 'Aufmerksamkeit',
      some: (n, layers) =>
        plural(n, {
          one: `Schicht ${layers} hat keine Aufmerksamkeit: Sie merkt sich das Gelesene in einem eigenen Zustand.`,
          other: `Die Schichten ${layers} haben keine Aufmerksamkeit: Sie merken sich das Gelesene in einem eigenen Zustand.`,
        }),
      none: 'Die Schichten dieses Modells haben keine Aufmerksamkeit: Sie merken sich das Gelesene in einem eigenen Zustand.',
    },
  },

  markdown: {
    copy: 'Kopieren',
    copied: 'Kopiert',
    selected: 'Markiert',
    code: 'Code',
    codeIn: (language: string) => `Code, ${language}`,
    copyCode: (language: string) =>
      language === '' ? 'Den Code kopieren' : `Den Code kopieren, ${language}`,
    table: 'Tabelle',
    formula: 'Formel',
    image: 'Bild:',
    done: 'Erledigt',
    open: 'Offen',
    newTab: (host: string) => `${host} (in einem neuen Tab)`,
    codeLines: (n: number) => plural(n, { one: 'Code, 1 Zeile', other: `Code, ${n} Zeilen` }),
  },

  xray: {
    title: 'Röntgenblick',
    close: 'Röntgenblick schließen',
    intro:
      'Ein Sprachmodell bewertet jedes Token, das es kennt, und aus den besten wird das nächste gezogen. Geh den Text Schritt für Schritt durch und sieh, woraus jedes Token gezogen wurde; dann probiere, was eine andere Temperatur oder ein anderes Token daraus gemacht hätte.',
    introDone: 'Verstanden',
    nothing: {
      text: 'Schreib einen Text: Hier steht dann, woraus jedes seiner Token gewählt wird.',
      model: 'Es ist kein Modell geladen: Nötig ist das, das den Text geschrieben hat.',
      tokens:
        'Es ist nicht bekannt, aus welchen Token dieser Text besteht. Lass ihn noch einmal schreiben, um sie zu sehen.',
      waiting: 'Das erste Token ist unterwegs.',
    },
    other: (by) =>
      `${by ?? 'Ein anderes Modell'} hat diesen Text geschrieben. Es ist nicht das geladene Modell, und nur das Modell, das einen Text geschrieben hat, weiß, woraus es gewählt hat.`,
    computing: (done, total) =>
      `Beim Schreiben hat niemand zugesehen: Es wird jetzt berechnet. ${done} von ${total} Token`,
    progress: 'Wie weit es berechnet ist',
    stop: 'Anhalten',
    missing: 'Als dieses Token geschrieben wurde, hat niemand zugesehen.',
    firstOfAll: 'Vor diesem Token steht nichts: Es wurde aus nichts gewählt.',
    compute: 'Jetzt berechnen',
    failed: 'Es ließ sich nicht berechnen.',
    unsure:
      'Es ist nicht genau bekannt, was beim Schreiben vor dieser Antwort stand: Nachträglich lässt es sich nicht berechnen.',
    retold:
      'Die Token dieser Antwort hat niemand aufgehoben: Diese hier macht das Modell jetzt aus ihrem Text, mit den jetzigen Einstellungen.',
    yours: 'Dieses Token hast du an der Stelle eines anderen gewählt.',
    line: 'Im Verlauf des Textes',
    surprise: 'Überraschung',
    entropy: 'Entropie',
    shadeBy: 'Tönung',
    shades: { surprise: 'Überraschung', entropy: 'Entropie', none: 'Keine' },
    bits: (n) => `${n} Bit`,
    tokenOf: (token, all) => `Token ${token} von ${all}`,
    told: (place, token, surprise) => `${place}: ${token}, Überraschung ${surprise}`,
    player: 'Schritte',
    begin: 'Zum ersten Token',
    back: 'Voriges Token',
    play: 'Abspielen',
    pause: 'Pause',
    next: 'Nächstes Token',
    end: 'Zum letzten Token',
    speed: 'Geschwindigkeit',
    perSecond: (n) => `${n}/s`,
    probability: 'Wahrscheinlichkeit',
    nucleus: 'Auswahl',
    nucleusOf: (n, all, mass) =>
      plural(n, { one: `1 Token, ${mass}`, other: `${all} Token, ${mass}` }),
    place: 'Zufallszahl',
    surpriseHint: 'Überraschung: wie unwahrscheinlich das Token war. Ein Bit ist ein Münzwurf.',
    entropyHint:
      'Entropie: wie unentschieden das Modell war. Drei Bit sind acht Token mit derselben Aussicht.',
    filters: 'Filter, einer nach dem anderen',
    step: {
      penalties: 'Abzüge',
      topNSigma: 'Top-n-Sigma',
      topK: 'Top-k',
      typicalP: 'Typical-p',
      topP: 'Top-p',
      minP: 'Min-p',
      xtc: 'XTC',
      temperature: 'Temperatur',
    },
    left: (n, mass) => `${n} bleiben, ${mass}`,
    candidates: (token) => `Kandidaten für Token ${token}`,
    columns: {
      token: 'Token',
      before: 'Modell',
      after: 'Ziehung',
      cut: 'Ausgelassen von',
    },
    taken: 'genommen',
    would: 'würde genommen',
    changed: 'Abzüge',
    more: 'Mehr Kandidaten',
    fewer: 'Weniger Kandidaten',
    writeOn: (token) => `Mit ${token} weiterschreiben`,
    writeOnHint:
      'Drück ein Token, um an dieser Stelle mit ihm weiterzuschreiben, als einen anderen Text.',
    space: 'Leerzeichen',
    whatIf: 'Was wäre, wenn',
    whatIfHint:
      'Die Balken sind die, die ein Lauf mit diesen Einstellungen bei diesem Token gehabt hätte.',
    samplers: { temperature: 'Temperatur', topK: 'Top-k', topP: 'Top-p', minP: 'Min-p' },
    off: 'aus',
    asWritten: 'Wie geschrieben',
    anew: 'Für diese Einstellungen reicht nicht, was aufgehoben ist: Dieses Token wurde neu berechnet.',
    branches: 'Zweige',
    parent: (token) => `Der Text, von dem dieser kommt, vor ${token}`,
    child: (token) => `Ein anderer Text, ab ${token}`,
  },
};
