// What the rest of the page needs of conversations. It is fetched later (page/parts.ts).
export { ConversationList } from '../list/list';
export { newConversation } from '../list/state';
export { attach } from './attach';
export { startTalk } from './start';
export { TalkView } from './view';
