// The German of ../en/page.ts.
import type { page as english } from '../en/page';

export const page: typeof english = {
  close: 'Schließen',
  copied: 'Kopiert',
  notCopied: 'Der Browser lässt diese Seite nicht kopieren',
  tagline: 'Eine Chat-KI auf deinem eigenen Gerät',
  title: 'Sluice: eine Chat-KI auf deinem eigenen Gerät',
  views: 'Ansicht',
  talk: 'Sprechen',
  write: 'Schreiben',
  find: 'Finden',
  settings: 'Einstellungen',
  conversations: 'Gespräche',
  newConversation: 'Neues Gespräch',
  untitled: 'Neues Gespräch',
  found: (n) =>
    n === 0 ? 'Nichts gefunden' : n === 1 ? '1 Gespräch gefunden' : `${n} Gespräche gefunden`,
  removed: (title) => `${title} ist gelöscht`,
  exportMarkdown: 'Als Markdown sichern',
  exportJson: 'Als JSON sichern',
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
};
