// The conversation view.
import { count, digits, tokens } from '../../format';

export const talk = {
  heading: 'Conversation',
  you: 'You',
  model: 'Model',
  greeting: 'What would you like to know?',
  greetingNote:
    'A chat AI that runs in this page, on your own device. Nothing that you write leaves it.',
  suggestionsLabel: 'First questions',
  suggestions: [
    'Explain in three sentences why the sky is blue',
    'Write a short, friendly birthday message',
    'Give me five ideas for a rainy Sunday',
    'What is the difference between weather and climate?',
  ],
  /** What stands in front while there is no chat model. */
  first: {
    label: 'Suits this device',
    others: 'Others',
    coming: 'On its way',
    paused: 'Your download is paused',
    typeMeanwhile: 'You can already write your first message.',
    /** Of a model that can't converse. */
    here: (name: string) =>
      `${name} is here. It goes on with a text that you begin, but it can’t hold a conversation.`,
    writeWith: (name: string) => `Write with ${name}`,
    story: 'Sluice Stories, which is here already, only tells stories.',
    tellStory: 'Let it tell a story',
  },
  field: 'Message',
  placeholder: 'Write a message',
  send: 'Send',
  stop: 'Stop',
  stopped: 'Stopped',
  attach: 'Attach a text file',
  removeAttachment: (name: string) => `Remove ${name}`,
  attached: (name: string, n: number) => `${name}, ${count(n)} characters`,
  attaching: (name: string) => `${name} is being read`,
  editing: 'You are editing a message. The answers that followed stay, on a branch of their own.',
  cancelEdit: 'Cancel',
  edit: 'Edit and go on from here',
  retry: 'Another answer',
  answer: 'Answer',
  copyAll: 'Copy all',
  all: 'More for this conversation',
  copyMessage: 'Copy this message',
  previous: 'Previous branch',
  next: 'Next branch',
  branch: (at: number, of: number) => `${at} of ${of}`,
  thinking: 'Thinking',
  thought: (time: string) => `Thought for ${time}`,
  thoughts: 'Thoughts',
  tool: 'Result of a tool',
  waitsForModel: 'Waiting for the model',
  reads: 'Reading',
  readsFacts: (facts: string) => `Reading: ${facts}`,
  elsewhere: 'Another conversation is being answered.',
  showIt: 'Show it',
  writes: (n: number, rate: number) =>
    rate > 0 ? `${tokens(n)} · ${digits(rate)} tokens/s` : tokens(n),
  cut: 'Stopped',
  length: 'Stopped at the length that is set, or at the end of the context',
  failed: 'This answer ended with an error',
  lost: 'The page was closed while this was being written',
  dropped: (n: number) =>
    n === 1
      ? 'The oldest message was left out of this answer’s context, which was full'
      : `The ${count(n)} oldest messages were left out of this answer’s context, which was full`,
  context: (used: number, all: number) => `${count(used)} of ${tokens(all)}`,
  contextLabel: 'Tokens of this conversation, of those that the context holds',
  toTheEnd: 'To the end',
  system: 'System prompt',
  systemNote: 'How the model is to answer in this conversation. It counts from the next answer on.',
  noModel: 'No model is loaded.',
  chooseModel: 'Choose a model',
};
