// The same store in the page's memory, for browsers that keep nothing: it lasts as long as the page.
import { summaryOf } from './records';
import { byChange, type Store } from './store';
import { newId, rename, titleOf, type Conversation } from './tree';

export function memoryStore(): Store {
  const kept = new Map<string, Conversation>();
  return {
    list: async () => [...kept.values()].map(summaryOf).sort(byChange),
    get: async (id) => kept.get(id) ?? null,
    put: async (c) => void kept.set(c.id, c),
    add: async (conversations) =>
      conversations.map((c) => {
        const id = kept.has(c.id) ? newId() : c.id;
        kept.set(id, { ...c, id });
        return id;
      }),
    rename: async (id, title) => {
      const c = kept.get(id);
      if (c === undefined || titleOf(title) === '') return false;
      kept.set(id, rename(c, title));
      return true;
    },
    delete: async (id) => void kept.delete(id),
    deleteAll: async () => kept.clear(),
    close: () => {},
  };
}
