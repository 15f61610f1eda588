// What the model is asked: the messages of the branch that is shown, as the library takes them.
import type { ChatMessage } from '@sluice/engine';
import { reasoningOf, textOf, withMore, type Parts } from '../history/parts';
import type { Attachment, Conversation, Message } from '../history/tree';
import { path } from '../history/tree';

/** The longest fence of backticks in a text decides how long the one around it is. */
function fenced({ name, text }: Attachment): string {
  const longest = (text.match(/`+/g) ?? []).reduce((n, run) => Math.max(n, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/** A text with the files that go with it. */
export function contentOf(text: string, attachments: readonly Attachment[]): string {
  return [...attachments.map(fenced), text].filter((one) => one !== '').join('\n\n');
}

/** The messages up to the leaf. An answer that has no text is left out: templates expect one. */
export function messagesOf(conversation: Conversation): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const system = conversation.system.trim();
  if (system !== '') messages.push({ role: 'system', content: system });
  for (const message of path(conversation)) {
    // What a model thought for an answer is for that answer alone.
    const content = contentOf(textOf(message), message.attachments);
    if (content !== '') messages.push({ role: message.role, content });
  }
  return messages;
}

/** What templates take as the last message, in the middle of which the model goes on; none: there is nothing to go on with. */
export function messagesToGoOnWith(message: Message): ChatMessage[] {
  const [content, reasoning] = [textOf(message), reasoningOf(message)];
  if (content === '' && reasoning === '') return [];
  if (content === '') return [{ role: 'assistant', content: `<think>\n${reasoning.trimEnd()}` }];
  if (reasoning === '') return [{ role: 'assistant', content }];
  return [{ role: 'assistant', content, reasoning_content: reasoning }];
}

/**
 * An answer's parts as they are when it goes on. Space at the end is for the model to write: templates may leave it out. But
 * the library trims what reasoning begins with.
 */
export function partsToGoOnWith({ parts }: Message): Parts {
  const trimmed = parts
    .map(({ part, text }, i) => ({
      part,
      text: part === 'reasoning' || i === parts.length - 1 ? text.trimEnd() : text,
    }))
    .filter(({ text }) => text !== '');
  return trimmed.at(-1)?.part === 'reasoning' ? withMore(trimmed, 'reasoning', ' ') : trimmed;
}
