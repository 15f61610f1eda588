// What the page says about code, tables and pictures in a message.
const en = {
  copy: 'Copy',
  copied: 'Copied',
  /** When the clipboard can't be written. */
  selected: 'Selected',
  code: 'Code',
  codeIn: (language: string) => `Code, ${language}`,
  copyCode: (language: string) =>
    language === '' ? 'Copy the code' : `Copy the code, ${language}`,
  table: 'Table',
  formula: 'Formula',
  image: 'Image:',
  done: 'Done',
  open: 'Not done',
  newTab: (host: string) => `${host} (opens in a new tab)`,
  codeLines: (n: number) => (n === 1 ? 'code, 1 line' : `code, ${n} lines`),
};

const de: typeof en = {
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
  codeLines: (n: number) => (n === 1 ? 'Code, 1 Zeile' : `Code, ${n} Zeilen`),
};

export type MarkdownTexts = typeof en;
export const markdown = { en, de };
