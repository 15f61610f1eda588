// The German of ../en/notes.ts.
import type { Texts } from '../en/notes';

export const notes: Texts = {
  notes: {
    token_not_in_vocabulary:
      '{key} ist {id}, und der Wortschatz hat {tokens} Token. Es wird weggelassen.',
    unknown_pre_tokenizer:
      'Der Pre-Tokenizer „{name}“ ist unbekannt. Der übliche wird benutzt, der Texte etwas anders lesen kann.',
    no_pre_tokenizer:
      'Die Datei nennt keinen Pre-Tokenizer. Der übliche wird benutzt, der Texte etwas anders lesen kann.',
    merges_skipped:
      'Verbindungen des Wortschatzes, die Token nennen, die er nicht hat, werden übergangen: {merges}.',
    no_bos_token:
      'Die Datei will ein Token vor jedem Text und sagt nicht, welches. Es wird keines gesetzt.',
    sampling_value_unusable:
      'Die Datei empfiehlt {value} für {key}; das ist nicht erlaubt. Es wird weggelassen.',
    context_beyond_training:
      'Der Kontext von {contextSize} Token ist größer als die {trained}, für die das Modell trainiert wurde. Was es ' +
      'darüber hinaus schreibt, ergibt vielleicht keinen Sinn.',
    fewer_threads:
      'Nur {threads} von {asked} Threads konnten gestartet werden. Es geht, aber langsamer.',
    no_chat_template:
      'Die Datei hat keine Chat-Vorlage. Die von {family} wird benutzt; das ist geraten.',
    tools_left_out:
      'Die eingebaute Vorlage von {family} kennt keine Werkzeuge. Sie werden weggelassen.',
    content_parts_joined:
      'Die Chat-Vorlage kennt keine Nachrichten in Teilen. Die Texte der Teile werden verbunden.',
    content_parts_unknown:
      'Die Chat-Vorlage kennt keine Nachrichten in Teilen. Was das Modell davon bekommt, sagt ihm vielleicht nichts.',
    special_token_in_message:
      'Eine Nachricht enthält den Namen eines besonderen Tokens, den das Modell als dieses Token liest.',
    threads_need_https: 'Es gibt einen Thread, weil die Seite ohne https kommt.',
    threads_need_isolation:
      'Es gibt einen Thread, weil die Seite nicht von anderen Ursprüngen isoliert ist.',
    threads_need_shared_memory:
      'Es gibt einen Thread, weil dieser Browser keinen Speicher hat, den Threads teilen könnten.',
    threads_need_flavour:
      'Es gibt einen Thread, weil diese Bauart der Recheneinheit nicht mehr hat.',
    weights_reread:
      'Das Modell braucht {neededBytes} Speicher und bekommt {availableBytes} ({limit}): {rereadBytes} seiner Gewichte ' +
      'werden für jedes Wort und für jeden Teil einer langen Frage neu gelesen.',
    model_not_kept: 'Das Modell wird auf diesem Gerät nicht behalten. Der Grund: {reason}.',
    state_not_kept:
      'Der Zustand dieser Unterhaltung wird auf diesem Gerät nicht behalten. Der Grund: {reason}. Nach einem Neuladen ' +
      'wird er neu berechnet.',
    sha256_unknown:
      'Die Liste der Dateien an seiner Adresse war nicht zu lesen. Darum ist nicht bekannt, ob das Modell unverändert ankam.',
  },
  reasons: {
    insecure: 'Die Adresse der Seite hat kein https',
    unsupported: 'Dieser Browser behält keine Dateien für Seiten',
    refused:
      'Der Browser verweigert es, wie in privaten Fenstern oder wo das Speichern gesperrt ist',
    storage_full: 'Es ist kein Platz',
    in_use: 'Ein anderer Tab benutzt ihn',
    newer: 'Eine neuere Fassung dieser Seite behält es',
    size: 'Sein Server nannte eine falsche Größe',
    out_of_memory: 'Eine Antwort brauchte den Speicher dafür',
    unreadable: 'Die Datei lässt sich nicht öffnen',
  },
  limits: {
    given: 'wie unter Einstellungen, Speicher gesetzt',
    browser: 'das meiste, was dieser Browser einer Seite gibt',
    device:
      'die Hälfte des Speichers dieses Geräts; eine andere Grenze lässt sich unter Einstellungen, Speicher setzen',
  },
};
