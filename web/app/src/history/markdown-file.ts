// A conversation as Markdown, for people to read and keep.
import { plain } from '../texts/plain-text';
import { path, type Attachment, type Conversation, type Role } from './tree';

/** The words that the file needs, from texts/en/history.ts. */
export interface MarkdownWords {
  untitled: string;
  system: string;
  roles: Record<Role, string>;
  reasoning: string;
}

/** The branch that is shown: the title, the system prompt, and each message under a heading with its role. */
export function toMarkdown(c: Conversation, words: MarkdownWords): string {
  const blocks = [`# ${escaped(c.title) || words.untitled}`];
  if (c.system !== '') blocks.push(`## ${words.system}`, closed(c.system));
  for (const message of path(c)) {
    blocks.push(`## ${words.roles[message.role]}`);
    for (const one of message.attachments) blocks.push(fenced(one));
    for (const { part, text } of message.parts) {
      if (part === 'text') blocks.push(closed(text));
      else blocks.push(quoted(`**${words.reasoning}**\n\n${closed(text)}`));
    }
  }
  return `${blocks.join('\n\n')}\n`;
}

/** A title's characters that Markdown would read as its own. */
function escaped(text: string): string {
  return plain(text).replace(/[\\`*_{}[\]<>#|~]/g, '\\$&');
}

function quoted(text: string): string {
  return text.replace(/\s+$/, '').replace(/^/gm, '> ').replace(/^> $/gm, '>');
}

/** A text whose last block of code is closed, so that it doesn't take in what follows. */
function closed(text: string): string {
  const clean = text.replace(/\r\n?/g, '\n').replace(/\s+$/, '');
  let open: string | null = null;
  for (const line of clean.split('\n')) {
    const [, fence = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === '') continue;
    if (open === null) {
      // A line of inline code can begin so too.
      if (fence.startsWith('~') || !rest.includes('`')) open = fence;
    } else if (fence.startsWith(open) && rest.trim() === '') {
      open = null;
    }
  }
  return open === null ? clean : `${clean}\n${open}`;
}

/** An attached file as a block of code, with a fence that its text doesn't have. */
function fenced({ name, text }: Attachment): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const longest = runs.reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `**${escaped(name)}**\n\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}
