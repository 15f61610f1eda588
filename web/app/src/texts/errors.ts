// What the reader is told of errors.
import type { ErrorCode } from '@sluice/engine';

/**
 * What an error means, and what to do about it; '' if what was found tells that (found.ts). `otherwise`: what to do where
 * nothing of it was found.
 */
type Advice = Readonly<
  Record<
    ErrorCode,
    { title: string; advice: string } | { title: string; advice: ''; otherwise: string }
  >
>;

const en: Advice = {
  bad_file: {
    title: 'This file can’t be read as a model',
    advice: 'Choose a file whose name ends in .gguf. If it does, it is damaged: get a fresh copy.',
  },
  unsupported_model: {
    title: 'This kind of model isn’t supported yet',
    advice: 'Take a model of the Llama, Qwen2, Qwen3, Gemma 3 or GPT-2 families.',
  },
  unsupported_type: {
    title: 'This file of the model can’t be computed here yet',
    advice: 'Take another file of the same model: one with Q4_K_M, Q4_0 or Q8_0 in its name.',
  },
  out_of_memory: {
    title: 'The model doesn’t fit into this browser’s memory',
    advice: 'Close other tabs, or take a smaller model.',
  },
  budget_too_small: {
    title: 'The model needs more memory than it may take',
    advice: 'Let it take more under Settings, Memory, or take a smaller model.',
  },
  download_failed: {
    title: 'The model couldn’t be fetched',
    advice: '',
    otherwise: 'Try again, or take another model.',
  },
  download_corrupt: {
    title: 'What arrived isn’t the file that was promised',
    advice:
      'Nothing of it was kept. Try again; if it happens twice, the file on the server is damaged.',
  },
  offline: {
    title: 'There is no network',
    advice:
      'Connect this device and try again: what has come is kept. Models on this device open without a network.',
  },
  storage_full: {
    title: 'There is no room to keep the model on this device',
    advice:
      'Remove models that you don’t need, or load this one without keeping it: then it has to be fetched again at the next visit.',
  },
  context_full: {
    title: 'The prompt is longer than the model can read',
    advice: 'Shorten the prompt, or open a model with a longer context.',
  },
  invalid_argument: {
    title: 'This can’t be used as it is',
    advice: '',
    otherwise: 'Change what you entered last, or set the settings back.',
  },
  not_found: {
    title: 'It isn’t on this device any more',
    advice: '',
    otherwise: 'Load it again from where it came.',
  },
  closed: { title: 'The model was closed', advice: 'Load it again.' },
  busy: {
    title: 'The model is still writing',
    advice: '',
    otherwise: 'Wait until it has finished, or stop it.',
  },
  worker_died: {
    title: 'The engine stopped unexpectedly',
    advice: 'Load the model again; if memory is short, close other tabs first.',
  },
  unsupported_browser: {
    title: 'This browser can’t run the engine',
    advice: '',
    otherwise: 'Use a current Chrome, Edge, Firefox or Safari.',
  },
  unsupported_environment: {
    title: 'The engine can’t run in this page',
    advice: '',
    otherwise: 'The owner of this page has to mend it; the technical details tell how.',
  },
  aborted: { title: 'Stopped', advice: '', otherwise: 'Try again.' },
};

const de: Advice = {
  bad_file: {
    title: 'Diese Datei lässt sich nicht als Modell lesen',
    advice:
      'Wähle eine Datei, deren Name auf .gguf endet. Tut er das, ist sie beschädigt: Hole sie noch einmal.',
  },
  unsupported_model: {
    title: 'Diese Art von Modell wird noch nicht unterstützt',
    advice: 'Nimm ein Modell der Familien Llama, Qwen2, Qwen3, Gemma 3 oder GPT-2.',
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
    title: 'Das Modell konnte nicht geholt werden',
    advice: '',
    otherwise: 'Versuche es noch einmal, oder nimm ein anderes Modell.',
  },
  download_corrupt: {
    title: 'Angekommen ist nicht die Datei, die versprochen war',
    advice:
      'Nichts davon wurde behalten. Versuche es noch einmal; passiert es wieder, ist die Datei auf dem Server beschädigt.',
  },
  offline: {
    title: 'Es gibt kein Netz',
    advice:
      'Verbinde dieses Gerät und versuche es noch einmal: Was angekommen ist, bleibt. Modelle auf diesem Gerät öffnen sich ohne Netz.',
  },
  storage_full: {
    title: 'Auf diesem Gerät ist kein Platz, um das Modell zu behalten',
    advice:
      'Entferne Modelle, die du nicht brauchst, oder lade dieses, ohne es zu behalten: Dann muss es beim nächsten Besuch neu geholt werden.',
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

export const errors = { en, de };
