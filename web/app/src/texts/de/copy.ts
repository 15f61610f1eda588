// The German of ../en/copy.ts.
import type { copy as english } from '../en/copy';

export const copy: typeof english = {
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
};
