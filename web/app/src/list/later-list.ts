// The script that parts.ts fetches when it is needed, and else when the page is at rest.
export { AllOfIt } from './all';
export { ConversationList } from './list';
export { list, newConversation } from './state';
