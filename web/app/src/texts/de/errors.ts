// The German of ../en/errors.ts.
import type { Advice } from '../en/errors';

export const errors: Advice = {
  bad_file: {
    title: 'Diese Datei lässt sich nicht als Modell lesen',
    advice:
      'Wähle eine Datei, deren Name auf .gguf endet. Tut er das, ist sie beschädigt: Lade sie noch einmal herunter.',
  },
  unsupported_model: {
    title: 'Diese Art von Modell wird noch nicht unterstützt',
    advice: 'Nimm ein Modell einer verbreiteten Familie, wie Llama, Qwen3 oder Gemma 3.',
  },
  unsupported_type: {
    title: 'Diese Datei des Modells lässt sich hier noch nicht rechnen',
    advice: 'Nimm eine andere Datei desselben Modells: eine mit Q4_K_M, Q4_0 oder Q8_0 im Namen.',
  },
  out_of_memory: {
    title: 'Das Modell passt nicht in den Speicher dieses Browsers',
    advice: 'Schließe andere Tabs, oder nimm ein kleineres Modell.',
  },
  budget_too_small: {
    title: 'Das Modell braucht mehr Speicher, als es nehmen darf',
    advice: 'Erlaube ihm mehr unter Einstellungen, Speicher, oder nimm ein kleineres Modell.',
  },
  download_failed: {
    title: 'Das Modell konnte nicht heruntergeladen werden',
    advice: '',
    otherwise: 'Versuche es noch einmal, oder nimm ein anderes Modell.',
  },
  download_corrupt: {
    title: 'Angekommen ist nicht die Datei, die versprochen war',
    advice:
      'Nichts davon wurde behalten. Versuche es noch einmal; passiert es wieder, ist die Datei auf dem Server beschädigt.',
  },
  offline: {
    title: 'Vielleicht bist du offline',
    advice:
      'Verbinde dieses Gerät und versuche es noch einmal: Was angekommen ist, bleibt. Ohne Netz gehen deine Gespräche, die Modelle auf diesem Gerät und eine Modelldatei von dir.',
  },
  storage_full: {
    title: 'Auf diesem Gerät ist kein Platz, um das Modell zu behalten',
    advice:
      'Entferne Modelle, die du nicht brauchst, oder lade dieses, ohne es zu behalten: Dann muss es beim nächsten Besuch neu heruntergeladen werden.',
  },
  context_full: {
    title: 'Der Text ist länger, als das Modell lesen kann',
    advice: 'Kürze ihn, oder öffne ein Modell mit längerem Kontext.',
  },
  invalid_argument: {
    title: 'So lässt sich das nicht verwenden',
    advice: '',
    otherwise: 'Ändere, was du zuletzt eingegeben hast, oder setze die Einstellungen zurück.',
  },
  not_found: {
    title: 'Es ist nicht mehr auf diesem Gerät',
    advice: '',
    otherwise: 'Lade es noch einmal von dort, woher es kam.',
  },
  closed: { title: 'Das Modell wurde geschlossen', advice: 'Lade es neu.' },
  busy: {
    title: 'Das Modell schreibt noch',
    advice: '',
    otherwise: 'Warte, bis es fertig ist, oder halte es an.',
  },
  worker_died: {
    title: 'Die Recheneinheit ist unerwartet stehen geblieben',
    advice: 'Lade das Modell noch einmal; ist der Speicher knapp, schließe erst andere Tabs.',
  },
  unsupported_browser: {
    title: 'In diesem Browser läuft die Recheneinheit nicht',
    advice: '',
    otherwise: 'Nimm Chrome, Edge, Firefox oder Safari in einer aktuellen Fassung.',
  },
  unsupported_environment: {
    title: 'Auf dieser Seite läuft die Recheneinheit nicht',
    advice: '',
    otherwise: 'Das muss beheben, wem diese Seite gehört; die technischen Einzelheiten sagen, wie.',
  },
  aborted: { title: 'Angehalten', advice: '', otherwise: 'Versuche es noch einmal.' },
};
