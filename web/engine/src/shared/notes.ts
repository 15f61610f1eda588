// What a user, or the developer of a site, should know although nothing failed.
import type { Facts } from './facts.js';

/** For whom a note is: 'developer' if only the site's author can fix it. */
export type Audience = 'user' | 'developer';

/** All codes. The first ones are the core's (core/base/result.h). */
export const NOTE_CODES = [
  'token_not_in_vocabulary',
  'unknown_pre_tokenizer',
  'no_pre_tokenizer',
  'merges_skipped',
  'special_tokens_too_long',
  'no_bos_token',
  'sampling_value_unusable',
  'context_beyond_training',
  'fewer_threads',
  'no_chat_template',
  'tools_left_out',
  'content_parts_joined',
  'content_parts_unknown',
  'unknown_role',
  /** There is one thread, because the page is served without https. */
  'threads_need_https',
  /** There is one thread, because the page is not cross-origin isolated. */
  'threads_need_isolation',
  /** There is one thread, because this browser has no SharedArrayBuffer. */
  'threads_need_shared_memory',
  /** There is one thread, because the flavour that was asked for has no threads. */
  'threads_need_flavour',
  /** Some weights are streamed, because not all fit: `neededBytes`, `availableBytes`, `rereadBytes`, `limit`. */
  'weights_reread',
  /** `reason`, a NotKeptReason. */
  'model_not_kept',
  /** As model_not_kept, for a conversation's state. */
  'state_not_kept',
  /** The hub's list can't be read, so the model's sha256 can't be verified. */
  'sha256_unknown',
] as const;

/** What a note is about. */
export type NoteCode = (typeof NOTE_CODES)[number];

export interface Note {
  code: NoteCode;
  /** A sentence or two in English. */
  message: string;
  audience: Audience;
  /** What the message tells, in fields; absent or empty if there is nothing. */
  facts?: Facts;
}

/** A note of the library itself; the core's notes have their audience. */
export function makeNote(
  code: NoteCode,
  message: string,
  facts: Facts = {},
  audience: Audience = 'user',
): Note {
  return { code, message, audience, facts };
}

/** Codes whose messages name bytes that change: a list holds only the latest note of each. */
const LATEST: readonly NoteCode[] = ['model_not_kept', 'state_not_kept'];

/** Adds notes to a list, each once. */
export function addNotes(list: Note[], notes: readonly Note[]): void {
  for (const note of notes) {
    const { code, message } = note;
    const known = list.findIndex(
      (one) => one.code === code && (one.message === message || LATEST.includes(code)),
    );
    if (known < 0) list.push(note);
    else list[known] = note;
  }
}
