// The conversations that are kept in this browser.
import { Library } from './library';
import { openStore } from './store';
import { openTabs } from './tabs';

export const library = new Library({ openStore, openTabs, page: { document, window } });
