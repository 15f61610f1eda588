// The German of ../en/found.ts.
import type { Texts } from '../en/found';

export const found: Texts = {
  codes: {
    out_of_memory: [
      'Für {tokens} Token braucht es {neededBytes} mehr, und {availableBytes} sind frei.',
      'Es braucht mindestens {leastBytes}, und es gibt höchstens {availableBytes}.',
      'Es braucht {neededBytes}, und es gibt höchstens {availableBytes}.',
      'Für weitere {neededBytes} war kein Speicher da.',
    ],
    budget_too_small: [
      'Es braucht mindestens {leastBytes} und darf {availableBytes} nehmen.',
      'Es braucht {neededBytes} und darf {availableBytes} nehmen.',
    ],
    offline: ['{host} ist nicht zu erreichen.'],
    storage_full: [
      'Es braucht {neededBytes} mehr, und {availableBytes} sind frei.',
      'Es braucht {neededBytes} mehr.',
    ],
    context_full: ['Er hat {tokens} Token oder mehr, und Platz ist für {room}.'],
  },
  details: {
    unsupported_model: [
      'Es hat einen unbekannten Tensor {tensor}.',
      'Sein Tokenizer heißt „{tokenizer}“.',
      'Sein {key} ist {value}.',
      'Seine Architektur heißt „{architecture}“.',
    ],
    unsupported_type: ['{tensor} hat den Typ {type}.', 'Ein Tensor hat den Typ {type}.'],
    download_corrupt: ['Ihre SHA-256 ist {foundSha256}, und {expectedSha256} wurde erwartet.'],
    worker_died: ['Der Browser meldet: {said}'],
    unsupported_browser: ['Ihm fehlt {missing}.'],
  },
  reasons: {
    simd: 'Er ist zu alt, oder etwas, das Sluice braucht, ist abgeschaltet. Nimm Chrome oder Edge 91, Firefox 89, Safari 16.4 oder neuer.',
    status:
      '{host} hat mit {status} geantwortet. Versuche es später noch einmal, oder nimm eine andere Adresse.',
    missing:
      '{host} hat mit {status} geantwortet. Diese Datei gibt es dort nicht: Prüfe die Adresse.',
    denied:
      '{host} hat mit {status} geantwortet: Dieses Modell gibt es nicht, oder es braucht dort ein Konto. Prüfe die Adresse. Stimmt sie, öffne seine Seite, melde dich an, nimm die Bedingungen an und lade die Datei dort herunter. Dann wähle die Datei hier.',
    unreachable:
      '{host} hat nicht geantwortet, oder lässt andere Seiten die Datei nicht lesen. Prüfe deine Verbindung und versuche es noch einmal, oder lade die Datei herunter und wähle sie hier.',
    redirect:
      '{host} leitet dorthin weiter, wo die Datei nicht zu lesen ist. Nimm die Adresse, an der das endet.',
    insecure: 'Diese Seite darf nur Adressen mit https lesen. Nimm eine solche.',
    stalled: '{host} hat zu lange nichts gesendet. Versuche es noch einmal.',
    broken: 'Die Verbindung zu {host} ist abgebrochen. Versuche es noch einmal.',
    changed: 'Die Datei auf {host} hat sich geändert, während sie kam. Lade sie noch einmal.',
    answer: '{host} hat etwas anderes gesendet als verlangt. Nimm einen anderen Server.',
  },
};
