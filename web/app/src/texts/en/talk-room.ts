// What the conversation view says besides talk.ts; it comes with that view.
import { bytes, count, digits, tokens } from '../format';
import { plural } from './plural';

export const talkRoom = {
  you: 'You',
  model: 'Model',
  stop: 'Stop',
  stopped: 'Stopped',
  removeAttachment: (name: string) => `Remove ${name}`,
  attached: (name: string, n: number) => `${name}, ${count(n)} characters`,
  attaching: (name: string) => `${name} is being read`,
  editing: 'You are editing a message. The answers that followed stay, on a branch of their own.',
  cancelEdit: 'Cancel',
  edit: 'Edit and go on from here',
  retry: 'Another answer',
  /** Of a button: shows what each token of an answer was chosen from. */
  xray: 'X-ray of this answer',
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
    plural(n, {
      one: 'The oldest message was left out of this answer’s context, which was full',
      other: `The ${count(n)} oldest messages were left out of this answer’s context, which was full`,
    }),
  context: (used: number, all: number) => `${count(used)} of ${tokens(all)}`,
  contextLabel: 'Tokens of this conversation, of those that the context holds',
  toTheEnd: 'To the end',
  systemNote: 'How the model is to answer in this conversation. It counts from the next answer on.',
  noModel: 'No model is loaded.',
  nearlyFull:
    'The context is nearly full. The oldest messages will be left out of the next answers.',
  counting: 'The message is being counted.',
  /** The sentence of what is in the field alone. */
  messageTooLong: (over: number, context: number) =>
    `This message is longer than the context of ${tokens(context)}, by ${tokens(over)}.`,
  /** The sentence of the conversation and what is in the field. */
  outgrown: (over: number) =>
    `The conversation is longer than the context, by ${tokens(over)}. Its oldest messages will be left out.`,
  /** What can be done where no context is large enough. */
  shorten: 'Shorten it, or split it into parts.',
  removeFile: 'Remove a file, or shorten the message.',
  largerContext: (context: number, more: number) =>
    `Use a context of ${count(context)} (more memory: ${bytes(more)})`,
  pasted: 'Pasted text',
  pastedAsFile: 'The long text is attached to the message',
  pastedBack: 'Into the field',
  pastedBackLabel: (name: string) => `Put ${name} into the field`,
  /** The model in use is none. */
  noChatModel: 'No chat model.',
  goOn: 'Continue',
  /** Why a file was not attached. */
  unread: {
    tooLong: (name: string) => `${name} is longer than 1 MB, more than a conversation can hold.`,
    lost: (name: string) => `${name} couldn’t be read. Is it still there?`,
    pdf: (name: string) => `${name} is a PDF. Sluice can’t read these yet.`,
    picture: (name: string) => `${name} is a picture. Sluice can’t read these yet.`,
    office: (name: string) => `${name} is an office document. Sluice can’t read these yet.`,
    archive: (name: string) => `${name} is an archive. Sluice can’t read these yet.`,
    sound: (name: string) => `${name} is a sound. Sluice can’t read these yet.`,
    film: (name: string) => `${name} is a film. Sluice can’t read these yet.`,
    model: (name: string) => `${name} is a model. Press the name of the model in use to open it.`,
    weights: (name: string) =>
      `${name} is a model in a form that the page can’t read. Look for a file of it whose name ends in .gguf, or make one with the program (sluice convert).`,
    other: (name: string) => `${name} is not a text file, so Sluice can’t read it.`,
  },
  savedPrompts: 'Saved system prompts',
  promptName: 'Name to save it by',
  savePrompt: 'Save',
  promptSaved: (name: string) => `${name} is saved on this device`,
  removePrompt: (name: string) => `Delete the system prompt ${name}`,
  waitsFor: (name: string) => `Waiting for ${name}`,
  waitsPaused: 'Waits until the download goes on',
  /** Below a message that has no answer, or only a story for one. */
  unanswered: 'Nobody has answered this yet.',
  onlyStories: (name: string) => `${name} only tells stories. It can’t answer questions.`,
  couldAnswer: (name: string) => `${name} can, and suits this device.`,
  answerWith: (name: string) => `Answer with ${name}`,
  answerWhenHere: (name: string) => `Answer with ${name} when it is here`,
  goOnAndAnswer: (name: string) => `Go on with the download of ${name}, then answer`,
  tellStory: (name: string) => `Let ${name} tell a story`,
  writtenWith: (name: string) => `Written with ${name}.`,
  /** Of a file with the name of the one in use. */
  writtenWithOther: (file: string) => `Written with an earlier or another file named ${file}.`,
  loadIt: 'Load it',
  findIt: (file: string) => `Choose ${file} again`,
  loadFrom: (host: string) => `Load it from ${host}`,
  goOnWith: (name: string) => `Go on with ${name}`,
};
