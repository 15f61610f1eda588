// The fold from an answer's parts to a message.
import type { AnswerMessage, AnswerPart } from '../../shared/answer-types.js';
import { reading } from '../options.js';

/**
 * The message that an answer's parts make. `before`: the message of the parts before them, so that an answer can be drawn as it
 * comes: `message = foldParts([part], message)`. Nothing that is given is changed. Parts of other kinds are left out.
 */
export function foldParts(
  parts: Iterable<AnswerPart>,
  before: Readonly<AnswerMessage> = { role: 'assistant', content: '', reasoning: '' },
): AnswerMessage {
  return reading('parts', () => {
    let { content, reasoning } = before;
    for (const { part, text } of parts) {
      if (part === 'text') content += text;
      else if (part === 'reasoning') reasoning += text;
    }
    return { role: 'assistant', content, reasoning };
  });
}
