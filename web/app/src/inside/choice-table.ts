// What a token was chosen from as a table: for a spreadsheet (tabs between cells) and for a document (HTML).
import type { Choice } from '@sluice/engine';
import { exact } from '../texts/format';
import { insideMapsTexts } from './maps-texts';
import { xrayTexts } from './texts';

/** Places after the sign of a probability. */
const PLACES = 6;

/** The text of a token between quotation marks, with its spaces: in a spreadsheet it is no formula. */
function quoted(piece: string): string {
  const shown = piece.replace(/[\n\t]/g, (one) => (one === '\n' ? '↵' : '⇥'));
  return `“${shown.replace(/(?![\u200c\u200d])[\p{Cf}\p{Cc}\p{Cs}]/gu, '·')}”`;
}

/** '': it is not known. */
const share = (p: number): string => (Number.isNaN(p) ? '' : exact(Number(p.toFixed(PLACES))));

/** The step that left a candidate out; '': none did. */
function nameOf({ steps }: Choice, cut: number | null): string {
  const step = cut === null ? undefined : steps[cut]?.step;
  return step === undefined ? '' : xrayTexts.peek().step[step];
}

export type TableRows = readonly (readonly string[])[];

/** The rows, the first one names the columns. `pieceOf`: the text of a token. */
export function rowsOf(choice: Choice, pieceOf: (id: number) => string): TableRows {
  const { columns, taken } = insideMapsTexts.peek();
  const rows = choice.candidates.map(({ id, logprob, changed, cut, p }) => [
    quoted(pieceOf(id)),
    String(id),
    share(Math.exp(logprob)),
    share(Math.exp(changed)),
    share(p),
    nameOf(choice, cut),
    id === choice.taken ? taken : '',
  ]);
  return [columns, ...rows];
}

export function toTabs(rows: TableRows): string {
  return rows.map((row) => row.map((cell) => cell.replace(/[\t\n\r]/g, ' ')).join('\t')).join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one);
}

export function toHtml(rows: TableRows): string {
  const line = (row: readonly string[], tag: 'td' | 'th'): string =>
    `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`;
  const [head = [], ...body] = rows;
  return `<table><thead>${line(head, 'th')}</thead><tbody>${body.map((row) => line(row, 'td')).join('')}</tbody></table>`;
}
