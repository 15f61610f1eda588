// What the model is asked: the messages of the branch that is shown, as the library takes them.
import type { ChatMessage } from '@sluice/engine';
import type { Attachment, Conversation, Message } from '../history/tree';
import { path } from '../history/tree';

/** The longest fence of backticks in a text decides how long the one around it is. */
function fenced({ name, text }: Attachment): string {
  const longest = (text.match(/`+/g) ?? []).reduce((n, run) => Math.max(n, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/** A message's text with the files that went with it. */
export function contentOf({
  content,
  attachments,
}: Pick<Message, 'content' | 'attachments'>): string {
  return [...attachments.map(fenced), content].filter((part) => part !== '').join('\n\n');
}

/** The messages up to the leaf. An answer that has no text is left out: templates expect one. */
export function messagesOf(conversation: Conversation): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const system = conversation.system.trim();
  if (system !== '') messages.push({ role: 'system', content: system });
  for (const message of path(conversation)) {
    const content = contentOf(message);
    if (content !== '') messages.push({ role: message.role, content });
  }
  return messages;
}
