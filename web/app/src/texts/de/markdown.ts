// The German of ../en/markdown.ts.
import type { markdown as english } from '../en/markdown';

export const markdown: typeof english = {
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
