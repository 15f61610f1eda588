// The German of ../en/another.ts.
import type { another as english } from '../en/another';

export const another: typeof english = {
  choose: 'Eine Modelldatei wählen',
  orDrop: 'oder irgendwo auf der Seite ablegen',
  address: 'Adresse',
  addressHint: 'Einer Modelldatei, oder einer Seite, die welche hat.',
  placeholder: 'https://… oder Konto/Modell',
  load: 'Herunterladen',
  list: 'Dateien zeigen',
  wrong: {
    empty: 'Füge die Adresse einer Modelldatei ein, oder einer Seite, die welche hat.',
    too_long: 'Das ist zu lang für eine Adresse.',
    characters: 'Darin sind Zeichen, die keine Adresse hat. Kopiere sie noch einmal.',
    scheme: 'Nur Adressen, die mit https:// oder http:// beginnen, lassen sich abrufen.',
    credentials: 'Lass Benutzername und Passwort weg: Sie gehören nicht in eine Adresse.',
    no_model:
      'Auf dieser Seite geht es um kein Modell. Öffne die Seite des Modells, und kopiere deren Adresse.',
    no_address: 'Gib die ganze Adresse einer Modelldatei an, oder einer Seite, die welche hat.',
  },
  asking: (host) => `${host} wird gefragt, was es gibt …`,
  found: 'Was gefunden wurde',
  files: (name) => `Modelle von ${name}`,
  none: 'Hier ist kein Modell, das diese Seite öffnen kann',
  noneAdvice: 'Nimm eine andere Seite, mit Dateien, die auf .gguf enden.',
  parts: (parts) => `in ${parts} Dateien`,
  account: (host) => `Dieses Modell braucht ein Konto bei ${host}, oder es ist nicht da`,
  accountAdvice:
    'Öffne seine Seite, melde dich an, nimm die Bedingungen an und lade die Datei dort herunter. Dann wähle die Datei hier.',
};
