// What is said to the reader of kept conversations: why they can't be kept, and the words in files.
import type { HistoryCode } from '../../history/errors';
import type { MarkdownWords } from '../../history/markdown-file';

const problemsWords: Record<HistoryCode, string> = {
  full: 'There is no room left on this device, so what was said last isn’t kept. Delete conversations or models, or export this one.',
  none: 'This browser keeps nothing for this page, perhaps because the window is private. Conversations last until you close the page; export what you want to keep.',
  newer:
    'Another tab has a newer version of this page. Reload this tab to go on: what it hasn’t kept yet is lost, so copy that first.',
  failed: 'The conversation couldn’t be kept. It’s still here; export it if you want to be safe.',
};

const markdownWords: MarkdownWords = {
  untitled: 'Conversation',
  system: 'System prompt',
  roles: { user: 'You', assistant: 'Answer', tool: 'Tool' },
  reasoning: 'Thinking',
};

export const history = {
  /** Why conversations can't be kept, by HistoryError.code. */
  problems: problemsWords,
  /** For toMarkdown(). */
  markdown: markdownWords,
  exportMarkdown: 'Save as Markdown',
  exportJson: 'Save as JSON',
  /** The name of the file with all conversations, without its ending. */
  allFile: 'Sluice conversations',
  readOnly: 'This conversation is being written in another tab.',
  takeOver: 'Write here',
};
