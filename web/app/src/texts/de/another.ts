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
    no_address:
      'Das ist keine Adresse. Tippe Konto/Modell, wie es auf der Seite eines Modells steht, oder füge einen Link zu seiner Datei ein.',
  },
  asking: (host) => `${host} wird gefragt, was es gibt …`,
  found: 'Was gefunden wurde',
  files: (name) => `Modelle von ${name}`,
  none: 'Hier ist kein Modell, das diese Seite öffnen kann',
  noneAdvice:
    'Sie öffnet Dateien, deren Name auf .gguf endet. Dasselbe Modell hat sie oft auf einer eigenen Seite.',
  lookAt: (name) => `${name} ansehen`,
  search: (host, text) => `Auf ${host} nach „${text}“ suchen`,
  recommended: 'Empfohlen für dieses Gerät',
  parts: (parts) => `in ${parts} Dateien`,
  account: (host) => `Dieses Modell gibt es bei ${host} nicht, oder es braucht dort ein Konto`,
  missing: (host) => `Dieses Modell gibt es bei ${host} nicht`,
  spelling: 'Prüfe die Schreibweise:',
  accountAdvice:
    'Stimmt sie, öffne seine Seite, melde dich an, nimm die Bedingungen an und lade die Datei dort herunter. Dann wähle die Datei hier.',
};
