// The conversation view.

export const talk = {
  heading: 'Conversation',
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
    finds: (name: string) => `${name}, which is here already, finds passages in files.`,
    fills: (name: string) => `${name}, which is here already, fills in masked words.`,
    findWith: (name: string) => `Find with ${name}`,
    writeWith: (name: string) => `Write with ${name}`,
    story: 'Sluice Stories, which is here already, only tells stories.',
    tellStory: 'Let it tell a story',
  },
  field: 'Message',
  placeholder: 'Write a message',
  send: 'Send',
  attach: 'Attach a text file',
  system: 'System prompt',
  chooseModel: 'Choose a model',
};
