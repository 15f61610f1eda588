// What the reader is told of the library's notes, with their facts in braces (model/facts-in-words.ts). Only rooms that come
// later show them, so these texts come with those.
import type { Facts, NoteCode, NotKeptReason } from '@sluice/engine';

export interface Texts {
  /** Also with {reason} and {limit}, in the words below. */
  notes: Readonly<Record<NoteCode, string>>;
  reasons: Readonly<Record<NotKeptReason, string>>;
  limits: Readonly<Record<NonNullable<Facts['limit']>, string>>;
}

export const notes: Texts = {
  notes: {
    token_not_in_vocabulary:
      '{key} is {id}, and the vocabulary has {tokens} tokens. It is left out.',
    unknown_pre_tokenizer:
      'The pre-tokenizer “{name}” isn’t known. The default one is used, which may read texts a little differently.',
    no_pre_tokenizer:
      'The file names no pre-tokenizer. The default one is used, which may read texts a little differently.',
    merges_skipped:
      'Merges of the vocabulary that name tokens it doesn’t have are skipped: {merges}.',
    special_tokens_too_long:
      'Special tokens that are too long to be looked for in texts: {tokens}.',
    no_bos_token:
      'The file wants a token before each prompt, and doesn’t say which. None is put there.',
    sampling_value_unusable:
      'The file recommends {value} for {key}, which is out of range. It is left out.',
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
    unknown_role: 'Sluice doesn’t know the role {role} of a message: {token} stays text.',
    threads_need_https: 'There is one thread, because the page comes without https.',
    threads_need_isolation: 'There is one thread, because the page is not cross-origin isolated.',
    threads_need_shared_memory:
      'There is one thread, because this browser has no memory that threads could share.',
    threads_need_flavour: 'There is one thread, because this build of the engine has no more.',
    weights_reread:
      'The model needs {neededBytes} of memory and gets {availableBytes} ({limit}): {rereadBytes} of its weights are ' +
      'read again for each word, and for each part of a long question.',
    model_not_kept: 'The model isn’t kept on this device: {reason}.',
    state_not_kept:
      'The state of this conversation isn’t kept on this device: {reason}. After a reload it is computed again.',
    sha256_unknown:
      'The list of files at its address could not be read, so it isn’t known whether the model arrived unchanged.',
  },
  reasons: {
    insecure: 'this page comes without https',
    unsupported: 'this browser keeps no files for pages',
    refused: 'the browser refuses, as in a private window or where storage is blocked',
    storage_full: 'there is no room',
    in_use: 'another tab uses it',
    newer: 'a newer version of this page keeps it',
    size: 'its server named a wrong size',
    out_of_memory: 'an answer needed the memory for it',
    unreadable: 'its file can’t be opened',
  },
  limits: {
    given: 'as it is set under Settings, Memory',
    browser: 'the most that this browser gives a page',
    device: 'half of this device’s memory; another limit can be set under Settings, Memory',
  },
};
