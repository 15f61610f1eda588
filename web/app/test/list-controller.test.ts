// The list of conversations: what is shown, found, deleted, taken back, exported and imported.
import { SluiceError } from '@sluice/engine';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HistoryError } from '../src/history/store';
import { toJson } from '../src/history/transfer';
import { FakeBrowser, settled, soon, storeWith, type FakeTab } from './controllers';
import { talk, texts } from './history-setup';

let browser: FakeBrowser;
let tab: FakeTab;

beforeEach(async () => {
  browser = new FakeBrowser();
  tab = browser.tab();
  tab.lender.has();
  await tab.ready();
});
afterEach(() => browser.close());

const titles = (of: FakeTab = tab): string[] =>
  of.library.summaries.value.map(({ title }) => title);
const shown = (): string[] => texts(tab.talk.conversation.value);

/** Keeps conversations, and gives their ids. */
const keep = (...said: string[][]): Promise<string[]> =>
  tab.library.bring(said.map((all, i) => ({ ...talk(...all), changed: 1000 - i })));

it('opens a conversation, and lets the one before it go', async () => {
  const [a = '', b = ''] = await keep(['a'], ['b']);
  await tab.list.openConversation(a);
  expect(shown()).toEqual(['a']);
  expect(tab.list.shownId.value).toBe(a);
  const first = tab.talk.open.value;
  await tab.list.openConversation(b);
  expect(shown()).toEqual(['b']);
  await tab.library.settle();
  expect(first.writer.value).toBe(false);
  await tab.list.openConversation('none');
  expect(shown()).toEqual(['b']);
});

it('shows what was wished last, however long each takes to be read', async () => {
  const [a = '', b = ''] = await keep(['a'], ['b']);
  const waits = new Map<string, () => void>();
  const { openById } = tab.library;
  tab.library.openById = async (id) => {
    await new Promise<void>((resolve) => waits.set(id, resolve));
    return openById.call(tab.library, id);
  };
  const opened = [tab.list.openConversation(a), tab.list.openConversation(b)];
  waits.get(b)?.();
  await opened[1];
  waits.get(a)?.();
  await opened[0];
  expect(shown()).toEqual(['b']);
  const third = tab.list.openConversation(a);
  tab.list.newConversation();
  waits.get(a)?.();
  await third;
  expect(shown()).toEqual([]);
});

it('finds, opens the first hit, and forgets what is deleted or searched no more', async () => {
  const [a = ''] = await keep(['a grammar'], ['a quote'], ['another grammar']);
  expect(tab.list.hits.value).toBeNull();
  void tab.list.find('quote');
  await tab.list.find('grammar');
  expect(tab.list.hits.value?.map(({ summary }) => summary.title)).toEqual([
    'a grammar',
    'another grammar',
  ]);
  expect(tab.told).toEqual(['2 conversations found']);
  expect(tab.list.searching.value).toBe(false);
  await tab.list.openFirst();
  expect(tab.list.shownId.value).toBe(a);
  await tab.list.rename(a, 'Renamed');
  expect(tab.list.hits.value?.[0]?.summary.title).toBe('Renamed');
  await tab.list.rename(a, ' ');
  expect(titles()).toContain('Renamed');
  await tab.library.forget(a);
  expect(tab.list.hits.value).toHaveLength(1);
  await tab.list.find(' ');
  expect(tab.list.hits.value).toBeNull();
  await tab.list.openFirst();
});

it('says what went wrong with a search', async () => {
  const list = (): Promise<never> => Promise.reject(new HistoryError('failed'));
  const broken = browser.tab((by) => storeWith(by, { list }));
  await broken.list.find('x');
  expect(broken.list.refusal.value).toMatch(/couldn’t be kept/);
  expect(broken.list.hits.value).toEqual([]);
  await broken.list.saveAll();
  expect(broken.files.size).toBe(0);
});

