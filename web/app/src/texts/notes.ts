// What the reader is told of the library's notes, with their facts in braces (model/facts-in-words.ts). Only rooms that come
// later show them, so these texts come with those.
import type { Facts, NoteCode, NotKeptReason } from '@sluice/engine';

interface Texts {
  /** Also with {reason} and {limit}, in the words below. */
  notes: Readonly<Record<NoteCode, string>>;
  reasons: Readonly<Record<NotKeptReason, string>>;
  limits: Readonly<Record<NonNullable<Facts['limit']>, string>>;
}

const en: Texts = {
  notes: {
    token_not_in_vocabulary:
      '{key} is {id}, and the vocabulary has {tokens} tokens. It is left out.',
    unknown_pre_tokenizer:
      'The pre-tokenizer “{name}” isn’t known. The default one is used, which may read texts a little differently.',
    no_pre_tokenizer:
      'The file names no pre-tokenizer. The default one is used, which may read texts a little differently.',
    merges_skipped:
      'Merges of the vocabulary that name tokens it doesn’t have are skipped: {merges}.',
    no_bos_token:
      'The file wants a token before each prompt, and doesn’t say which. None is put there.',
    context_beyond_training:
      'The context of {contextSize} tokens is larger than the {trained} that the model was trained for. What it writes ' +
      'beyond them may make no sense.',
    fewer_threads: 'Only {threads} of {asked} threads could be started. It works, but slower.',
    no_chat_template: 'The file has no chat template. That of {family} is used, which is a guess.',
    tools_left_out: 'The built-in template of {family} knows no tools. They are left out.',
    content_parts_joined:
      'The chat template knows no messages in parts. The parts’ texts are joined.',
    content_parts_unknown:
      'The chat template knows no messages in parts. What the model is given of them may make no sense to it.',
    special_token_in_message:
      'A message contains the name of a special token, which the model reads as that token.',
    threads_need_https: 'There is one thread, because the page comes without https.',
    threads_need_isolation: 'There is one thread, because the page is not cross-origin isolated.',
    threads_need_shared_memory:
      'There is one thread, because this browser has no memory that threads could share.',
    threads_need_flavour: 'There is one thread, because this build of the engine has no more.',
    weights_reread:
      'The model needs {neededBytes} of memory and gets {availableBytes} ({limit}): {rereadBytes} of its weights are ' +
      'read again for each token, and for each block of a prompt.',
    model_not_kept: 'The model isn’t kept on this device: {reason}.',
    state_not_kept:
      'The state of this conversation isn’t kept on this device: {reason}. After a reload it is computed again.',
    sha256_unknown:
      'The hub’s list of files could not be read, so the model can’t be compared with its checksum.',
  },
  reasons: {
    insecure: 'this page comes without https',
    unsupported: 'this browser keeps no files for pages',
    refused: 'the browser refuses, as in a private window or where storage is blocked',
    storage_full: 'there is no room',
    in_use: 'another tab uses it',
    newer: 'a newer version of this page keeps it',
    out_of_memory: 'an answer needed the memory for it',
    unreadable: 'its file can’t be opened',
  },
  limits: {
    given: 'as it is set under Settings, Memory',
    browser: 'the most that this browser gives a page',
    device: 'half of this device’s memory; another limit can be set under Settings, Memory',
  },
};

const de: Texts = {
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
      'werden für jedes Token und für jeden Block eines Textes neu gelesen.',
    model_not_kept: 'Das Modell wird auf diesem Gerät nicht behalten. Der Grund: {reason}.',
    state_not_kept:
      'Der Zustand dieser Unterhaltung wird auf diesem Gerät nicht behalten. Der Grund: {reason}. Nach einem Neuladen ' +
      'wird er neu berechnet.',
    sha256_unknown:
      'Die Dateiliste des Hubs war nicht zu lesen. Darum lässt sich das Modell nicht mit seiner Prüfsumme vergleichen.',
  },
  reasons: {
    insecure: 'Die Adresse der Seite hat kein https',
    unsupported: 'Dieser Browser behält keine Dateien für Seiten',
    refused:
      'Der Browser verweigert es, wie in privaten Fenstern oder wo das Speichern gesperrt ist',
    storage_full: 'Es ist kein Platz',
    in_use: 'Ein anderer Tab benutzt ihn',
    newer: 'Eine neuere Fassung dieser Seite behält es',
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

export const notes = { en, de };
