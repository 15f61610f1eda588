// A link that writes a text again.
import { writeFragment } from '../link/fragment';
import { settingsFrom } from '../settings/text';
import type { Written } from './kept-texts';
import { MAX_PROMPT } from '../link/prompt';
import { writingTexts } from './texts';

export interface Share {
  /** The fragment, without '#'; null: there can be no link. */
  fragment: string | null;
  /** What the link leaves out, in words; '' if nothing. */
  without: string;
}

/**
 * The link to a text: its model, its prompt, its settings and its seed. If it was gone on with, the prompt is all that
 * stood there when the last run began.
 */
export function shareOf({ prompt, text, begun, seed, by, settings }: Written): Share {
  const words = writingTexts.value;
  const from = prompt + text.slice(0, begun);
  if (from.length > MAX_PROMPT) return { fragment: null, without: words.linkWithoutPrompt };
  const fragment = writeFragment({
    prompt: from,
    model: by?.url ?? null,
    view: 'write',
    settings: { ...settingsFrom(settings), seed },
  });
  const without = by?.kind === 'files' ? words.linkWithoutModel(by.name) : '';
  return { fragment, without };
}
