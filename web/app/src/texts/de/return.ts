// The German of ../en/return.ts.
import type { back as english } from '../en/return';

export const back: typeof english = {
  removed: (name) => `${name} ist nicht mehr auf diesem Gerät.`,
  file: (name) => `Zuletzt hast du ${name} benutzt, eine Datei auf diesem Gerät.`,
  refused: (name) => `Der Browser lässt diese Seite ${name} nicht lesen.`,
  gone: (name) => `${name} wurde verschoben oder gelöscht.`,
  again: (host) => `Wieder holen von ${host}`,
  open: (name) => `${name} wieder öffnen`,
  own: 'Das Modell dieser Seite benutzen',
};
