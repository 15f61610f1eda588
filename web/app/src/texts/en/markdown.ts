// What the page says about code, tables and pictures in a message.
import { plural } from './plural';

export const markdown = {
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
  codeLines: (n: number) => plural(n, { one: 'code, 1 line', other: `code, ${n} lines` }),
};
