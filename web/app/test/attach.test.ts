// @vitest-environment happy-dom
// Files that are read while the reader goes on: each comes to the message that it was given to.
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { library } from '../src/history/state';
import { partsOf } from '../src/history/parts';
import { append, message, path } from '../src/history/tree';
import { models, type Model } from '../src/model/state';
import { keptFields } from '../src/talk/drafts';
import { attachFiles, talk } from '../src/talk/state';
import './history-setup';
import { showModel } from './phase';

const { field } = talk;

// Without locks each tab may write.
vi.hoisted(() => {
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
});

/** A file that is read when `come` is called. */
class SlowFile {
  come = (): void => {};
  readonly file: File;

  constructor(name: string, text: string | Uint8Array<ArrayBuffer> = `Text of ${name}`) {
    this.file = new File([text], name);
    const bytes = new Blob([text]).arrayBuffer();
    const gate = new Promise<void>((resolve) => {
      this.come = resolve;
    });
    this.file.arrayBuffer = () => gate.then(() => bytes);
  }
}

const NO_TEXT = new Uint8Array([0xff, 0xfe, 0]);

/** A conversation with a message of the reader's. */
function talkOf(text: string): ReturnType<typeof library.take> {
  const one = library.take();
  one.tree.value = append(one.tree.value, message(one.tree.value, 'user', text));
  return one;
}
const names = (): string[] => field.attachments.value.map(({ name }) => name);

let [a, b] = [library.take(), library.take()];
beforeEach(() => {
  [a, b] = [talkOf('a'), talkOf('b')];
  talk.show(a);
  // Messages can be sent: there is a model, though nothing answers.
  showModel(models, { info: { makes: ['text'], metadata: {} } } as unknown as Model);
});
afterEach(() => {
  talk.show(library.take());
  showModel(models, null);
  expect(field.unread.value.size).toBe(0);
});

// What was left is still being written.
afterAll(() => library.settle());

it('comes to its own conversation, while another one is shown', async () => {
  const slow = new SlowFile('notes.txt');
  const read = attachFiles([slow.file]);
  expect(names()).toEqual(['notes.txt']);
  talk.show(b);
  expect(names()).toEqual([]);
  slow.come();
  await read;
  expect(names()).toEqual([]);
  talk.show(a);
  expect(field.attachments.value).toEqual([{ name: 'notes.txt', text: 'Text of notes.txt' }]);
});

it('is waited for by its message, and goes with it', async () => {
  const slow = new SlowFile('notes.txt');
  field.draft.value = 'Look at this';
  const read = attachFiles([slow.file]);
  expect(field.written.value).toBe(false);
  talk.send();
  expect(field.draft.value).toBe('Look at this');
  expect(path(a.tree.value)).toHaveLength(1);
  slow.come();
  await read;
  expect(field.written.value).toBe(true);
  talk.send();
  expect(path(a.tree.value)[1]).toMatchObject({
    parts: partsOf('Look at this'),
    attachments: [{ name: 'notes.txt', text: 'Text of notes.txt' }],
  });
  expect(names()).toEqual([]);
});

it('is put aside with its message while an older one is edited', async () => {
  const [mine] = path(a.tree.value);
  const [draws, edits] = [new SlowFile('draft.txt'), new SlowFile('edit.txt')];
  const first = attachFiles([draws.file]);
  if (mine !== undefined) field.startEdit(mine);
  const second = attachFiles([edits.file]);
  draws.come();
  await first;
  expect(names()).toEqual(['edit.txt']);
  // What was given to the edit goes with that.
  field.cancelEdit();
  edits.come();
  await second;
  expect(field.attachments.value).toEqual([{ name: 'draft.txt', text: 'Text of draft.txt' }]);
});

it('stays away once it is removed', async () => {
  const slow = new SlowFile('notes.txt');
  field.draft.value = 'without it';
  const read = attachFiles([slow.file]);
  field.attachments.value.forEach((file) => field.remove(file));
  expect(field.written.value).toBe(true);
  slow.come();
  await read;
  expect(names()).toEqual([]);
});

it('that is no text is refused where it was given', async () => {
  const slow = new SlowFile('photo.png', NO_TEXT);
  const read = attachFiles([slow.file]);
  talk.show(b);
  slow.come();
  await read;
  expect(field.refusal.value).toBe('');
  talk.show(a);
  expect(names()).toEqual([]);
  expect(field.refusal.value).toContain('photo.png is not a text file');
  talk.show(b);
  expect(field.refusal.value).toBe('');
});

it('takes the place of one with its name, whichever is read first, unless it is refused', async () => {
  const [old, recent] = [new SlowFile('a.txt', 'old'), new SlowFile('a.txt', 'recent')];
  const reads = [attachFiles([old.file]), attachFiles([recent.file])];
  recent.come();
  await reads[1];
  old.come();
  await reads[0];
  expect(field.attachments.value).toEqual([{ name: 'a.txt', text: 'recent' }]);
  const wrong = new SlowFile('a.txt', NO_TEXT);
  wrong.come();
  await attachFiles([wrong.file]);
  expect(field.attachments.value).toEqual([{ name: 'a.txt', text: 'recent' }]);
  expect(talk.open.value).toBe(a);
});

it('is kept over a reload once it is read', async () => {
  field.keep(null);
  const kept = (): unknown => {
    window.dispatchEvent(new Event('pagehide'));
    return keptFields().get(a.tree.value.id);
  };
  const slow = new SlowFile('notes.txt');
  const read = attachFiles([slow.file]);
  expect(kept()).toBeUndefined();
  slow.come();
  await read;
  expect(kept()).toMatchObject({ attachments: [{ name: 'notes.txt' }] });
});
