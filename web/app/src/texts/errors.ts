// What the reader is told of errors.
import type { ErrorCode } from '@sluice/engine';

/** What an error means, and what to do about it; '' if what was found tells it (found.ts, or the library's message). */
type Advice = Readonly<Record<ErrorCode, { title: string; advice: string }>>;

const en: Advice = {
  bad_file: {
    title: 'This file can’t be read as a model',
    advice: 'This page opens models in the GGUF format. Of a damaged file, get a fresh copy.',
  },
  unsupported_model: {
    title: 'This kind of model isn’t supported yet',
    advice: 'Take a model of the Llama, Qwen2, Qwen3, Gemma 3 or GPT-2 families.',
  },
  unsupported_type: {
    title: 'The weights are kept in a form that isn’t supported yet',
    advice: 'Take the same model as Q8_0, Q4_0 or Q4_K_M.',
  },
  out_of_memory: {
    title: 'The model doesn’t fit into this browser’s memory',
    advice: 'Close other tabs, or take a smaller model or a smaller type, such as Q4_0.',
  },
  budget_too_small: {
    title: 'The model needs more memory than it may take',
    advice:
      'Let it take more under Settings, Memory, or take a smaller model or a smaller type, such as Q4_0.',
  },
  download_failed: { title: 'The model couldn’t be fetched', advice: '' },
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
  invalid_argument: { title: 'This can’t be used as it is', advice: '' },
  not_found: { title: 'It isn’t on this device', advice: '' },
  closed: { title: 'The model was closed', advice: 'Load it again.' },
  busy: { title: 'The model is still writing', advice: '' },
  worker_died: {
    title: 'The engine stopped unexpectedly',
    advice: 'Load the model again; if memory is short, close other tabs first.',
  },
  unsupported_browser: { title: 'This browser can’t run the engine', advice: '' },
  unsupported_environment: { title: 'The engine can’t run in this page', advice: '' },
  aborted: { title: 'Stopped', advice: '' },
};

const de: Advice = {
  bad_file: {
    title: 'Diese Datei lässt sich nicht als Modell lesen',
    advice:
      'Diese Seite öffnet Modelle im Format GGUF. Ist die Datei beschädigt, hole sie noch einmal.',
  },
  unsupported_model: {
    title: 'Diese Art von Modell wird noch nicht unterstützt',
    advice: 'Nimm ein Modell der Familien Llama, Qwen2, Qwen3, Gemma 3 oder GPT-2.',
  },
  unsupported_type: {
    title: 'Die Gewichte liegen in einer Form vor, die noch nicht unterstützt wird',
    advice: 'Nimm dasselbe Modell als Q8_0, Q4_0 oder Q4_K_M.',
  },
  out_of_memory: {
    title: 'Das Modell passt nicht in den Speicher dieses Browsers',
    advice:
      'Schließe andere Tabs, oder nimm ein kleineres Modell oder einen kleineren Typ, etwa Q4_0.',
  },
  budget_too_small: {
    title: 'Das Modell braucht mehr Speicher, als es nehmen darf',
    advice:
      'Erlaube ihm mehr unter Einstellungen, Speicher, oder nimm ein kleineres Modell oder einen kleineren Typ, etwa Q4_0.',
  },
  download_failed: { title: 'Das Modell konnte nicht geholt werden', advice: '' },
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
  invalid_argument: { title: 'So lässt sich das nicht verwenden', advice: '' },
  not_found: { title: 'Es ist nicht auf diesem Gerät', advice: '' },
  closed: { title: 'Das Modell wurde geschlossen', advice: 'Lade es neu.' },
  busy: { title: 'Das Modell schreibt noch', advice: '' },
  worker_died: {
    title: 'Die Recheneinheit ist unerwartet stehen geblieben',
    advice: 'Lade das Modell noch einmal; ist der Speicher knapp, schließe erst andere Tabs.',
  },
  unsupported_browser: { title: 'In diesem Browser läuft die Recheneinheit nicht', advice: '' },
  unsupported_environment: { title: 'Auf dieser Seite läuft die Recheneinheit nicht', advice: '' },
  aborted: { title: 'Angehalten', advice: '' },
};

export const errors = { en, de };
