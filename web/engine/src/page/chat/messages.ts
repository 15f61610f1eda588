// Checks the messages of a conversation.
import { show, toJson } from '../options.js';
import type { ChatMessageParam } from '../../shared/chat-types.js';
import { field, wrong } from './body.js';

export const MESSAGES = 'an array of messages: [{ role: "user", content: "Hello" }]';

/** The messages as JSON. */
export function takeMessages(given: unknown): string {
  if (!field('messages', () => Array.isArray(given)))
    throw wrong('messages', `messages is ${show(given)}; give ${MESSAGES}`);
  const json = field('messages', () => toJson(given, 'messages'));
  const list = JSON.parse(json) as unknown[];
  if (!Array.isArray(list) || list.length === 0)
    throw wrong('messages', `messages is empty; give ${MESSAGES}`);
  list.forEach((message, i) => checkMessage(message, `messages[${i}]`));
  return json;
}

function checkMessage(message: unknown, at: string): void {
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw wrong(at, `${at} is ${show(message)}; give an object with a role and a content`);
  const { role, content } = message as Partial<ChatMessageParam>;
  if (typeof role !== 'string')
    throw wrong(`${at}.role`, `${at}.role is ${show(role)}; give 'system', 'user' or 'assistant'`);
  if (content === undefined || content === null || typeof content === 'string') return;
  if (!Array.isArray(content))
    throw wrong(
      `${at}.content`,
      `${at}.content is ${show(content)}; give a string, or an array of { type: 'text', text }`,
    );
  content.forEach((part: unknown, i) => {
    const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
    if (type === 'text' && typeof text === 'string') return;
    const what = type === 'text' ? `has the text ${show(text)}` : `is of the type ${show(type)}`;
    const here = `${at}.content[${i}]`;
    throw wrong(here, `${here} ${what}; models of text take { type: 'text', text: '..' }`);
  });
}
