// The script that parts.ts fetches when it is needed, and else when the page is at rest.
export { startTalk } from './start';
export { attachFiles as attach, attachText } from './state';
export { TalkView } from './view';
