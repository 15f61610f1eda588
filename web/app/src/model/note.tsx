import type { Note as Told, NoteCode, NotKeptReason } from '@sluice/engine';
import { notes as english } from '../texts/en/notes';
import { inLanguage } from '../texts/language';
import { withFacts } from './facts-in-words';

const notes = inLanguage('notes', english);

/** These say why there is only one thread, which the figures do in the page's own words. */
const OF_THREADS: ReadonlySet<NoteCode> = new Set<NoteCode>([
  'threads_need_https',
  'threads_need_isolation',
  'threads_need_shared_memory',
  'threads_need_flavour',
]);

/** Of use only to people who know how models are made. */
const TECHNICAL: ReadonlySet<NoteCode> = new Set<NoteCode>([
  'token_not_in_vocabulary',
  'unknown_pre_tokenizer',
  'no_pre_tokenizer',
  'merges_skipped',
  'special_tokens_too_long',
  'no_bos_token',
  'no_chat_template',
]);

export function isTechnical({ code }: Told): boolean {
  return TECHNICAL.has(code);
}

/** The notes but those on the one thread. */
export function withoutThreads(all: readonly Told[]): readonly Told[] {
  return all.filter(({ code }) => !OF_THREADS.has(code));
}

/** A note of the library in the page's words; in the library's if it lacks facts. */
export function noteInWords({ code, message, facts = {} }: Told): string {
  const texts = notes.value;
  const { reason = 'unreadable', limit = 'given' } = facts;
  const text = texts.notes[code]
    .replace('{reason}', texts.reasons[reason as NotKeptReason])
    .replace('{limit}', texts.limits[limit]);
  return withFacts(text, facts) || message;
}

export function Note({ of }: { of: Told }) {
  return <p class="note">{noteInWords(of)}</p>;
}
