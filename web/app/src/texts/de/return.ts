// The German of ../en/return.ts.
import type { back as english } from '../en/return';

export const back: typeof english = {
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
};
