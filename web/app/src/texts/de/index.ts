// All German texts, as one script.
export { another } from './another';
export { errors } from './errors';
export { found } from './found';
export { history } from './history';
export { layers } from './layers';
export { list } from './list';
export { markdown } from './markdown';
export { model } from './model';
export { notes } from './notes';
export { page } from './page';
export { back } from './return';
export { settings } from './settings';
export { settingsRoom } from './settings-room';
export { talk } from './talk';
export { talkRoom } from './talk-room';
export { units } from './units';
export { writing } from './writing';