it('takes back what was deleted, for ten seconds', async () => {
  const [a = ''] = await keep(['a'], ['b']);
  await tab.list.openConversation(a);
  tab.list.leaveDeleted();
  await tab.list.remove(a, 'a');
  expect(titles()).toEqual(['b']);
  expect(shown()).toEqual([]);
  expect(tab.states.deleted).toEqual([a]);
  await tab.list.takeBack();
  expect(titles()).toEqual(['a', 'b']);
  expect(shown()).toEqual(['a']);
  expect(tab.list.deleted.value).toBeNull();
  await tab.list.takeBack();
  expect(titles()).toHaveLength(2);

  await tab.list.remove(a, 'a');
  tab.atUndo = true;
  tab.clock.pass(10_000);
  // Not under the reader's fingers.
  expect(tab.list.deleted.value).not.toBeNull();
  tab.atUndo = false;
  tab.clock.pass(10_000);
  expect(tab.list.deleted.value).toBeNull();
  await tab.list.takeBack();
  expect(titles()).toEqual(['b']);
});

it('asks again for what was computed while that is still being written', async () => {
  const [a = '', b = ''] = await keep(['a'], ['b']);
  let busy = 3;
  tab.states.delete = async (id) => {
    if (--busy > 0) throw new SluiceError('busy', 'it is being written');
    tab.states.deleted.push(id);
  };
  await tab.list.remove(a, 'a');
  await soon(() => expect(tab.states.deleted).toEqual([a]));
  tab.states.delete = () => Promise.reject(new Error('nothing is kept'));
  await tab.list.remove(b, 'b');
  expect(titles()).toEqual([]);
});

it('deletes all, and what is being written as well', async () => {
  tab.list.leaveDeleted();
  await keep(['a'], ['b']);
  const engine = tab.lender.has();
  tab.say('c');
  await (await engine.answer()).say({ content: 'half' });
  await tab.list.removeAll();
  await settled();
  expect(tab.runs.busy.value).toBe(false);
  expect(titles()).toEqual([]);
  expect(shown()).toEqual([]);
  await tab.library.settle();
  expect(await browser.tab().library.store.list()).toEqual([]);
});

it('gives files, and takes them', async () => {
  const [a = ''] = await keep(['Is this: fine?', 'Yes'], ['b']);
  await tab.list.saveAs(a, 'md');
  await tab.list.saveAs(a, 'json');
  await tab.list.saveAs('none', 'json');
  await tab.list.saveAll();
  expect([...tab.files.keys()]).toEqual([
    'Is this fine.md',
    'Is this fine.json',
    'Sluice conversations.json',
  ]);
  expect(await tab.files.get('Is this fine.md')?.text()).toContain('## Answer\n\nYes');

  const other = new FakeBrowser().tab();
  await other.list.importFile(tab.files.get('Sluice conversations.json') ?? new Blob());
  expect(titles(other)).toEqual(['Is this: fine?', 'b']);
  expect(other.told).toEqual(['2 conversations were imported']);
  await other.list.importFile(new Blob(['{']));
  expect(other.list.refusal.value).toBe('The file is not JSON. Nothing was imported.');
  await other.list.importFile(toJson([talk('c')]));
  expect(other.list.refusal.value).toBe('');
  expect(titles(other)).toHaveLength(3);
  await other.close();
});

it('says where an import finds no room, and takes nothing', async () => {
  const add = (): Promise<never> => Promise.reject(new HistoryError('full'));
  const full = browser.tab((by) => storeWith(by, { add }));
  await full.list.importFile(toJson([talk('a')]));
  expect(full.list.refusal.value).toMatch(/no room left/);
  expect(full.told).toEqual([]);
});

it('draws more of a long list when that is wished, and few again with the next search', async () => {
  expect(tab.list.most.value).toBe(100);
  tab.list.showMore();
  expect(tab.list.most.value).toBe(200);
  await tab.list.find('x');
  expect(tab.list.most.value).toBe(100);
});
