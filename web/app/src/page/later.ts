// What isn't needed for the first text of a visit: the script that parts.ts fetches later.
export { ConversationList } from '../list/list';
export { newConversation } from '../list/state';
export { detailsInWords, foundInWords } from '../model/found-in-words';
export { attach, attachText } from '../talk/attach';
export { startTalk } from '../talk/start';
export { TalkView } from '../talk/view';
