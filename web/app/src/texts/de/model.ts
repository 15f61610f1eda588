// The German of ../en/model.ts.
import { errors } from './errors';
import type { model as english } from '../en/model';

export const model: typeof english = {
  errors: errors,

  chip: {
    label: 'Modell',
    none: 'Modell wählen',
    inUse: (name) => `Modell: ${name}`,
    coming: (name) => `${name} ist unterwegs`,
    paused: (name) => `${name} ist angehalten`,
  },

  /** The models on offer. */
  shelf: {
    heading: 'Modelle zur Auswahl',
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
    more: 'Weitere Modelle',
    inUse: 'In Benutzung',
    token: 'Das Tempo zählt in Token: eines ist etwa drei Viertel eines Worts.',
  },
  sheet: {
    title: 'Modell',
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
  },

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

  speed: {
    about: (rate) => `etwa ${rate}`,
    between: (least, most) => `${least} bis ${most}`,
    reread: (rate) => `${rate}, für jedes Wort von diesem Gerät gelesen`,
    slow: 'langsam: wird für jedes Wort von diesem Gerät gelesen',
    slowShort: 'langsam',
    fits: 'passt',
    fitsPartly: 'passt nicht ganz',
  },

  another: {
    nameless: 'Ein Modell ohne Namen',
    download: (amount) => `Herunterladen (${amount})`,
  },

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

  said: {
    cancelled: 'Das Laden wurde abgebrochen',
    paused: 'Angehalten',
    loading: (name) => `Lädt ${name}`,
    rest: (name) => `${name} kann benutzt werden; der Rest wird noch heruntergeladen`,
    ready: (name) => `${name} ist bereit`,
    removed: (name) => `${name} wurde entfernt`,
    free: (amount) => `${amount} sind wieder frei`,
    pinned: (name) => `${name} bleibt immer`,
    unpinned: (name) => `${name} bleibt, solange Platz ist`,
  },

  kept: {
    keepIt: 'Behalten',
    busyComing: 'Es wird gerade hier heruntergeladen. Halte das erst an, oder brich es ab.',
    busyUsed:
      'Es ist hier oder in einem anderen Tab in Gebrauch. Öffne erst ein anderes Modell, oder schließe den Tab.',
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
    close: 'Schließen',
    tryAgain: 'Noch einmal versuchen',
    chooseFile: 'Eine andere Datei wählen',
    openFile: 'Eine Modelldatei wählen',
    theFile: 'Die Datei wählen',
    openPage: 'Seine Seite öffnen',
    download: 'Mit dem Browser herunterladen',
    search: (host) => `Auf ${host} suchen`,
    onDevice: 'Modelle auf diesem Gerät',
    others: 'Andere Modelle',
    address: 'Die Adresse ändern',
    offline: 'Du bist offline',
    withoutLimit: 'Ohne die Grenze laden',
    withoutKeeping: 'Laden, ohne es zu behalten',
    removeModels: 'Modelle entfernen',
    alsoFailed: (name) => `Auch ${name} konnte nicht geladen werden.`,
    technical: 'Technische Einzelheiten',
    ignored: 'Teile dieses Links wurden ausgelassen',
  },
};
