// The German of ../en/find.ts.
import { bytes, count } from '../../format';
import type { find as english } from '../en/find';

const passages = (n: number): string => (n === 1 ? '1 Stelle' : `${count(n)} Stellen`);

export const find: typeof english = {
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
    n === 1
      ? 'Eine Stelle hängt an der Nachricht, die du als nächste schreibst.'
      : `${passages(n)} hängen an der Nachricht, die du als nächste schreibst.`,
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
    n === 1 ? '1 Datei ist nicht zu Ende gelesen.' : `${n} Dateien sind nicht zu Ende gelesen.`,
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

  notRead: (n) => (n === 1 ? '1 Datei kam nicht dazu:' : `${n} Dateien kamen nicht dazu:`),
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
    model: 'ein Modell. Drücke oben auf den Namen des Modells, um es zu öffnen.',
    weights: 'ein Modell und kein Text.',
    other: 'keine Textdatei.',
  },

  kept: 'Dateien in Finden',
  keptFacts: (n, size) => `${n === 1 ? '1 Datei' : `${count(n)} Dateien`} · ${bytes(size)}`,
  removeAllQuestion:
    'Alle Dateien in Finden hier entfernen? Deine eigenen Dateien bleiben, wo sie sind.',
};
